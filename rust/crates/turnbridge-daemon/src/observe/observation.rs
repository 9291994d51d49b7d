//! Runs the observers and schedules their polls: `rollouts` for Codex, `liveness` for Claude,
//! `panes` (KT-45, KT-55, X31).

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use turnbridge_config::Config;
use turnbridge_config::codex_homes::codex_homes;
use turnbridge_core::ids::ChannelName;
use turnbridge_core::ids::SessionId;
use turnbridge_core::session::Host;
use turnbridge_store::clock;
use turnbridge_store::foreign::codex_lock::{self, Writer};
use turnbridge_store::paths::{StatePaths, claude_config_dir};
use turnbridge_store::state::outbox::{self, Queued};
use turnbridge_system::observe::session_follower::Pulse;

use crate::daemon::event::Event;
use crate::daemon::log::DaemonLog;
use crate::observe::liveness::Observer;
use crate::observe::panes::PaneBinder;
use crate::observe::rollouts::{Follower, Happening, Settings, Sight, Watch, watch};

/// The poll interval during a turn, and so the delay of Esc.
const BUSY: Duration = Duration::from_millis(200);
/// The poll interval at rest. A dialog then shows within a second, because its note must be a
/// little old.
const AT_REST: Duration = Duration::from_millis(400);
const NOBODY: Duration = Duration::from_secs(1);
/// The poll interval of Codex's writer locks.
const LOCKS: Duration = Duration::from_secs(2);

pub struct Observation {
    paths: StatePaths,
    log: DaemonLog,
    events: Sender<Event>,
    observer: Observer,
    codex: Option<Codex>,
    panes: PaneBinder,
    /// The channels on which the user wants notices of turns.
    wanted: Vec<ChannelName>,
    look_at: Instant,
    locks_at: Instant,
}

struct Codex {
    homes: Vec<PathBuf>,
    follower: Follower,
    _watch: Option<Watch>,
}

impl Observation {
    pub fn new(paths: StatePaths, events: Sender<Event>) -> Observation {
        let log = DaemonLog::new(&paths);
        let observer = Observer::new(paths.clone(), claude_config_dir());
        let panes = PaneBinder::new(paths.clone());
        let now = Instant::now();
        let (look_at, locks_at, codex, wanted) = (now, now, None, Vec::new());
        Observation { paths, log, events, observer, codex, panes, wanted, look_at, locks_at }
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
        let settings = Settings {
            homes: homes.clone(),
            paths: self.paths.clone(),
            is_held,
            waiting: config.notify.waiting,
            now: clock::now,
        };
        let (follower, happenings) = Follower::open(settings);
        let events = self.events.clone();
        let send = move |sight| events.send(Event::Rollouts(sight)).is_ok();
        let watch = match watch(homes.clone(), send) {
            Ok(watch) => Some(watch),
            Err(error) => {
                let fields = [("error", error.to_string().into())];
                self.log.error("could not watch Codex rollouts", &fields);
                None
            }
        };
        self.codex = Some(Codex { homes, follower, _watch: watch });
        self.panes = PaneBinder::new(self.paths.clone());
        self.deal_with(happenings)
    }

    pub fn see(&mut self, sight: Sight) -> bool {
        // This precedes the read of the lines, so that they find the thread's environment.
        let homes = self.codex.as_ref().map_or_else(Vec::new, |codex| codex.homes.clone());
        let told = match &sight {
            Sight::Changed(path) if !path.is_dir() => self.panes.see(path),
            // A new folder may already contain a rollout.
            Sight::Changed(_) | Sight::Rescan | Sight::Blind(_) => self.panes.look_again(&homes),
        };
        self.note_panes(told);
        let Some(codex) = &mut self.codex else { return false };
        let happenings = match sight {
            Sight::Changed(path) => codex.follower.changed(&path),
            Sight::Rescan => codex.follower.rescan(),
            Sight::Blind(reason) => {
                let fields = [("reason", reason.into())];
                self.log.warn("Codex rollouts are polled, not watched", &fields);
                return false;
            }
        };
        self.deal_with(happenings)
    }

    /// Returns the time of the next poll.
    pub fn next(&self) -> Instant {
        self.look_at
    }

    pub fn look(&mut self) -> bool {
        let now = Instant::now();
        if now < self.look_at {
            return false;
        }
        let homes = self.codex.as_ref().map_or_else(Vec::new, |codex| codex.homes.clone());
        let told = self.panes.look(&homes);
        self.note_panes(told);
        let time = clock::now();
        let mut happenings = self.observer.check(time);
        self.look_at = now
            + match self.observer.pulse(time) {
                Pulse::Busy => BUSY,
                Pulse::AtRest => AT_REST,
                Pulse::None => NOBODY,
            };
        if now >= self.locks_at
            && let Some(codex) = &mut self.codex
        {
            self.locks_at = now + LOCKS;
            happenings.extend(codex.follower.check_liveness());
        }
        self.deal_with(happenings)
    }

    fn note_panes(&mut self, told: io::Result<Option<BTreeMap<SessionId, Host>>>) {
        match (told, &mut self.codex) {
            (Ok(Some(hosts)), Some(codex)) => codex.follower.set_hosts(hosts),
            (Ok(_), _) => {}
            (Err(error), _) => {
                let fields = [("error", error.to_string().into())];
                self.log.warn("could not write the registry of panes", &fields);
            }
        }
    }

    fn deal_with(&mut self, happenings: Vec<Happening>) -> bool {
        let mut has_queued = false;
        for happening in happenings {
            match happening {
                Happening::Changed(_) => {}
                Happening::Notice(notice) if !self.wanted.is_empty() => {
                    match outbox::queue(&self.paths, &notice.sent_to(self.wanted.clone())) {
                        Ok(queued) => has_queued |= queued == Queued::New,
                        Err(error) => {
                            let fields = [("error", error.to_string().into())];
                            self.log.error("could not queue a notice", &fields);
                        }
                    }
                }
                Happening::Notice(_) => {}
                Happening::Problem(problem) => {
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
        Writer::Held => Some(true),
        Writer::Free => Some(false),
        Writer::Unknown => None,
    }
}
