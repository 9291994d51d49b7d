//! Takes up what processes have left that were killed: turns that a hook has seen end, and notices
//! that are whole but not in their place. For the daemon, the notifier and the command line; hooks
//! do so for their own session only.

use crate::paths::StatePaths;
use crate::state::outbox;
use crate::state::turn_completion::complete_all;

#[derive(Debug, Default)]
pub struct Recovered {
    pub turns: usize,
    pub notices: usize,
    /// Something waits in the outbox that nobody may have been woken for.
    pub has_notice: bool,
    pub problems: Vec<String>,
}

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
