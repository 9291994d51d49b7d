//! Follows the current state of sessions: reads the session files that have changed, and decides
//! which sessions to check for changes that no hook reports (`observed_events`). The daemon writes
//! the changes that it finds (it calls `due`, `observed_events`, `reload`); `turnbridge watch` only
//! reads (`changes`, `read`).
//!
//! A pass is cheap enough for five times a second with 500 sessions. Session files are replaced by
//! renaming, so the folder's modification time shows whether any has changed. Claude's files are
//! read only after a change.

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

use super::observed_events::{note_path, observed_events, with_observed_events};

/// The interval of thorough passes, which check everything, whatever the files' times are. Not
/// every file system keeps a folder's time, and a process that is killed while it is idle writes no
/// file.
const THOROUGH: Duration = Duration::from_secs(5);

/// The time for which a change of the folder is not trusted: it may change again without another
/// time.
const TICK: Duration = Duration::from_millis(100);

/// Which sessions a follower checks, and how often.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    follows: fn(Agent) -> bool,
    /// How long every pass checks a session after Claude has written about it, because Claude's
    /// files prove nothing in their first moments. Must be longer than the time between two passes.
    settling: Duration,
    idle_check: IdleCheck,
}

impl Schedule {
    /// The daemon's schedule. The daemon makes up to five passes a second, so it settles after a
    /// second. Only the daemon checks the files that Claude writes while it is idle: once the
    /// daemon has written a change, all readers see it. Another part of the daemon follows the
    /// rollouts.
    pub const DAEMON: Schedule = Schedule {
        follows: |agent| !agent.tells_turns_by_rollouts(),
        settling: Duration::from_secs(1),
        idle_check: IdleCheck::Files,
    };

    /// The schedule of `turnbridge watch`, which makes a pass each second.
    pub const WATCH: Schedule = Schedule {
        follows: |_| true,
        settling: Duration::from_millis(2_500),
        idle_check: IdleCheck::Processes,
    };
}

/// The checks of a pass for a Claude session that neither works nor waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IdleCheck {
    /// The times of Claude's files in each pass, and everything in a thorough one.
    Files,
    /// Whether its processes are alive, in a thorough pass.
    Processes,
}

/// A change of a session.
#[derive(Debug)]
pub enum SessionChange {
    Session(Box<Session>),
    /// Its file was removed.
    Removed(SessionKey),
}

/// How often the sessions need a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObservedPace {
    /// An agent works or waits for the user, or has just written something.
    Busy,
    /// Agents are open, and a dialog without a hook may open (ASK-11).
    AtRest,
    None,
}

#[derive(Debug)]
pub struct SessionFollower {
    paths: StatePaths,
    /// Claude's folder for runs that were started without `CLAUDE_CONFIG_DIR`.
    config_dir: Option<PathBuf>,
    schedule: Schedule,
    /// Every existing session file.
    files: BTreeMap<SessionKey, SessionFileState>,
    /// The sessions that have a process according to their files.
    live: BTreeMap<SessionKey, FollowedSession>,
    /// The time of the folder when it was last listed.
    folder: Option<SystemTime>,
    thorough_at: Option<Timestamp>,
}

type FileStamp = (SystemTime, u64);

#[derive(Debug)]
struct SessionFileState {
    stamp: FileStamp,
    /// `false` if it is broken, or another version's. A thorough pass reads such a file again.
    is_readable: bool,
}

#[derive(Debug)]
struct FollowedSession {
    /// The session in its file.
    written: Session,
    /// The session at the last check; `None` for the daemon, which writes its findings.
    current: Option<Session>,
    /// Whether no pass has checked the session since its file was read.
    is_unchecked: bool,
    /// The stamps of Claude's files about it.
    traces: Vec<Option<FileStamp>>,
    /// The end of the time in which every pass checks the session.
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
    pub fn changes(&mut self, now: Timestamp) -> Vec<SessionChange> {
        let (mut changes, due) = self.pass(now);
        for key in due {
            changes.extend(self.changed_session(&key, now));
        }
        changes
    }

    /// Reads one session's file, if it has changed since it was read.
    pub fn read(&mut self, key: &SessionKey, now: Timestamp) -> Option<SessionChange> {
        let Some(stamp) = stamp_of(&self.paths.session_file(key)) else {
            return self.forget(key.clone());
        };
        if self.files.get(key).is_some_and(|file| file.is_readable && file.stamp == stamp) {
            return None;
        }
        self.load(key, stamp).or_else(|| {
            self.live.get_mut(key)?.is_unchecked = false;
            self.changed_session(key, now)
        })
    }

    /// Makes a pass. Returns the sessions for which the caller should call `observed_events`.
    pub fn due(&mut self, now: Timestamp) -> Vec<SessionKey> {
        self.pass(now).1
    }

    /// Returns the changes of a session since its file was written. A caller that writes them then
    /// calls `reload`.
    pub fn observed_events(&self, key: &SessionKey, now: Timestamp) -> Vec<Event> {
        let written = self.live.get(key).map(|known| &known.written);
        written.map_or_else(Vec::new, |session| {
            observed_events(session, self.config_dir.as_deref(), now)
        })
    }

    /// Reads a session's file that was just written.
    pub fn reload(&mut self, key: &SessionKey) {
        match stamp_of(&self.paths.session_file(key)) {
            Some(stamp) => self.load(key, stamp),
            None => self.forget(key.clone()),
        };
    }

    /// Returns how often the sessions need a check now: more often while one works, never if none
    /// has a process.
    pub fn pulse(&self, now: Timestamp) -> ObservedPace {
        let is_lively = |known: &FollowedSession| known.is_busy() || now <= known.restless_until;
        match () {
            () if self.live.values().any(is_lively) => ObservedPace::Busy,
            () if self.live.is_empty() => ObservedPace::None,
            () => ObservedPace::AtRest,
        }
    }

    /// Returns the changes of sessions without a process, and the sessions with one that need a
    /// check.
    fn pass(&mut self, now: Timestamp) -> (Vec<SessionChange>, Vec<SessionKey>) {
        // A clock that was set back also causes a thorough pass.
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
    fn refresh(&mut self, is_thorough: bool) -> Vec<SessionChange> {
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

    /// Lists the folder. Returns `None` if its time shows that it is unchanged.
    fn list(&mut self, is_thorough: bool) -> Option<BTreeMap<SessionKey, FileStamp>> {
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

    /// Reads a session file. Returns the session if it has no process. A session with a process is
    /// stored, and the next check returns its change.
    fn load(&mut self, key: &SessionKey, stamp: FileStamp) -> Option<SessionChange> {
        let session = session_store::read(&self.paths, key);
        let is_readable = session.is_some();
        self.files.insert(key.clone(), SessionFileState { stamp, is_readable });
        let before = self.live.remove(key);
        let Some(session) = session else {
            // `watch` keeps its last finding. The daemon forgets the session: a write would replace
            // the unreadable file.
            let found = before.filter(|known| known.current.is_some());
            self.live.extend(found.map(|known| (key.clone(), known)));
            return None;
        };
        if session.live_runs().next().is_none() {
            return Some(SessionChange::Session(Box::new(session)));
        }
        let known = FollowedSession {
            written: session,
            restless_until: before.as_ref().map_or_else(Timestamp::default, |it| it.restless_until),
            current: before.and_then(|known| known.current),
            is_unchecked: true,
            // The same files may mean something else for the session's new state.
            traces: Vec::new(),
        };
        self.live.insert(key.clone(), known);
        None
    }

    /// Returns how the session has changed since its last check, if it has.
    fn changed_session(&mut self, key: &SessionKey, now: Timestamp) -> Option<SessionChange> {
        let known = self.live.get_mut(key)?;
        let current = with_observed_events(known.written.clone(), self.config_dir.as_deref(), now);
        if known.current.as_ref() == Some(&current) {
            return None;
        }
        known.current = Some(current.clone());
        Some(SessionChange::Session(Box::new(current)))
    }

    fn forget(&mut self, key: SessionKey) -> Option<SessionChange> {
        self.live.remove(&key);
        self.files.remove(&key).map(|_| SessionChange::Removed(key))
    }
}

impl FollowedSession {
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

/// Returns the stamps of Claude's files that `observed_events` reads.
fn traces(session: &Session, config_dir: Option<&Path>) -> Vec<Option<FileStamp>> {
    let note = |run: &Run| stamp_of(&note_path(run, config_dir)?);
    let transcript = session.transcript_path.as_ref().and_then(|path| stamp_of(Path::new(path)));
    session.live_runs().map(note).chain([transcript]).collect()
}

fn stamp_of(path: &Path) -> Option<FileStamp> {
    fs::metadata(path).ok().map(|metadata| stamp(&metadata))
}

fn stamp(metadata: &Metadata) -> FileStamp {
    (metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), metadata.len())
}

#[cfg(test)]
mod tests;
