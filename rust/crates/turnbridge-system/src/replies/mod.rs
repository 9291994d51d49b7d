//! Runs replies on this machine: `runner` passes one to its agent; `runs` finds out whether a
//! session is open, and how a run ended.

pub mod runner;
pub mod runs;
