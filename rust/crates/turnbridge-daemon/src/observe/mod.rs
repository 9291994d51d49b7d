//! Observes what no hook reports: Codex's rollouts, Claude's own files, processes, panes.

pub mod liveness;
pub(crate) mod observation;
pub mod panes;
pub mod rollouts;
