//! Runs the observers and schedules their polls: `rollouts` for Codex, `session_observer` for
//! Claude, `panes` (KT-45, KT-55, X31). It queues the notices that they return.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use turnbridge_config::Config;
use turnbridge_config::codex_homes::codex_homes;
use turnbridge_core::ids::ChannelName;
use turnbridge_core::ids::SessionId;
use turnbridge_core::session::RunEnvironment;
use turnbridge_store::clock;
use turnbridge_store::foreign::codex_lock::{self, ThreadWriter};
use turnbridge_store::paths::{StatePaths, claude_config_dir};
use turnbridge_store::state::outbox::{self, Queued};
use turnbridge_system::observe::session_follower::ObservedPace;

use crate::daemon::event::DaemonEvent;
use crate::daemon::log::DaemonLog;
use crate::observe::panes::PaneBinder;
use crate::observe::rollouts::{
    Follower, FollowerSettings, RolloutChange, RolloutEffect, RolloutWatch, watch,
};
use crate::observe::session_observer::SessionObserver;

/// The poll interval during a turn, and so the delay of Esc.
const BUSY: Duration = Duration::from_millis(200);
/// The poll interval at rest. A dialog then shows within a second, because its note must be a
/// little old.
const AT_REST: Duration = Duration::from_millis(400);
const NO_AGENT: Duration = Duration::from_secs(1);
/// The poll interval of Codex's writer locks.
const LOCKS: Duration = Duration::from_secs(2);

pub struct Observers {
    paths: StatePaths,
    log: DaemonLog,
    events: Sender<DaemonEvent>,
    observer: SessionObserver,
    codex: Option<FollowedCodex>,
    panes: PaneBinder,
    /// The channels on which the user wants notices of turns.
    wanted: Vec<ChannelName>,
    look_at: Instant,
    locks_at: Instant,
}

struct FollowedCodex {
    homes: Vec<PathBuf>,
    follower: Follower,
    _watch: Option<RolloutWatch>,
}

impl Observers {
    pub fn new(paths: StatePaths, events: Sender<DaemonEvent>) -> Observers {
        let log = DaemonLog::new(&paths);
        let observer = SessionObserver::new(paths.clone(), claude_config_dir());
        let panes = PaneBinder::new(paths.clone());
        let now = Instant::now();
        let (look_at, locks_at, codex, wanted) = (now, now, None, Vec::new());
        Observers { paths, log, events, observer, codex, panes, wanted, look_at, locks_at }
    }

    /// Applies a config. `wanted` names the channels on which the user wants notices of turns.
    /// Returns whether it queued a notice.
    pub fn set_config(&mut self, config: &Config, wanted: Vec<ChannelName>) -> bool {
        self.wanted = wanted;
        let homes = codex_homes(&config.codex.homes);
        if let Some(codex) = self.codex.as_mut().filter(|codex| codex.homes == homes) {
            codex.follower.set_waiting(config.notify.waiting);
            return false;
        }
        self.stop();
        let settings = FollowerSettings {
            homes: homes.clone(),
            paths: self.paths.clone(),
            is_held,
            waiting: config.notify.waiting,
            now: clock::now,
        };
        let (follower, effects) = Follower::open(settings);
        let events = self.events.clone();
        let send = move |change| events.send(DaemonEvent::Rollouts(change)).is_ok();
        let watch = match watch(homes.clone(), send) {
            Ok(watch) => Some(watch),
            Err(error) => {
                let fields = [("error", error.to_string().into())];
                self.log.error("could not watch Codex rollouts", &fields);
                None
            }
        };
        self.codex = Some(FollowedCodex { homes, follower, _watch: watch });
        self.panes = PaneBinder::new(self.paths.clone());
        self.deal_with(effects)
    }

    /// Handles a change of Codex's rollouts. Returns whether it queued a notice.
    pub fn see(&mut self, change: RolloutChange) -> bool {
        // This precedes the read of the lines, so that they find the thread's environment.
        let homes = self.codex.as_ref().map_or_else(Vec::new, |codex| codex.homes.clone());
        let told = match &change {
            RolloutChange::Changed(path) if !path.is_dir() => self.panes.see(path),
            // A new folder may already contain a rollout.
            RolloutChange::Changed(_) | RolloutChange::Rescan | RolloutChange::Blind(_) => {
                self.panes.look_again(&homes)
            }
        };
        self.note_panes(told);
        let Some(codex) = &mut self.codex else { return false };
        let effects = match change {
            RolloutChange::Changed(path) => codex.follower.changed(&path),
            RolloutChange::Rescan => codex.follower.rescan(),
            RolloutChange::Blind(reason) => {
                let fields = [("reason", reason.into())];
                self.log.warn("Codex rollouts are polled, not watched", &fields);
                return false;
            }
        };
        self.deal_with(effects)
    }

    /// Returns the time of the next poll.
    pub fn next(&self) -> Instant {
        self.look_at
    }

    /// Makes the polls that are due. Returns whether it queued a notice.
    pub fn check(&mut self) -> bool {
        let now = Instant::now();
        if now < self.look_at {
            return false;
        }
        let homes = self.codex.as_ref().map_or_else(Vec::new, |codex| codex.homes.clone());
        let told = self.panes.check(&homes);
        self.note_panes(told);
        let time = clock::now();
        let mut effects = self.observer.check(time);
        self.look_at = now
            + match self.observer.pulse(time) {
                ObservedPace::Busy => BUSY,
                ObservedPace::AtRest => AT_REST,
                ObservedPace::None => NO_AGENT,
            };
        if now >= self.locks_at
            && let Some(codex) = &mut self.codex
        {
            self.locks_at = now + LOCKS;
            effects.extend(codex.follower.check_liveness());
        }
        self.deal_with(effects)
    }

    fn note_panes(&mut self, told: io::Result<Option<BTreeMap<SessionId, RunEnvironment>>>) {
        match (told, &mut self.codex) {
            (Ok(Some(hosts)), Some(codex)) => codex.follower.set_hosts(hosts),
            (Ok(_), _) => {}
            (Err(error), _) => {
                let fields = [("error", error.to_string().into())];
                self.log.warn("could not write the registry of panes", &fields);
            }
        }
    }

    fn deal_with(&mut self, effects: Vec<RolloutEffect>) -> bool {
        let mut has_queued = false;
        for effect in effects {
            match effect {
                RolloutEffect::Changed(_) => {}
                RolloutEffect::Notice(notice) if !self.wanted.is_empty() => {
                    match outbox::queue(&self.paths, &notice.sent_to(self.wanted.clone())) {
                        Ok(queued) => has_queued |= queued == Queued::New,
                        Err(error) => {
                            let fields = [("error", error.to_string().into())];
                            self.log.error("could not queue a notice", &fields);
                        }
                    }
                }
                RolloutEffect::Notice(_) => {}
                RolloutEffect::Problem(problem) => {
                    let fields = [("problem", problem.into())];
                    self.log.warn("could not store an observation", &fields);
                }
            }
        }
        let saved = self.codex.as_mut().map_or(Ok(()), |codex| codex.follower.save());
        if let Err(error) = saved {
            let fields = [("error", error.to_string().into())];
            self.log.warn("could not store how far Codex rollouts were read", &fields);
        }
        has_queued
    }

    pub fn stop(&mut self) {
        if let Some(codex) = self.codex.take() {
            let _ = codex.follower.close();
        }
    }
}

fn is_held(home: &Path, thread: &str) -> Option<bool> {
    match codex_lock::writer(home, thread) {
        ThreadWriter::Held => Some(true),
        ThreadWriter::Free => Some(false),
        ThreadWriter::Unknown => None,
    }
}
