//! What no hook tells, found out by looking: Codex's rollouts, Claude's own files, processes, panes.

pub mod liveness;
pub(crate) mod observation;
pub mod panes;
pub mod rollouts;
