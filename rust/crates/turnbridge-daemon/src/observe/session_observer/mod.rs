//! Writes those changes of Claude's sessions that no hook reports, for example Esc, an approved
//! dialog or a killed process. `turnbridge_system::observe` finds them, and its `SessionFollower`
//! decides which sessions are checked, and when. `session_store::update` writes them, and informs
//! the sinks named in the session file.

use std::path::PathBuf;

use turnbridge_core::session::event::Event;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::session_store;
use turnbridge_system::observe::session_follower::{ObservedPace, Schedule, SessionFollower};

use crate::observe::rollouts::RolloutEffect;

pub struct SessionObserver {
    paths: StatePaths,
    follower: SessionFollower,
}

impl SessionObserver {
    /// Creates the observer. `config_dir` is Claude's folder for runs that were started without
    /// `CLAUDE_CONFIG_DIR`.
    pub fn new(paths: StatePaths, config_dir: Option<PathBuf>) -> SessionObserver {
        let follower = SessionFollower::new(paths.clone(), config_dir, Schedule::DAEMON);
        SessionObserver { paths, follower }
    }

    /// Returns how often `check` must be called: more often during a turn.
    pub fn pulse(&self, now: Timestamp) -> ObservedPace {
        self.follower.pulse(now)
    }

    /// Makes one pass. The daemon calls it up to every fifth of a second.
    pub fn check(&mut self, now: Timestamp) -> Vec<RolloutEffect> {
        let mut effects = Vec::new();
        for key in self.follower.due(now) {
            let events = self.follower.observed_events(&key, now);
            for event in &events {
                self.write(event, &mut effects);
            }
            if !events.is_empty() {
                self.follower.reload(&key);
            }
        }
        effects
    }

    fn write(&self, event: &Event, effects: &mut Vec<RolloutEffect>) {
        let id = &event.session.id;
        match session_store::update(Some(&self.paths), event, None) {
            Ok(updated) => {
                effects.extend(updated.problems.into_iter().map(RolloutEffect::Problem));
                effects.push(RolloutEffect::Changed(id.clone()));
            }
            Err(problem) => effects.push(RolloutEffect::Problem(format!("{id}: {problem}"))),
        }
    }
}

#[cfg(test)]
mod tests;
