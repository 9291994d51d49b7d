//! Finds out whether a running Codex has a thread open. While it has, it holds the lock on
//! `thread-writer-locks/<thread id>.lock`.
//!
//! No code here takes that lock, not even as a shared one for a moment: a Codex that opens the
//! thread at that moment tries once and gives up ("already has an active writer"). So each platform
//! has a different way to query the holder. The file is empty, and Codex removes it when it closes
//! the thread; only a killed Codex leaves it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use turnbridge_core::ids::is_uuid;
use turnbridge_core::timestamp::Timestamp;

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod platform;
#[cfg(target_os = "macos")]
#[path = "macos.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;

/// Whether a Codex has a thread open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadWriter {
    Held,
    Free,
    /// The state cannot be found out, so no conclusion follows from it.
    Unknown,
}

/// Returns when the Codex that holds the lock opened the thread, which writes the file anew.
/// Returns `None` if the file does not exist.
pub fn opened_at(codex_home: &Path, thread_id: &str) -> Option<Timestamp> {
    let path = path_of(codex_home, thread_id)?;
    let written = std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()?;
    let since = written.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp::from_micros(i64::try_from(since.as_micros()).ok()?))
}

fn path_of(codex_home: &Path, thread_id: &str) -> Option<PathBuf> {
    let folder = codex_home.join("thread-writer-locks");
    is_uuid(thread_id).then(|| folder.join(format!("{}.lock", thread_id.to_ascii_lowercase())))
}

/// Returns whether a Codex has the thread open. Returns `Unknown` for versions of Codex without
/// such locks, which left no folder for them.
pub fn writer(codex_home: &Path, thread_id: &str) -> ThreadWriter {
    let Some(path) = path_of(codex_home, thread_id) else { return ThreadWriter::Unknown };
    let has_folder = || path.parent().is_some_and(Path::is_dir);
    match platform::ask(&path) {
        Ok(writer) => writer,
        Err(error) if error.kind() == io::ErrorKind::NotFound && has_folder() => ThreadWriter::Free,
        Err(_) => ThreadWriter::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use super::*;

    const ID: &str = "01a1e18e-2062-79f1-b187-979e8f997b9c";

    fn home_with_lock_file() -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("thread-writer-locks");
        fs::create_dir(&folder).unwrap();
        let path = folder.join(format!("{ID}.lock"));
        File::create(&path).unwrap();
        (home, path)
    }

    /// Opens the file as Codex does.
    fn open(path: &Path) -> File {
        File::options().read(true).write(true).open(path).unwrap()
    }

    /// Returns the best possible result: wine lets every process read locked files.
    fn expected(writer: ThreadWriter) -> ThreadWriter {
        if platform::can_tell() { writer } else { ThreadWriter::Unknown }
    }

    #[test]
    fn a_lock_is_seen_while_it_is_held_and_no_longer() {
        let (home, path) = home_with_lock_file();
        assert_eq!(writer(home.path(), ID), expected(ThreadWriter::Free), "never held");
        let owner = open(&path);
        owner.try_lock().unwrap();
        assert_eq!(writer(home.path(), ID), expected(ThreadWriter::Held));
        assert_eq!(writer(home.path(), &ID.to_uppercase()), expected(ThreadWriter::Held));
        let other = "01a1e18e-2062-79f1-b187-979e8f997b9d";
        assert_eq!(writer(home.path(), other), ThreadWriter::Free, "another thread's");
        drop(owner);
        assert_eq!(writer(home.path(), ID), expected(ThreadWriter::Free), "left behind");
        fs::remove_file(&path).unwrap();
        assert_eq!(writer(home.path(), ID), ThreadWriter::Free, "removed");
    }

    #[test]
    fn a_lock_that_only_readers_hold_is_no_writers() {
        let (home, path) = home_with_lock_file();
        let reader = open(&path);
        reader.try_lock_shared().unwrap();
        assert_eq!(writer(home.path(), ID), expected(ThreadWriter::Free));
    }

    #[test]
    fn what_is_no_thread_or_no_home_with_locks_is_unknown() {
        let (home, _) = home_with_lock_file();
        for id in ["", "..", "last", "../thread-writer-locks/x"] {
            assert_eq!(writer(home.path(), id), ThreadWriter::Unknown, "{id}");
        }
        let bare = tempfile::tempdir().unwrap();
        assert_eq!(writer(bare.path(), ID), ThreadWriter::Unknown);
        assert_eq!(writer(&bare.path().join("none"), ID), ThreadWriter::Unknown);
    }

    #[test]
    fn a_look_never_keeps_an_owner_from_its_lock() {
        let (home, path) = home_with_lock_file();
        let is_over = AtomicBool::new(false);
        let looks = AtomicU64::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    writer(home.path(), ID);
                    looks.fetch_add(1, Ordering::Relaxed);
                }
            });
            let mut refused = 0;
            let mut tries = 0;
            while tries < 2_000 || looks.load(Ordering::Relaxed) < 200 {
                let owner = open(&path);
                refused += u32::from(owner.try_lock().is_err());
                tries += 1;
            }
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(refused, 0, "of {tries} tries");
        });
    }
}
