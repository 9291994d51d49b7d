//! Every session as it is now: its file, and what no hook tells of it, found out by looking at its process
//! and at the agent's own files.

pub mod codex_thread;
pub mod current_sessions;
pub mod session_follower;
pub mod signals;
