//! Clears away what is old: sessions and turns that nothing has touched for a month, the
//! oldest turns when all together have grown too large, temporary files of writers that were
//! killed. Looked for once a day, when a session starts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use turnbridge_core::session::Session;
use turnbridge_core::session_wire::read_session;

use crate::atomic_file::open_making_folders;
use crate::file_lock::FileLock;
use crate::paths::StatePaths;
use crate::process::{Liveness, liveness};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const MAX_TURNS: u64 = 256 << 20;

/// Prunes unless that was done within the last day.
pub fn prune_daily(paths: &StatePaths) -> io::Result<()> {
    let now = SystemTime::now();
    let mark = paths.prune_mark();
    if fs::metadata(&mark).is_ok_and(|metadata| !is_older(&metadata, now, DAY)) {
        return Ok(());
    }
    // The mark comes first: of many sessions that start at once one does the work.
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    open_making_folders(&mark, &mut options)?.set_modified(now)?;
    prune(paths, now)
}

pub fn prune(paths: &StatePaths, now: SystemTime) -> io::Result<()> {
    for path in files_in(&paths.sessions_dir())? {
        let name = file_name(&path);
        let Ok(metadata) = fs::metadata(&path) else { continue };
        if name.ends_with(".tmp") && is_older(&metadata, now, DAY) {
            fs::remove_file(&path)?;
        } else if name.ends_with(".json") && is_older(&metadata, now, KEPT) {
            remove_session(paths, &path)?;
        }
    }
    prune_turns(paths, now)
}

/// The session's file, then its lock, while the lock is held and nobody can bring it back.
fn remove_session(paths: &StatePaths, path: &Path) -> io::Result<()> {
    let session = fs::read(path).ok().and_then(|bytes| read_session(&bytes));
    if session.as_ref().is_some_and(is_alive) {
        return Ok(());
    }
    let lock = path.with_extension("lock");
    let Some(held) = FileLock::try_acquire(&lock)? else {
        return Ok(());
    };
    fs::remove_file(path)?;
    if let Some(session) = session {
        let _ = fs::remove_file(paths.turns_file(session.tool, &session.id));
    }
    let _ = fs::remove_file(&lock);
    drop(held);
    Ok(())
}

fn is_alive(session: &Session) -> bool {
    session.live_runs().any(|run| liveness(run.process) == Liveness::Alive)
}

fn prune_turns(paths: &StatePaths, now: SystemTime) -> io::Result<()> {
    let mut kept = Vec::new();
    for path in files_in(&paths.turns_dir())? {
        let Ok(metadata) = fs::metadata(&path) else { continue };
        if is_older(&metadata, now, KEPT) {
            fs::remove_file(&path)?;
        } else {
            kept.push((metadata.modified().unwrap_or(now), metadata.len(), path));
        }
    }
    let mut total: u64 = kept.iter().map(|(_, length, _)| length).sum();
    while total > MAX_TURNS {
        let oldest = (0..kept.len()).min_by_key(|index| kept[*index].0);
        let Some(oldest) = oldest else { break };
        let (_, length, path) = kept.swap_remove(oldest);
        fs::remove_file(path)?;
        total -= length;
    }
    Ok(())
}

fn files_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries?.map(|entry| entry.map(|entry| entry.path())).collect(),
    }
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn is_older(metadata: &fs::Metadata, now: SystemTime, age: Duration) -> bool {
    let modified = metadata.modified().unwrap_or(now);
    now.duration_since(modified).is_ok_and(|passed| passed > age)
}
