//! Stores which speech may play, in one file that names it.
//!
//! A player writes its name there, and polls whether the file still contains it. A newer speech
//! writes another name, a prompt removes the file, and the player stops. So a hook ends a speech
//! without knowing its process. That needs no signal and no pid, which may belong to another
//! process by now, and works alike on every system.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::clock;
use crate::files::atomic_file::write_atomically;
use crate::files::file_lock::FileLock;
use crate::paths::StatePaths;

/// The mark of a speech that may play until another process takes it.
#[derive(Debug)]
pub struct SpeechMark {
    path: PathBuf,
    name: String,
    was_anothers: bool,
}

/// Which speech has the mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpeechHolder {
    Ours,
    Anothers,
    NoOne,
}

impl SpeechMark {
    /// Takes the mark from any other speech.
    pub fn claim(paths: &StatePaths) -> io::Result<SpeechMark> {
        let name = format!("{} {}", std::process::id(), clock::now());
        let path = paths.speech_mark();
        let _one_at_a_time = lock(&path);
        let was_anothers = path.exists();
        write_atomically(&path, name.as_bytes())?;
        Ok(SpeechMark { path, name, was_anothers })
    }

    /// Returns whether another speech had the mark before; it may be left from one that was killed.
    pub fn was_anothers(&self) -> bool {
        self.was_anothers
    }

    pub fn holder(&self) -> SpeechHolder {
        match fs::read(&self.path) {
            Ok(found) if found == self.name.as_bytes() => SpeechHolder::Ours,
            Ok(_) => SpeechHolder::Anothers,
            Err(_) => SpeechHolder::NoOne,
        }
    }

    pub fn is_current(&self) -> bool {
        self.holder() == SpeechHolder::Ours
    }
}

impl Drop for SpeechMark {
    fn drop(&mut self) {
        // No process may take the mark between the check and the removal.
        let _one_at_a_time = lock(&self.path);
        if self.is_current() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Locks the mark. Without the lock the caller continues, because a speech is worth no wait.
fn lock(mark: &Path) -> Option<FileLock> {
    FileLock::acquire(&mark.with_extension("lock"), Duration::from_millis(200)).ok()
}

/// Ends the speech that plays, if there is one.
pub fn cut_off(paths: &StatePaths) -> io::Result<()> {
    match fs::remove_file(paths.speech_mark()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_speech_or_a_prompt_takes_the_word() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        cut_off(&paths).unwrap();
        let first = SpeechMark::claim(&paths).unwrap();
        assert!(first.is_current() && !first.was_anothers());
        // The clock may have the same time at both.
        std::thread::sleep(std::time::Duration::from_millis(20));
        let second = SpeechMark::claim(&paths).unwrap();
        assert!(second.was_anothers());
        assert_eq!(first.holder(), SpeechHolder::Anothers);
        // A speech that has lost the mark removes no other's.
        drop(first);
        assert!(second.is_current());
        cut_off(&paths).unwrap();
        assert_eq!(second.holder(), SpeechHolder::NoOne);
    }

    #[test]
    fn a_speech_that_has_ended_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        drop(SpeechMark::claim(&paths).unwrap());
        assert!(!paths.speech_mark().exists());
    }
}
