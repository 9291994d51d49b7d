//! Stores the turns whose end a hook has seen but not handled completely yet (`pending/`). The hook
//! writes the file first and removes it last, so that no turn is lost with a hook that is killed or
//! does not get the session's lock. `turn_completion` completes the turns that hooks have left.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use turnbridge_core::ids::SessionKey;
use turnbridge_core::session::pending_turn::PendingTurn;
use turnbridge_core::session::pending_turn_wire::{read_pending, write_pending};

use crate::files::atomic_file::{open_making_folders, write_atomically};
use crate::paths::StatePaths;
use crate::process::{Liveness, liveness};
use crate::state::folder_trust::read_own;

/// The longest life of a hook, for systems that do not report whether the writer lives.
const LONGEST_HOOK: Duration = Duration::from_secs(120);

/// A pending turn and its file.
#[derive(Debug)]
pub struct PendingTurnFile {
    pub path: PathBuf,
    pub turn: PendingTurn,
}

/// Records the turn in one write. A file that is cut off is not whole JSON, and is skipped.
pub fn announce(paths: &StatePaths, turn: &PendingTurn) -> io::Result<PathBuf> {
    let name = format!("{}.{}-{:016x}.json", turn.session(), turn.writer.pid, turn.payload);
    let path = paths.pending_dir().join(name);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let mut file = open_making_folders(&path, &mut options)?;
    let written = file.write_all(&write_pending(turn));
    if let Err(error) = written {
        let _ = fs::remove_file(&path);
        return Err(error);
    }
    Ok(path)
}

/// Records that the notice of the turn has been made, so that only its record is missing.
pub fn note_announced(pending: &mut PendingTurnFile) -> io::Result<()> {
    pending.turn.tell = false;
    write_atomically(&pending.path, &write_pending(&pending.turn))
}

/// Returns the turns of one session that their hooks have left, oldest first.
pub fn of_session(paths: &StatePaths, key: &SessionKey) -> Vec<PendingTurnFile> {
    let prefix = format!("{key}.");
    let mut left = left_behind(paths, |name| name.starts_with(&prefix));
    left.retain(|pending| pending.turn.session() == key);
    left
}

/// Returns the sessions that have such turns.
pub fn sessions(paths: &StatePaths) -> Vec<SessionKey> {
    let left = left_behind(paths, |_| true);
    let mut sessions: Vec<_> = left.iter().map(|pending| pending.turn.session().clone()).collect();
    sessions.sort();
    sessions.dedup();
    sessions
}

fn left_behind(paths: &StatePaths, is_wanted: impl Fn(&str) -> bool) -> Vec<PendingTurnFile> {
    let Ok(files) = fs::read_dir(paths.pending_dir()) else { return Vec::new() };
    let mut left = Vec::new();
    for file in files.flatten() {
        let name = file.file_name();
        let Some(name) = name.to_str().filter(|name| name.ends_with(".json")) else { continue };
        if name.starts_with('.') || !is_wanted(name) {
            continue;
        }
        let path = file.path();
        let turn = read_own(&path).and_then(|bytes| read_pending(&bytes));
        left.extend(turn.map(|turn| PendingTurnFile { path, turn }).filter(is_left));
    }
    left.sort_by_key(|pending| pending.turn.record.ended_at);
    left
}

/// Returns whether the hook that wrote the file no longer works on it.
fn is_left(pending: &PendingTurnFile) -> bool {
    match liveness(pending.turn.writer) {
        Liveness::Gone => true,
        Liveness::Alive => false,
        Liveness::Unknown => {
            let modified = fs::metadata(&pending.path).and_then(|metadata| metadata.modified());
            let age = modified.ok().map(|at| SystemTime::now().duration_since(at));
            // A time in the future gives no age: the clock was set back.
            age.is_some_and(|age| age.map_or(true, |age| age > LONGEST_HOOK))
        }
    }
}
