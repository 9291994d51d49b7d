//! Removes old files: sessions and turns that were not changed for a month, the oldest turns if all
//! together are too large, temporary files of killed writers, and broken files of pending turns.
//! The daemon runs it once a day, or a process that a hook starts for it, because there may be very
//! many files. A session whose process lives keeps its files, whatever the clock shows. The inbox
//! and the outbox have their own `prune`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use turnbridge_core::agents::agent_differences::LifeSign;
use turnbridge_core::session::Session;
use turnbridge_core::session::pending_turn_wire::is_whole_pending;
use turnbridge_core::session::session_wire::read_session;
use turnbridge_core::system::prune_plan::{PruneRun, next_prune_run, read_looks, write_looks};
use turnbridge_core::timestamp::Timestamp;
use turnbridge_core::version_wire::is_newer;

use crate::clock;
use crate::files::atomic_file::write_atomically;
use crate::files::file_lock::FileLock;
use crate::foreign::codex_lock::{self, ThreadWriter};
use crate::foreign::codex_rollouts;
use crate::paths::StatePaths;
use crate::process::{Liveness, liveness};

const MAX_TURNS: u64 = 256 << 20;

/// The number of files that were checked and removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    pub seen: usize,
    pub removed: usize,
}

/// Returns whether no process has searched for old files within the last day. Reads one small file.
pub fn is_due(paths: &StatePaths) -> bool {
    next_prune_run(&looks(paths), clock::now()).is_some()
}

/// Returns whether a hook should start a process that prunes. A search that can find no file is
/// only recorded.
pub fn needs_process(paths: &StatePaths) -> io::Result<bool> {
    match next_prune_run(&looks(paths), clock::now()) {
        None => Ok(false),
        Some(look) if look.is_idle() => {
            write_atomically(&paths.prune_mark(), write_looks(&look.looks).as_bytes())?;
            Ok(false)
        }
        Some(_) => Ok(true),
    }
}

/// Prunes, unless that was done within the last day, or another process does it now.
pub fn prune_daily(paths: &StatePaths) -> io::Result<Pruned> {
    let Some(_lock) = FileLock::try_acquire(&paths.prune_lock())? else {
        return Ok(Pruned::default());
    };
    let Some(look) = next_prune_run(&looks(paths), clock::now()) else {
        return Ok(Pruned::default());
    };
    // The mark is written first, so that a failure is not retried with every session that starts.
    write_atomically(&paths.prune_mark(), write_looks(&look.looks).as_bytes())?;
    prune(paths, &look)
}

/// Returns the times of earlier searches. The mark of 0.1 is empty, and only its modification time
/// counts.
fn looks(paths: &StatePaths) -> Vec<Timestamp> {
    let mark = paths.prune_mark();
    match fs::read_to_string(&mark) {
        Ok(text) if text.is_empty() => {
            let modified = fs::metadata(&mark).and_then(|metadata| metadata.modified());
            modified.ok().map(timestamp).into_iter().collect()
        }
        Ok(text) => read_looks(&text),
        Err(_) => Vec::new(),
    }
}

/// Removes the files that are old according to `look`.
pub fn prune(paths: &StatePaths, look: &PruneRun) -> io::Result<Pruned> {
    let mut pruned = Pruned::default();
    for path in files_in(&paths.sessions_dir())? {
        let name = file_name(&path);
        let is_temporary = name.ends_with(".tmp");
        if !is_temporary && !name.ends_with(".json") {
            continue;
        }
        pruned.seen += 1;
        let Ok(metadata) = fs::metadata(&path) else { continue };
        if is_temporary && is_older(&metadata, look.leftovers_before) {
            fs::remove_file(&path)?;
            pruned.removed += 1;
        } else if !is_temporary && is_older(&metadata, look.before) {
            pruned.removed += usize::from(remove_session(paths, &path)?);
        }
    }
    prune_turns(paths, look, &mut pruned)?;
    prune_pending(paths, look, &mut pruned)?;
    Ok(pruned)
}

/// Removes the session's file, then its lock, while the lock is held and no process can recreate
/// the session.
fn remove_session(paths: &StatePaths, path: &Path) -> io::Result<bool> {
    let bytes = fs::read(path).unwrap_or_default();
    let session = read_session(&bytes);
    if session.as_ref().is_some_and(is_alive) || is_newer(&bytes) {
        return Ok(false);
    }
    let lock = path.with_extension("lock");
    let Some(held) = FileLock::try_acquire(&lock)? else {
        return Ok(false);
    };
    fs::remove_file(path)?;
    if let Some(session) = session {
        let _ = fs::remove_file(paths.turns_file(&session.key));
    }
    let _ = fs::remove_file(&lock);
    drop(held);
    Ok(true)
}

/// Returns whether a process carries the session.
fn is_alive(session: &Session) -> bool {
    let mut runs = session.live_runs();
    match session.key.agent.life_sign() {
        LifeSign::Process => runs.any(|run| liveness(run.process) == Liveness::Alive),
        LifeSign::WriterLock => {
            let rollout = session.transcript_path.as_deref().map(Path::new);
            let home = rollout.and_then(codex_rollouts::home_of);
            let writer = home.map(|home| codex_lock::writer(&home, session.key.id.as_str()));
            runs.next().is_some() && writer == Some(ThreadWriter::Held)
        }
    }
}

/// Removes turns without a session file when they are old. If all turns together are too large, it
/// removes the oldest ones, except for those of live sessions.
fn prune_turns(paths: &StatePaths, look: &PruneRun, pruned: &mut Pruned) -> io::Result<()> {
    let mut kept = Vec::new();
    for path in files_in(&paths.turns_dir())? {
        let Ok(metadata) = fs::metadata(&path) else { continue };
        pruned.seen += 1;
        if is_older(&metadata, look.before) && !paths.session_file_of_turns(&path).exists() {
            fs::remove_file(&path)?;
            pruned.removed += 1;
        } else {
            kept.push((metadata.modified().unwrap_or(SystemTime::now()), metadata.len(), path));
        }
    }
    let mut total: u64 = kept.iter().map(|(_, length, _)| length).sum();
    kept.sort();
    for (_, length, path) in kept {
        if total <= MAX_TURNS {
            break;
        }
        let session = fs::read(paths.session_file_of_turns(&path)).ok();
        let session = session.and_then(|bytes| read_session(&bytes));
        if !session.as_ref().is_some_and(is_alive) {
            fs::remove_file(path)?;
            pruned.removed += 1;
            total -= length;
        }
    }
    Ok(())
}

/// Removes old broken files. A whole one waits for its completion; a cut-off one can never be
/// completed.
fn prune_pending(paths: &StatePaths, look: &PruneRun, pruned: &mut Pruned) -> io::Result<()> {
    for path in files_in(&paths.pending_dir())? {
        pruned.seen += 1;
        let Ok(metadata) = fs::metadata(&path) else { continue };
        let bytes = || fs::read(&path).unwrap_or_default();
        let is_broken = || !is_whole_pending(&bytes()) && !is_newer(&bytes());
        if is_older(&metadata, look.leftovers_before) && is_broken() {
            fs::remove_file(&path)?;
            pruned.removed += 1;
        }
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

fn is_older(metadata: &fs::Metadata, limit: Timestamp) -> bool {
    metadata.modified().is_ok_and(|modified| timestamp(modified) < limit)
}

fn timestamp(time: SystemTime) -> Timestamp {
    let since_1970 = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Timestamp::from_micros(i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnbridge_core::ids::SessionKey;
    use turnbridge_core::session::event::ProcessKey;
    use turnbridge_core::session::session_wire::write_session;
    use turnbridge_core::timestamp::Timestamp;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    struct StateFolder {
        _folder: tempfile::TempDir,
        paths: StatePaths,
        now: SystemTime,
    }

    impl StateFolder {
        fn new() -> StateFolder {
            let folder = tempfile::tempdir().unwrap();
            let paths = StatePaths::below(folder.path());
            StateFolder { paths, _folder: folder, now: SystemTime::now() }
        }

        /// Prunes as a machine that has pruned every day.
        fn prune(&self) -> Pruned {
            let now = timestamp(self.now);
            let looks: Vec<_> = (1..4).map(|days| now.minus(DAY * days)).collect();
            prune(&self.paths, &next_prune_run(&looks, now).unwrap()).unwrap()
        }

        fn write(&self, path: PathBuf, bytes: &[u8], days_old: u64) -> PathBuf {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, bytes).unwrap();
            let file = fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(self.now - DAY * u32::try_from(days_old).unwrap()).unwrap();
            path
        }

        fn session(&self, id: &str, days_old: u64) -> [PathBuf; 3] {
            let key = SessionKey::of("claude", id).unwrap();
            let session = Session::new(key.clone(), Timestamp::from_millis(0));
            let write = |path, bytes: &[u8]| self.write(path, bytes, days_old);
            [
                write(self.paths.session_file(&key), &write_session(&session)),
                write(self.paths.session_lock(&key), b""),
                write(self.paths.turns_file(&key), b"{}\n"),
            ]
        }
    }

    #[test]
    fn sessions_untouched_for_a_month_go_with_their_turns_and_younger_ones_stay() {
        let files = StateFolder::new();
        let old = files.session("old", 31);
        let young = files.session("young", 29);
        let newer = files.paths.sessions_dir().join("claude-newer.json");
        let newer = files.write(newer, br#"{"version":2}"#, 31);
        let broken = files.write(files.paths.sessions_dir().join("claude-x.json"), b"{", 31);
        let leftover = files.write(files.paths.sessions_dir().join(".a.json.1.tmp"), b"", 2);
        let fresh = files.write(files.paths.sessions_dir().join(".b.json.1.tmp"), b"", 0);
        let stray = files.write(files.paths.turns_dir().join("claude-gone.jsonl"), b"{}\n", 31);
        let own = files.write(files.paths.turns_dir().join("claude-young.7.prompt"), b"x", 31);
        assert_eq!(files.prune().removed, 4);
        assert!(own.exists() && !stray.exists());
        assert!(old.iter().chain([&broken, &leftover]).all(|path| !path.exists()));
        assert!(young.iter().chain([&fresh, &newer]).all(|path| path.exists()));
    }

    #[test]
    fn a_session_that_is_locked_or_alive_stays_however_old() {
        let files = StateFolder::new();
        let [locked, lock, _] = files.session("locked", 99);
        let _held = FileLock::try_acquire(&lock).unwrap().unwrap();
        let text = String::from_utf8(write_session(&Session::new(
            SessionKey::of("claude", "alive").unwrap(),
            Timestamp::from_millis(0),
        )))
        .unwrap();
        let caller = crate::process::calling_agent();
        assert_ne!(caller, ProcessKey::UNKNOWN);
        let run = run_of(caller);
        let text = text.replace("\"runs\":[]", &run);
        let path = files.paths.sessions_dir().join("claude-alive.json");
        let alive = files.write(path, text.as_bytes(), 99);
        files.prune();
        assert!(locked.exists() && alive.exists());
    }

    #[test]
    fn it_is_done_once_a_day_and_by_one() {
        let files = StateFolder::new();
        assert!(is_due(&files.paths));
        assert_eq!(prune_daily(&files.paths).unwrap(), Pruned::default());
        assert!(!is_due(&files.paths));
        // Version 0.1 left an empty file.
        files.write(files.paths.prune_mark(), b"", 2);
        assert!(is_due(&files.paths));
        let held = FileLock::try_acquire(&files.paths.prune_lock()).unwrap();
        prune_daily(&files.paths).unwrap();
        assert!(is_due(&files.paths), "another one is at it");
        drop(held);
        prune_daily(&files.paths).unwrap();
        assert!(!is_due(&files.paths));
        let looks = fs::read_to_string(files.paths.prune_mark()).unwrap();
        assert_eq!(looks.lines().count(), 2, "{looks}");
        files.write(files.paths.prune_mark(), b"", 2);
        assert!(!needs_process(&files.paths).unwrap() && !is_due(&files.paths));
        let looks = (2..5).map(|days| format!("{}\n", timestamp(files.now).minus(DAY * days)));
        files.write(files.paths.prune_mark(), looks.collect::<String>().as_bytes(), 0);
        assert!(needs_process(&files.paths).unwrap() && is_due(&files.paths));
        files.write(files.paths.prune_mark(), b"2999-01-01T00:00:00Z\n", 0);
        assert!(is_due(&files.paths), "the clock was ahead");
    }

    #[test]
    fn a_clock_that_jumped_ahead_removes_nothing() {
        let files = StateFolder::new();
        let mine = files.session("mine", 1);
        let now = timestamp(files.now);
        let mut looks: Vec<_> = (1..4).map(|days| now.minus(DAY * days)).collect();
        // The clock is twelve years ahead, for some days.
        for days in 4_380..4_383 {
            let look = next_prune_run(&looks, now.plus(DAY * days)).unwrap();
            assert_eq!(prune(&files.paths, &look).unwrap().removed, 0);
            looks = look.looks;
        }
        assert!(mine.iter().all(|path| path.exists()));
    }

    #[test]
    fn turns_of_a_session_that_lives_stay_however_old_they_look() {
        let files = StateFolder::new();
        let [alive, _, turns] = files.session("alive", 99);
        let caller = crate::process::calling_agent();
        let text = fs::read_to_string(&alive).unwrap().replace("\"runs\":[]", &run_of(caller));
        files.write(alive.clone(), text.as_bytes(), 99);
        files.prune();
        assert!(alive.exists() && turns.exists());
    }

    fn run_of(process: ProcessKey) -> String {
        format!(
            r#""runs":[{{"pid":{},"start":{},"started_at":"1970-01-01T00:00:00Z","activity":"completed","since":"1970-01-01T00:00:00Z","last_event":"Stop","last_at":"1970-01-01T00:00:00Z"}}]"#,
            process.pid, process.start
        )
    }
}
