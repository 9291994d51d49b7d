//! Recovers the work of killed processes: turns whose end a hook has seen, and notices that were
//! written but not put into the outbox. The daemon, the notifier and the command line use it; hooks
//! recover their session only.

use crate::paths::StatePaths;
use crate::state::outbox;
use crate::state::turn_completion::complete_all;

#[derive(Debug, Default)]
pub struct Recovered {
    pub turns: usize,
    pub notices: usize,
    /// Whether a notice waits in the outbox for which no process may have been woken.
    pub has_notice: bool,
    pub problems: Vec<String>,
}

/// Completes the turns that hooks have left, and puts the notices of killed writers into the
/// outbox.
pub fn recover(paths: &StatePaths) -> Recovered {
    let completed = complete_all(paths);
    let mut problems = completed.problems;
    let notices = outbox::adopt(paths).unwrap_or_else(|error| {
        problems.push(format!("outbox: {error}"));
        0
    });
    let has_notice = completed.has_notice || notices > 0;
    Recovered { turns: completed.turns, notices, has_notice, problems }
}
