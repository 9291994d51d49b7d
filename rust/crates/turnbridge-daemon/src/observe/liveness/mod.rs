//! Writes down what no hook tells of Claude's sessions (`turnbridge_system::observe::signals`):
//! Esc, an approved dialog, a process that was killed. Through `session_store::update`, so that the
//! sinks that are kept in the session file hear of it.
//!
//! Cheap enough for five times a second. Session files are replaced by renaming, so that their folder's
//! time tells whether any has changed; and what Claude writes is read only after it was written.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use turnbridge_core::ids::{SessionId, Tool};
use turnbridge_core::session::{Run, Session, State};
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::paths::{StatePaths, session_of_file};
use turnbridge_store::process::{Liveness, liveness};
use turnbridge_store::state::session_store;
use turnbridge_system::observe::signals::signals;

use crate::observe::rollouts::Happening;

/// How often everything is looked at, whatever the files' times say.
const THOROUGH: Duration = Duration::from_secs(5);

/// How long after a change it is looked at again: a note proves nothing in its first moments.
const SETTLING: Duration = Duration::from_secs(1);

/// A folder that changed within the last moments may change again without another time.
const TICK: Duration = Duration::from_millis(100);

pub struct Observer {
    paths: StatePaths,
    /// Claude's folder for runs that were started without `CLAUDE_CONFIG_DIR`.
    config_dir: Option<PathBuf>,
    /// The sessions of Claude that have a process.
    sessions: BTreeMap<SessionId, Known>,
    /// The time of every file that was read, also of sessions without a process.
    read: BTreeMap<SessionId, Stamp>,
    folder: Option<SystemTime>,
    thorough_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pulse {
    /// An agent is at work or waits for somebody, or has just written something.
    Busy,
    /// Agents are open, and a dialog may come up that no hook tells of (ASK-11).
    AtRest,
    None,
}

type Stamp = (SystemTime, u64);

struct Known {
    session: Session,
    /// Of what Claude writes about it.
    traces: Vec<Option<Stamp>>,
    /// To be looked at until then.
    restless_until: Timestamp,
}

impl Observer {
    pub fn new(paths: StatePaths, config_dir: Option<PathBuf>) -> Observer {
        Observer {
            paths,
            config_dir,
            sessions: BTreeMap::new(),
            read: BTreeMap::new(),
            folder: None,
            thorough_at: None,
        }
    }

    /// How lively the sessions are: the liveliest counts.
    pub fn pulse(&self, now: Timestamp) -> Pulse {
        let is_lively = |known: &Known| known.is_busy() || now <= known.restless_until;
        match () {
            () if self.sessions.values().any(is_lively) => Pulse::Busy,
            () if self.sessions.is_empty() => Pulse::None,
            () => Pulse::AtRest,
        }
    }

    /// One pass. For every fifth of a second.
    pub fn check(&mut self, now: Timestamp) -> Vec<Happening> {
        // Also when the clock was set back.
        let since = self.thorough_at.filter(|at| *at <= now).map(|at| now.since(at));
        let is_thorough = since.is_none_or(|since| since >= THOROUGH);
        if is_thorough {
            self.thorough_at = Some(now);
        }
        self.refresh(is_thorough);
        let mut happenings = Vec::new();
        let ids: Vec<_> = self.sessions.keys().cloned().collect();
        for id in ids {
            self.observe(&id, is_thorough, now, &mut happenings);
        }
        happenings
    }

    fn observe(
        &mut self,
        id: &SessionId,
        is_thorough: bool,
        now: Timestamp,
        happenings: &mut Vec<Happening>,
    ) {
        let config_dir = self.config_dir.as_deref();
        let Some(known) = self.sessions.get_mut(id) else { return };
        if !known.is_worth_a_look(config_dir, is_thorough, now) {
            return;
        }
        let events = signals(&known.session, config_dir, now);
        for event in &events {
            match session_store::update(Some(&self.paths), event, None) {
                Ok(updated) => {
                    happenings.extend(updated.problems.into_iter().map(Happening::Problem));
                    happenings.push(Happening::Changed(id.clone()));
                }
                Err(problem) => happenings.push(Happening::Problem(format!("{id}: {problem}"))),
            }
        }
        if !events.is_empty() {
            self.read(id.clone());
        }
    }

    /// Reads the session files that have changed.
    fn refresh(&mut self, is_thorough: bool) {
        let folder = self.paths.sessions_dir();
        let modified = fs::metadata(&folder).and_then(|metadata| metadata.modified()).ok();
        if !is_thorough && modified.is_some() && modified == self.folder {
            return;
        }
        let is_settled = |at: &SystemTime| at.elapsed().is_ok_and(|passed| passed > TICK);
        self.folder = modified.filter(is_settled);
        let mut stamps = BTreeMap::new();
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let id = name.to_str().and_then(claude_session);
            if let (Some(id), Ok(metadata)) = (id, entry.metadata()) {
                stamps.insert(id, stamp(&metadata));
            }
        }
        self.sessions.retain(|id, _| stamps.contains_key(id));
        let before = std::mem::replace(&mut self.read, stamps);
        let has_changed = |(id, stamp): &(&SessionId, &Stamp)| before.get(*id) != Some(*stamp);
        let changed: Vec<_> =
            self.read.iter().filter(has_changed).map(|(id, _)| id.clone()).collect();
        changed.into_iter().for_each(|id| self.read(id));
    }

    fn read(&mut self, id: SessionId) {
        let session = session_store::read(&self.paths, Tool::Claude, &id);
        match session.filter(|session| session.live_runs().next().is_some()) {
            Some(session) => {
                let known = self.sessions.entry(id).or_insert_with(|| Known {
                    session: session.clone(),
                    traces: Vec::new(),
                    restless_until: Timestamp::default(),
                });
                known.session = session;
                // What was seen before may mean something else now.
                known.traces.clear();
            }
            None => {
                self.sessions.remove(&id);
            }
        }
    }
}

impl Known {
    fn is_busy(&self) -> bool {
        matches!(self.session.state(), State::Working | State::WaitingUser)
    }

    fn is_worth_a_look(
        &mut self,
        config_dir: Option<&Path>,
        is_thorough: bool,
        now: Timestamp,
    ) -> bool {
        let traces = traces(&self.session, config_dir);
        if traces != self.traces {
            self.traces = traces;
            self.restless_until = now.plus(SETTLING);
        }
        let is_gone = || {
            let mut runs = self.session.live_runs();
            runs.any(|run| liveness(run.process) == Liveness::Gone)
        };
        is_thorough || now <= self.restless_until || (self.is_busy() && is_gone())
    }
}

/// The times of what `signals` reads.
fn traces(session: &Session, config_dir: Option<&Path>) -> Vec<Option<Stamp>> {
    let stamp_of = |path: PathBuf| fs::metadata(path).ok().map(|metadata| stamp(&metadata));
    let note = |run: &Run| {
        let folder = run.host.config_dir.as_deref().map(Path::new).or(config_dir)?;
        stamp_of(folder.join("sessions").join(format!("{}.json", run.process.pid)))
    };
    let transcript = session.transcript_path.as_ref().map(PathBuf::from).and_then(stamp_of);
    session.live_runs().map(note).chain([transcript]).collect()
}

fn stamp(metadata: &fs::Metadata) -> Stamp {
    (metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), metadata.len())
}

/// Of a session of Claude; those of Codex are followed by their rollouts.
fn claude_session(name: &str) -> Option<SessionId> {
    session_of_file(name).filter(|(tool, _)| *tool == Tool::Claude).map(|(_, id)| id)
}

#[cfg(test)]
mod tests;
