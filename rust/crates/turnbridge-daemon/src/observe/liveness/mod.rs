//! Records what no hook reports of Claude's sessions (`turnbridge_system::observe`): Esc, an
//! approved dialog, a killed process. It writes through `session_store::update`, which informs the
//! sinks named in the session file. The session follower decides which sessions are polled, and
//! when.

use std::path::PathBuf;

use turnbridge_core::session::event::Event;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::session_store;
use turnbridge_system::observe::session_follower::{Pulse, Schedule, SessionFollower};

use crate::observe::rollouts::Happening;

pub struct Observer {
    paths: StatePaths,
    follower: SessionFollower,
}

impl Observer {
    /// Creates the observer. `config_dir` is Claude's folder for runs that were started without
    /// `CLAUDE_CONFIG_DIR`.
    pub fn new(paths: StatePaths, config_dir: Option<PathBuf>) -> Observer {
        let follower = SessionFollower::new(paths.clone(), config_dir, Schedule::DAEMON);
        Observer { paths, follower }
    }

    pub fn pulse(&self, now: Timestamp) -> Pulse {
        self.follower.pulse(now)
    }

    /// Makes one pass. The daemon calls it up to every fifth of a second.
    pub fn check(&mut self, now: Timestamp) -> Vec<Happening> {
        let mut happenings = Vec::new();
        for key in self.follower.due(now) {
            let events = self.follower.signals(&key, now);
            for event in &events {
                self.write(event, &mut happenings);
            }
            if !events.is_empty() {
                self.follower.reload(&key);
            }
        }
        happenings
    }

    fn write(&self, event: &Event, happenings: &mut Vec<Happening>) {
        let id = &event.session.id;
        match session_store::update(Some(&self.paths), event, None) {
            Ok(updated) => {
                happenings.extend(updated.problems.into_iter().map(Happening::Problem));
                happenings.push(Happening::Changed(id.clone()));
            }
            Err(problem) => happenings.push(Happening::Problem(format!("{id}: {problem}"))),
        }
    }
}

#[cfg(test)]
mod tests;
