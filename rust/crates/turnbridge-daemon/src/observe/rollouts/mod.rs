//! Follows Codex's rollouts: they contain what no hook of Codex reports, or everything without
//! hooks.
//!
//! `watch` is a thread that reports changed paths. `Follower` owns the files: it reads new lines,
//! records them through `session_store::update`, and returns notices. The daemon's loop calls it.
//!
//! Only the read positions of files written within a day are stored. All other files had been read
//! to their end; if one grows again, the times in its lines show which are new.

mod folders;
mod follower;
mod notice_policy;
mod recorder;
mod rollout_file;
mod turn_search;
mod watch;

pub use follower::{Follower, FollowerSettings, RolloutEffect};
pub use watch::{RolloutChange, RolloutWatch, watch};

#[cfg(test)]
mod tests;
