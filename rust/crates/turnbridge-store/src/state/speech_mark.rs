//! Which speech may be heard: one file that names it.
//!
//! Whoever speaks writes its own name there and looks again and again whether it still stands
//! there. A newer speech writes another name, a prompt removes the file, and the speaker falls
//! silent. So a hook ends a speech without knowing its process: no signal, no pid that may be
//! another's by now, the same on every system.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::clock;
use crate::files::atomic_file::write_atomically;
use crate::files::file_lock::FileLock;
use crate::paths::StatePaths;

/// A speech that has the word, until somebody takes it.
#[derive(Debug)]
pub struct SpeechMark {
    path: PathBuf,
    name: String,
    was_anothers: bool,
}

/// Who may be heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    Ours,
    Anothers,
    Nobodys,
}

impl SpeechMark {
    /// Takes the word, from whoever has it.
    pub fn take(paths: &StatePaths) -> io::Result<SpeechMark> {
        let name = format!("{} {}", std::process::id(), clock::now());
        let path = paths.speech_mark();
        let _one_at_a_time = lock(&path);
        let was_anothers = path.exists();
        write_atomically(&path, name.as_bytes())?;
        Ok(SpeechMark { path, name, was_anothers })
    }

    /// Whether somebody had the word before; it may be the trace of one that was killed.
    pub fn was_anothers(&self) -> bool {
        self.was_anothers
    }

    pub fn word(&self) -> Word {
        match fs::read(&self.path) {
            Ok(found) if found == self.name.as_bytes() => Word::Ours,
            Ok(_) => Word::Anothers,
            Err(_) => Word::Nobodys,
        }
    }

    pub fn is_current(&self) -> bool {
        self.word() == Word::Ours
    }
}

impl Drop for SpeechMark {
    fn drop(&mut self) {
        // Nobody may take the word between the look and the removal.
        let _one_at_a_time = lock(&self.path);
        if self.is_current() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Without it things go on all the same: a speech is worth no wait.
fn lock(mark: &Path) -> Option<FileLock> {
    FileLock::acquire(&mark.with_extension("lock"), Duration::from_millis(200)).ok()
}

/// Ends the speech that is under way, if there is one.
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
        let first = SpeechMark::take(&paths).unwrap();
        assert!(first.is_current() && !first.was_anothers());
        // The clock may stand still between the two.
        std::thread::sleep(std::time::Duration::from_millis(20));
        let second = SpeechMark::take(&paths).unwrap();
        assert!(second.was_anothers());
        assert_eq!(first.word(), Word::Anothers);
        // Who has lost the word takes it from nobody.
        drop(first);
        assert!(second.is_current());
        cut_off(&paths).unwrap();
        assert_eq!(second.word(), Word::Nobodys);
    }

    #[test]
    fn a_speech_that_has_ended_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        drop(SpeechMark::take(&paths).unwrap());
        assert!(!paths.speech_mark().exists());
    }
}
