//! The current state of every session: its file, and the changes that no hook reports, which its
//! process and the agent's files show.

pub mod codex_thread;
pub mod current_sessions;
pub mod observed_events;
pub mod session_follower;
