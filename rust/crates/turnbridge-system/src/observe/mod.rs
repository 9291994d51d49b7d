//! Finds the current state of sessions: the state in their files, and the changes that no hook
//! reports, which their processes and the agents' files show.

pub mod codex_thread;
pub mod current_sessions;
pub mod observed_events;
pub mod session_follower;
