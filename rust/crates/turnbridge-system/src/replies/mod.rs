//! Replies on this machine: `runner` gives one to its agent, `runs` finds out whether a session is open and
//! what came of a run.

pub mod runner;
pub mod runs;
