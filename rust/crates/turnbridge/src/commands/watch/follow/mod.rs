//! Every session as it is now, kept up to date at little cost, without writing: `session_store` for
//! what hooks and the daemon have written, `signals` for what no hook tells.
//!
//! A file is read again only when it has another time or size. Session files are replaced by
//! renaming, so their folder's time tells whether any has: one look at it replaces five hundred.
//! Processes are looked at as in the daemon's `liveness`: those of busy agents each time, the others
//! in turns.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use turnbridge_core::ids::Tool;
use turnbridge_core::session::{Run, Session, State};
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::paths::{StatePaths, session_of_file};
use turnbridge_store::process::{Liveness, liveness};
use turnbridge_store::state::session_store;
use turnbridge_system::observe::signals::with_signals;

use super::model::SessionKey;

/// How many looks it takes until every session's processes have been looked at.
const TURNS: usize = 5;

/// After so many looks at the folder's time it is listed whatever that says: not every file system
/// keeps it.
const LISTED_ANYWAY: usize = 30;

/// How long after a change a trace is looked at again: it proves nothing in its first moments.
/// Longer than two looks are apart.
const SETTLING: Duration = Duration::from_millis(2_500);

/// A folder that changed within the last moments may change again without another time.
const TICK: Duration = Duration::from_millis(100);

/// What has become another.
#[derive(Debug)]
pub enum Change {
    Session(Box<Session>),
    /// Its file is gone.
    Removed(SessionKey),
}

pub struct Follower {
    paths: StatePaths,
    /// Claude's folder for runs that were started without `CLAUDE_CONFIG_DIR`.
    config_dir: Option<PathBuf>,
    known: BTreeMap<SessionKey, Known>,
    /// The time of the folder when it was listed last.
    folder: Option<SystemTime>,
    lists: usize,
    looks: usize,
}

type Stamp = (SystemTime, u64);

struct Known {
    stamp: Stamp,
    /// As its file has it.
    written: Session,
    /// As it is.
    now: Session,
    /// Of what an agent writes about itself.
    traces: Vec<Option<Stamp>>,
    restless_until: Timestamp,
}

impl Follower {
    pub fn new(paths: StatePaths, config_dir: Option<PathBuf>) -> Follower {
        Follower { paths, config_dir, known: BTreeMap::new(), folder: None, lists: 0, looks: 0 }
    }

    /// What has changed since the last call, if any file has. For once a second, and for when the
    /// operating system has told that it no longer knows.
    pub fn list(&mut self, now: Timestamp) -> Vec<Change> {
        let folder = self.paths.sessions_dir();
        let modified = fs::metadata(&folder).and_then(|metadata| metadata.modified()).ok();
        self.lists = self.lists.wrapping_add(1);
        let is_due = self.lists.is_multiple_of(LISTED_ANYWAY);
        if !is_due && modified.is_some() && modified == self.folder {
            return Vec::new();
        }
        let is_settled = |at: &SystemTime| at.elapsed().is_ok_and(|passed| passed > TICK);
        self.folder = modified.filter(is_settled);
        let mut there = BTreeSet::new();
        let mut changes = Vec::new();
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Some(key) = entry.file_name().to_str().and_then(session_of_file) else { continue };
            changes.extend(self.read(&key, now));
            there.insert(key);
        }
        let gone: Vec<_> = self.known.keys().filter(|key| !there.contains(*key)).cloned().collect();
        for key in gone {
            self.known.remove(&key);
            changes.push(Change::Removed(key));
        }
        changes
    }

    /// Reads one session's file, if it is another than the one that was read.
    pub fn read(&mut self, key: &SessionKey, now: Timestamp) -> Option<Change> {
        let (tool, id) = key;
        let Some(stamp) = stamp_of(&self.paths.session_file(*tool, id)) else {
            return self.known.remove(key).map(|_| Change::Removed(key.clone()));
        };
        if self.known.get(key).is_some_and(|known| known.stamp == stamp) {
            return None;
        }
        // One that cannot be read stays what it was until it can.
        let written = session_store::read(&self.paths, *tool, id)?;
        let current = with_signals(written.clone(), self.config_dir.as_deref(), now);
        let before = self.known.get(key).map(|known| &known.now);
        let change = (before != Some(&current)).then(|| Change::Session(Box::new(current.clone())));
        let known = Known {
            stamp,
            written,
            now: current,
            traces: Vec::new(),
            restless_until: now.plus(SETTLING),
        };
        self.known.insert(key.clone(), known);
        change
    }

    /// Looks for what no hook tells: Esc, an approved dialog, a process that is gone.
    pub fn look(&mut self, now: Timestamp) -> Vec<Change> {
        self.looks = self.looks.wrapping_add(1);
        let turn = self.looks % TURNS;
        let config_dir = self.config_dir.as_deref();
        let mut changes = Vec::new();
        for (index, known) in self.known.values_mut().enumerate() {
            let is_its_turn = index % TURNS == turn;
            if !known.is_worth_a_look(config_dir, is_its_turn, now) {
                continue;
            }
            let current = with_signals(known.written.clone(), config_dir, now);
            if current != known.now {
                known.now = current.clone();
                changes.push(Change::Session(Box::new(current)));
            }
        }
        changes
    }
}

impl Known {
    fn is_worth_a_look(
        &mut self,
        config_dir: Option<&Path>,
        is_its_turn: bool,
        now: Timestamp,
    ) -> bool {
        let is_busy = matches!(self.now.state(), State::Working | State::WaitingUser);
        let is_live = self.written.live_runs().next().is_some();
        if !is_live || !(is_busy || is_its_turn) {
            return false;
        }
        if self.written.tool == Tool::Codex {
            // Its lock has no time, and may be taken again.
            return true;
        }
        // A process that is gone does not come back.
        if self.now.live_runs().next().is_none() {
            return false;
        }
        let is_gone = |run: &Run| liveness(run.process) == Liveness::Gone;
        let has_lost_one = self.now.live_runs().any(is_gone);
        let traces = traces(&self.written, config_dir);
        if traces != self.traces {
            self.traces = traces;
            self.restless_until = now.plus(SETTLING);
        }
        has_lost_one || is_busy && (is_its_turn || now <= self.restless_until)
    }
}

/// The times of what `signals` reads of Claude.
fn traces(session: &Session, config_dir: Option<&Path>) -> Vec<Option<Stamp>> {
    let note = |run: &Run| {
        let folder = run.host.config_dir.as_deref().map(Path::new).or(config_dir)?;
        stamp_of(&folder.join("sessions").join(format!("{}.json", run.process.pid)))
    };
    let transcript = session.transcript_path.as_ref().and_then(|path| stamp_of(Path::new(path)));
    session.live_runs().map(note).chain([transcript]).collect()
}

fn stamp_of(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), metadata.len()))
}

#[cfg(test)]
mod tests;
