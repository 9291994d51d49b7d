//! Follows Codex's rollouts: they contain what no hook of Codex reports, and everything where there
//! are no hooks.
//!
//! `watch` is a thread that reports changed paths. `Follower` owns the files: it reads new lines,
//! records them through `session_store::update`, and returns notices. It has no thread and no
//! clock; the daemon's loop drives it.
//!
//! Old files are neither read nor remembered. Every file written within a day is stored with its
//! read position. All others had been read to their end; if one of them grows again, the times in
//! its lines show which are new.

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
