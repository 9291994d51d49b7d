//! Keeps every session as it is now: reads the session files that have changed, and decides which
//! sessions are worth a look for what no hook tells (`signals`).
//!
//! The daemon writes what it sees (`due`, `signals`, `reload`); `turnbridge watch` only reads (`changes`, `read`).
//!
//! A pass is cheap enough for five times a second with 500 sessions. Session files are replaced by renaming, so
//! the folder's time tells whether any has changed; and what Claude writes is read only after it was written.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use turnbridge_core::agents::agent_differences::LifeSign;
use turnbridge_core::ids::{Agent, SessionKey};
use turnbridge_core::session::event::Event;
use turnbridge_core::session::{Run, Session, State};
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::paths::{StatePaths, session_of_file};
use turnbridge_store::process::{Liveness, liveness};
use turnbridge_store::state::session_store;

use super::signals::{note_path, signals, with_signals};

/// How often everything is looked at, whatever the files' times say: not every file system keeps a folder's
/// time, and a process that is killed while it rests writes nothing.
const THOROUGH: Duration = Duration::from_secs(5);

/// A folder that changed within the last moments may change again without another time.
const TICK: Duration = Duration::from_millis(100);

/// What is followed, and how closely.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    follows: fn(Agent) -> bool,
    /// How long every pass looks at a session after Claude has written something about it: what Claude writes
    /// proves nothing in its first moments. Must be longer than the time between two passes.
    settling: Duration,
    idle_check: IdleCheck,
}

impl Schedule {
    /// The daemon makes up to five passes a second, and so has looked often enough after a second. It alone
    /// looks at what Claude writes while it rests: once the daemon has written it, everybody sees it. What
    /// rollouts tell it follows elsewhere.
    pub const DAEMON: Schedule = Schedule {
        follows: |agent| !agent.tells_turns_by_rollouts(),
        settling: Duration::from_secs(1),
        idle_check: IdleCheck::Files,
    };

    /// `turnbridge watch` makes a pass each second.
    pub const WATCH: Schedule = Schedule {
        follows: |_| true,
        settling: Duration::from_millis(2_500),
        idle_check: IdleCheck::Processes,
    };
}

/// What a pass checks of a Claude session that neither works nor waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IdleCheck {
    /// The times of Claude's files in each pass, and everything in a thorough one.
    Files,
    /// Whether its processes are alive, in a thorough pass.
    Processes,
}

/// How a session has changed.
#[derive(Debug)]
pub enum Change {
    Session(Box<Session>),
    /// Its file is gone.
    Removed(SessionKey),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pulse {
    /// An agent is at work or waits for somebody, or has just written something.
    Busy,
    /// Agents are open, and a dialog may come up that no hook tells of (ASK-11).
    AtRest,
    None,
}

#[derive(Debug)]
pub struct SessionFollower {
    paths: StatePaths,
    /// Claude's folder for runs that were started without `CLAUDE_CONFIG_DIR`.
    config_dir: Option<PathBuf>,
    schedule: Schedule,
    /// Every session file that there is.
    files: BTreeMap<SessionKey, SessionFile>,
    /// The sessions that have a process, as far as their files say.
    live: BTreeMap<SessionKey, Known>,
    /// The time of the folder when it was listed last.
    folder: Option<SystemTime>,
    thorough_at: Option<Timestamp>,
}

type Stamp = (SystemTime, u64);

#[derive(Debug)]
struct SessionFile {
    stamp: Stamp,
    /// `false` if it is broken, or another version's. Such a file is tried again in a thorough pass.
    is_readable: bool,
}

#[derive(Debug)]
struct Known {
    /// The session as its file says.
    written: Session,
    /// The session as the last look found it; `None` for the daemon, which writes what it finds.
    current: Option<Session>,
    /// No pass has looked at the session since its file was read.
    is_unchecked: bool,
    /// The stamps of what Claude writes about it.
    traces: Vec<Option<Stamp>>,
    /// Every pass looks at the session until then.
    restless_until: Timestamp,
}

impl SessionFollower {
    pub fn new(
        paths: StatePaths,
        config_dir: Option<PathBuf>,
        schedule: Schedule,
    ) -> SessionFollower {
        SessionFollower {
            paths,
            config_dir,
            schedule,
            files: BTreeMap::new(),
            live: BTreeMap::new(),
            folder: None,
            thorough_at: None,
        }
    }

    /// Makes a pass. Returns how the sessions have changed since the last one.
    pub fn changes(&mut self, now: Timestamp) -> Vec<Change> {
        let (mut changes, due) = self.pass(now);
        for key in due {
            changes.extend(self.look(&key, now));
        }
        changes
    }

    /// Reads one session's file, if it has changed since it was read.
    pub fn read(&mut self, key: &SessionKey, now: Timestamp) -> Option<Change> {
        let Some(stamp) = stamp_of(&self.paths.session_file(key)) else {
            return self.forget(key.clone());
        };
        if self.files.get(key).is_some_and(|file| file.is_readable && file.stamp == stamp) {
            return None;
        }
        self.load(key, stamp).or_else(|| {
            self.live.get_mut(key)?.is_unchecked = false;
            self.look(key, now)
        })
    }

    /// Makes a pass. Returns the sessions for which `signals` is to be called.
    pub fn due(&mut self, now: Timestamp) -> Vec<SessionKey> {
        self.pass(now).1
    }

    /// What has happened to a session since its file was written. Whoever writes it calls `reload` then.
    pub fn signals(&self, key: &SessionKey, now: Timestamp) -> Vec<Event> {
        let written = self.live.get(key).map(|known| &known.written);
        written.map_or_else(Vec::new, |session| signals(session, self.config_dir.as_deref(), now))
    }

    /// Reads a session's file that was just written.
    pub fn reload(&mut self, key: &SessionKey) {
        match stamp_of(&self.paths.session_file(key)) {
            Some(stamp) => self.load(key, stamp),
            None => self.forget(key.clone()),
        };
    }

    /// How lively the sessions are: the liveliest counts.
    pub fn pulse(&self, now: Timestamp) -> Pulse {
        let is_lively = |known: &Known| known.is_busy() || now <= known.restless_until;
        match () {
            () if self.live.values().any(is_lively) => Pulse::Busy,
            () if self.live.is_empty() => Pulse::None,
            () => Pulse::AtRest,
        }
    }

    /// Returns the changes of sessions without a process, and the sessions with one that are worth a look.
    fn pass(&mut self, now: Timestamp) -> (Vec<Change>, Vec<SessionKey>) {
        // Also when the clock was set back.
        let since = self.thorough_at.filter(|at| *at <= now).map(|at| now.since(at));
        let is_thorough = since.is_none_or(|since| since >= THOROUGH);
        if is_thorough {
            self.thorough_at = Some(now);
        }
        let changes = self.refresh(is_thorough);
        let (schedule, config_dir) = (self.schedule, self.config_dir.as_deref());
        let mut due = Vec::new();
        for (key, known) in &mut self.live {
            if known.is_worth_a_look(schedule, config_dir, is_thorough, now) {
                due.push(key.clone());
            }
        }
        (changes, due)
    }

    /// Reads the session files that have changed.
    fn refresh(&mut self, is_thorough: bool) -> Vec<Change> {
        let Some(stamps) = self.list(is_thorough) else { return Vec::new() };
        let gone: Vec<_> =
            self.files.keys().filter(|key| !stamps.contains_key(*key)).cloned().collect();
        let mut changes: Vec<_> = gone.into_iter().filter_map(|key| self.forget(key)).collect();
        for (key, stamp) in stamps {
            let is_known = self
                .files
                .get(&key)
                .is_some_and(|file| file.stamp == stamp && (file.is_readable || !is_thorough));
            if !is_known {
                changes.extend(self.load(&key, stamp));
            }
        }
        changes
    }

    /// Lists the folder. Returns `None` if its time says that it is as it was.
    fn list(&mut self, is_thorough: bool) -> Option<BTreeMap<SessionKey, Stamp>> {
        let folder = self.paths.sessions_dir();
        let modified = fs::metadata(&folder).and_then(|metadata| metadata.modified()).ok();
        if !is_thorough && modified.is_some() && modified == self.folder {
            return None;
        }
        let is_settled = |at: &SystemTime| at.elapsed().is_ok_and(|passed| passed > TICK);
        self.folder = modified.filter(is_settled);
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let stamps = entries.filter_map(|entry| {
            let key = session_of_file(entry.file_name().to_str()?)?;
            let is_followed = (self.schedule.follows)(key.agent);
            let metadata = entry.metadata().ok().filter(|_| is_followed)?;
            Some((key, stamp(&metadata)))
        });
        Some(stamps.collect())
    }

    /// Reads a session file. Returns the session if it has no process; a session with a process is kept, and the
    /// next look tells how it has changed.
    fn load(&mut self, key: &SessionKey, stamp: Stamp) -> Option<Change> {
        let session = session_store::read(&self.paths, key);
        let is_readable = session.is_some();
        self.files.insert(key.clone(), SessionFile { stamp, is_readable });
        let before = self.live.remove(key);
        let Some(session) = session else {
            // `watch` keeps what it found last. The daemon forgets the session: writing it would replace the
            // unreadable file.
            let found = before.filter(|known| known.current.is_some());
            self.live.extend(found.map(|known| (key.clone(), known)));
            return None;
        };
        if session.live_runs().next().is_none() {
            return Some(Change::Session(Box::new(session)));
        }
        let known = Known {
            written: session,
            restless_until: before.as_ref().map_or_else(Timestamp::default, |it| it.restless_until),
            current: before.and_then(|known| known.current),
            is_unchecked: true,
            // The same files may mean something else for the session as it is now.
            traces: Vec::new(),
        };
        self.live.insert(key.clone(), known);
        None
    }

    /// Returns how the session has changed since it was looked at last, if it has.
    fn look(&mut self, key: &SessionKey, now: Timestamp) -> Option<Change> {
        let known = self.live.get_mut(key)?;
        let current = with_signals(known.written.clone(), self.config_dir.as_deref(), now);
        if known.current.as_ref() == Some(&current) {
            return None;
        }
        known.current = Some(current.clone());
        Some(Change::Session(Box::new(current)))
    }

    fn forget(&mut self, key: SessionKey) -> Option<Change> {
        self.live.remove(&key);
        self.files.remove(&key).map(|_| Change::Removed(key))
    }
}

impl Known {
    fn session(&self) -> &Session {
        self.current.as_ref().unwrap_or(&self.written)
    }

    fn is_busy(&self) -> bool {
        matches!(self.session().state(), State::Working | State::WaitingUser)
    }

    fn has_lost_a_process(&self) -> bool {
        self.session().live_runs().any(|run| liveness(run.process) == Liveness::Gone)
    }

    fn is_worth_a_look(
        &mut self,
        schedule: Schedule,
        config_dir: Option<&Path>,
        is_thorough: bool,
        now: Timestamp,
    ) -> bool {
        let is_awake = std::mem::take(&mut self.is_unchecked) || self.is_busy();
        match self.written.key.agent.life_sign() {
            LifeSign::Process => {}
            // A lock has no modification time, and another process may take it.
            LifeSign::WriterLock => return is_awake || is_thorough,
        }
        let checks_files = is_awake || schedule.idle_check == IdleCheck::Files;
        if checks_files {
            let traces = traces(&self.written, config_dir);
            if traces != self.traces {
                self.traces = traces;
                self.restless_until = now.plus(schedule.settling);
            }
        }
        checks_files && (is_thorough || now <= self.restless_until)
            || (is_awake || is_thorough) && self.has_lost_a_process()
    }
}

/// The stamps of what `signals` reads of Claude.
fn traces(session: &Session, config_dir: Option<&Path>) -> Vec<Option<Stamp>> {
    let note = |run: &Run| stamp_of(&note_path(run, config_dir)?);
    let transcript = session.transcript_path.as_ref().and_then(|path| stamp_of(Path::new(path)));
    session.live_runs().map(note).chain([transcript]).collect()
}

fn stamp_of(path: &Path) -> Option<Stamp> {
    fs::metadata(path).ok().map(|metadata| stamp(&metadata))
}

fn stamp(metadata: &Metadata) -> Stamp {
    (metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), metadata.len())
}

#[cfg(test)]
mod tests;
