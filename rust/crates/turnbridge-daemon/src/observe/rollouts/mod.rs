//! Follows Codex's rollouts: what no hook tells of Codex, and all of it where there are no hooks.
//!
//! `watch` is a thread that says which paths have changed. `Follower` knows the files: it reads what
//! is new, writes it down through `session_store::update`, and tells what else follows from it. It
//! has no thread and no clock of its own; the loop drives it.
//!
//! Old files are not read and not remembered. Every file that was written to within a day is, with
//! the place up to which it has been read; all others had been seen to their end by then, and if one
//! of them grows again, the times in its lines tell which of them are new.

mod folders;
mod followed;
mod follower;
mod recorder;
mod telling;
mod turn_search;
mod watch;

pub use follower::{Follower, Happening, Settings};
pub use watch::{Sight, Watch, watch};

#[cfg(test)]
mod tests;
