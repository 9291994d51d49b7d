//! Locks a separate file, exclusively between processes and with a timeout.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use fs4::{FileExt, TryLockError};

use crate::files::atomic_file::open_making_folders;

/// A lock that is held until it is dropped, or until the process ends in whatever way.
#[derive(Debug)]
pub struct FileLock {
    file: File,
}

/// Unlocks before the file is closed. A child process that another thread has just started still
/// has the file open until it becomes another program, and a lock ends when its last copy is
/// closed.
impl Drop for FileLock {
    fn drop(&mut self) {
        let _ = FileExt::unlock(&self.file);
    }
}

impl FileLock {
    /// Takes the lock. Returns `TimedOut` if another process has held it for all of `timeout`.
    pub fn acquire(path: &Path, timeout: Duration) -> io::Result<FileLock> {
        loop {
            let file = open(path)?;
            wait_for(&file, timeout)?;
            // The process that removes old files may have removed this one during the wait. Then
            // this lock is on a file that no other process will open.
            if is_still_at(&file, path) {
                return Ok(FileLock { file });
            }
        }
    }

    /// Takes the lock, or returns `None` if another process holds it.
    pub fn try_acquire(path: &Path) -> io::Result<Option<FileLock>> {
        let file = open(path)?;
        let locked = try_lock(&file)? && is_still_at(&file, path);
        Ok(locked.then(|| FileLock { file }))
    }
}

/// Returns whether another process holds the lock right now. The check is a shared lock that is
/// released immediately, so a process that polls for the lock still gets it.
pub fn is_held(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    match FileExt::try_lock_shared(&file) {
        Ok(()) => {
            let _ = FileExt::unlock(&file);
            false
        }
        Err(error) => matches!(error, TryLockError::WouldBlock),
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    open_making_folders(path, &mut options)
}

fn try_lock(file: &File) -> io::Result<bool> {
    match FileExt::try_lock(file) {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Polls the lock with growing pauses. A blocking lock has no timeout, and a thread that blocks in
/// its place would cost every hook 70 KB of executable. The holder needs a fraction of a
/// millisecond, so few processes poll for long. Where many do, on a busy machine, they must not
/// keep the holder from running.
fn wait_for(file: &File, timeout: Duration) -> io::Result<()> {
    let deadline = Instant::now() + timeout;
    let mut pause = Duration::from_micros(100);
    while !try_lock(file)? {
        if Instant::now() >= deadline {
            return Err(io::Error::from(io::ErrorKind::TimedOut));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(16));
    }
    Ok(())
}

#[cfg(unix)]
fn is_still_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(held), Ok(named)) = (file.metadata(), std::fs::metadata(path)) else {
        return false;
    };
    held.ino() == named.ino() && held.dev() == named.dev()
}

/// Returns true: Windows does not remove a file that is open.
#[cfg(windows)]
fn is_still_at(_file: &File, _path: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_owner_waits_and_gives_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let held = FileLock::acquire(&path, Duration::ZERO).unwrap();
        assert!(FileLock::try_acquire(&path).unwrap().is_none());
        assert!(is_held(&path));
        let error = FileLock::acquire(&path, Duration::from_millis(20)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(held);
        assert!(!is_held(&path) && !is_held(&folder.path().join("none")));
        FileLock::acquire(&path, Duration::from_secs(5)).unwrap();
    }

    /// A child process has a copy of every open file between its fork and its exec.
    #[test]
    fn a_lock_that_is_dropped_is_free_although_a_copy_of_its_file_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let held = FileLock::acquire(&path, Duration::ZERO).unwrap();
        let copy = held.file.try_clone().unwrap();
        assert!(FileLock::try_acquire(&path).unwrap().is_none());
        drop(held);
        assert!(!is_held(&path));
        drop(FileLock::try_acquire(&path).unwrap().expect("free"));
        drop(copy);
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_file_that_was_removed_meanwhile_is_taken_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let held = FileLock::acquire(&path, Duration::ZERO).unwrap();
        let waiter = {
            let path = path.clone();
            std::thread::spawn(move || FileLock::acquire(&path, Duration::from_secs(5)).unwrap())
        };
        std::thread::sleep(Duration::from_millis(20));
        std::fs::remove_file(&path).unwrap();
        drop(held);
        let taken = waiter.join().unwrap();
        assert!(FileLock::try_acquire(&path).unwrap().is_none(), "two owners of one name");
        drop(taken);
    }
}
