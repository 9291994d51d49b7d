//! Stores how far Codex's rollouts have been read, across restarts of the reader.
//!
//! Only files that were written to lately have an entry. Every other file had been read to its end
//! at `seen_at`, so thousands of old ones cost nothing here. The file is replaced whole. After a
//! crash it is a little behind, and lines are read again.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use turnbridge_core::version_wire::{VERSION, is_newer};

use crate::files::atomic_file::write_atomically;
use crate::files::bounded_file;
use crate::paths::StatePaths;
use crate::state::newer_files;

/// The limit of this file: some hundred bytes for each thread of a day.
const LONGEST: u64 = 64 << 20;

/// The content of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Offsets {
    pub version: u32,
    /// The time, in microseconds, at which every file without an entry had been read to its end.
    pub seen_at: i64,
    /// The homes that were searched. A file in another home counts as old, however new it is.
    pub homes: Vec<PathBuf>,
    pub files: Vec<RolloutOffset>,
}

/// The position up to which one rollout has been read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolloutOffset {
    pub path: PathBuf,
    /// Distinguishes the file from another one of the same name; 0 if there is no such number.
    #[serde(default)]
    pub inode: u64,
    /// The start of the first line that has not been handled.
    pub offset: u64,
    /// The start of the line that began the last turn before it.
    pub turn_offset: u64,
    /// The time of the last line before it, in microseconds.
    pub last_at: i64,
    /// Whether its writer has been seen to hold the thread's lock.
    #[serde(default)]
    pub was_held: bool,
}

/// Reads the file. Returns `None` if there is none, or none that can be read.
pub fn read(paths: &StatePaths) -> Option<Offsets> {
    serde_json::from_slice(&bytes(paths))
        .ok()
        .filter(|offsets: &Offsets| offsets.version <= VERSION)
}

/// Replaces the file, unless a newer version has written it.
pub fn write(paths: &StatePaths, offsets: &Offsets) -> io::Result<()> {
    if is_newer(&bytes(paths)) {
        return Err(newer_files::error());
    }
    write_atomically(&paths.codex_offsets(), &serde_json::to_vec(offsets)?)
}

fn bytes(paths: &StatePaths) -> Vec<u8> {
    bounded_file::read(&paths.codex_offsets(), LONGEST).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_reads_back_and_noise_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        assert_eq!(read(&paths), None);
        let place = RolloutOffset {
            path: PathBuf::from("/c/sessions/2026/11/15/rollout-x.jsonl"),
            inode: 7,
            offset: 900,
            turn_offset: 80,
            last_at: 1_700_000_000_000_000,
            was_held: true,
        };
        let homes = vec![PathBuf::from("/c")];
        let offsets = Offsets { version: 1, seen_at: 5, homes, files: vec![place] };
        write(&paths, &offsets).unwrap();
        assert_eq!(read(&paths), Some(offsets));
        for noise in ["", "{", "[]", r#"{"version":2,"seen_at":0,"homes":[],"files":[]}"#] {
            std::fs::write(paths.codex_offsets(), noise).unwrap();
            assert_eq!(read(&paths), None, "{noise}");
        }
        // The last of them is valid for its writer.
        assert!(newer_files::is_newer_error(&write(&paths, &Offsets::default()).unwrap_err()));
        assert!(std::fs::read_to_string(paths.codex_offsets()).unwrap().contains("\"version\":2"));
    }
}
