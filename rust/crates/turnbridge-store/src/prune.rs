//! Clears away what is old: sessions and turns that nothing has touched for a month, the
//! oldest turns when all together have grown too large, temporary files of writers that were
//! killed. Looked for once a day, when a session starts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use turnbridge_core::session::Session;
use turnbridge_core::session_wire::read_session;
use turnbridge_core::version_wire::is_newer;

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
    let bytes = fs::read(path).unwrap_or_default();
    let session = read_session(&bytes);
    if session.as_ref().is_some_and(is_alive) || is_newer(&bytes) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use turnbridge_core::event::ProcessKey;
    use turnbridge_core::ids::{SessionId, Tool};
    use turnbridge_core::session_wire::write_session;
    use turnbridge_core::timestamp::Timestamp;

    struct Files {
        _folder: tempfile::TempDir,
        paths: StatePaths,
        now: SystemTime,
    }

    impl Files {
        fn new() -> Files {
            let folder = tempfile::tempdir().unwrap();
            let paths = StatePaths::below(folder.path());
            Files { paths, _folder: folder, now: SystemTime::now() }
        }

        fn write(&self, path: PathBuf, bytes: &[u8], days_old: u64) -> PathBuf {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, bytes).unwrap();
            let file = fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(self.now - DAY * u32::try_from(days_old).unwrap()).unwrap();
            path
        }

        fn session(&self, id: &str, days_old: u64) -> [PathBuf; 3] {
            let id = SessionId::parse(id).unwrap();
            let session = Session::new(Tool::Claude, id.clone(), Timestamp::from_millis(0));
            let write = |path, bytes: &[u8]| self.write(path, bytes, days_old);
            [
                write(self.paths.session_file(Tool::Claude, &id), &write_session(&session)),
                write(self.paths.session_lock(Tool::Claude, &id), b""),
                write(self.paths.turns_file(Tool::Claude, &id), b"{}\n"),
            ]
        }
    }

    #[test]
    fn sessions_untouched_for_a_month_go_with_their_turns_and_younger_ones_stay() {
        let files = Files::new();
        let old = files.session("old", 31);
        let young = files.session("young", 29);
        let newer = files.paths.sessions_dir().join("claude-newer.json");
        let newer = files.write(newer, br#"{"version":2}"#, 31);
        let broken = files.write(files.paths.sessions_dir().join("claude-x.json"), b"{", 31);
        let leftover = files.write(files.paths.sessions_dir().join(".a.json.1.tmp"), b"", 2);
        let fresh = files.write(files.paths.sessions_dir().join(".b.json.1.tmp"), b"", 0);
        prune(&files.paths, files.now).unwrap();
        assert!(old.iter().chain([&broken, &leftover]).all(|path| !path.exists()));
        assert!(young.iter().chain([&fresh, &newer]).all(|path| path.exists()));
    }

    #[test]
    fn a_session_that_is_locked_or_alive_stays_however_old() {
        let files = Files::new();
        let [locked, lock, _] = files.session("locked", 99);
        let _held = FileLock::try_acquire(&lock).unwrap().unwrap();
        let text = String::from_utf8(write_session(&Session::new(
            Tool::Claude,
            SessionId::parse("alive").unwrap(),
            Timestamp::from_millis(0),
        )))
        .unwrap();
        let caller = crate::process::calling_agent();
        assert_ne!(caller, ProcessKey::UNKNOWN);
        let run = format!(
            r#""runs":[{{"pid":{},"start":{},"started_at":"1970-01-01T00:00:00Z","activity":"completed","since":"1970-01-01T00:00:00Z","last_event":"Stop","last_at":"1970-01-01T00:00:00Z"}}]"#,
            caller.pid, caller.start
        );
        let text = text.replace("\"runs\":[]", &run);
        let path = files.paths.sessions_dir().join("claude-alive.json");
        let alive = files.write(path, text.as_bytes(), 99);
        prune(&files.paths, files.now).unwrap();
        assert!(locked.exists() && alive.exists());
    }

    #[test]
    fn it_is_done_once_a_day() {
        let files = Files::new();
        prune_daily(&files.paths).unwrap();
        let old = files.session("old", 31);
        prune_daily(&files.paths).unwrap();
        assert!(old[0].exists());
        files.write(files.paths.prune_mark(), b"", 2);
        prune_daily(&files.paths).unwrap();
        assert!(!old[0].exists());
    }
}
