//! Observes what no hook reports: Codex's rollouts, Claude's own files, processes, panes.

pub(crate) mod observers;
pub mod panes;
pub mod rollouts;
pub mod session_observer;
