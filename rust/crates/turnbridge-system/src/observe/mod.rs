//! What no hook tells of a session, found out by looking at its process and at the agent's own files.

pub mod current_sessions;
pub mod signals;
