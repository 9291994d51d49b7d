//! Stores what Turnbridge knows of a foreign file: the original text, and the hashes of the
//! versions that Turnbridge wrote and may take back.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use turnbridge_core::version_wire::VERSION;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::files::atomic_file::write_durably;
use crate::files::bounded_file;

/// The limit of a record: a settings file in which every byte is escaped.
const LONGEST: u64 = 128 << 20;

/// The record of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeRecord {
    version: u32,
    /// For a user who reads the record.
    path: String,
    /// `None` if there was no file.
    pub before: Option<String>,
    /// Hashes of the versions that Turnbridge has written since. There may be several: the record
    /// is saved before the file is replaced, and a process that is killed in between leaves the
    /// earlier version in place.
    written: Vec<String>,
}

impl ChangeRecord {
    pub fn new(path: &Path, before: Option<String>) -> ChangeRecord {
        ChangeRecord {
            version: VERSION,
            path: path.display().to_string(),
            before,
            written: Vec::new(),
        }
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns `None` if there is no record, or none that can be read.
    pub fn read(path: &Path) -> Option<ChangeRecord> {
        let bytes = bounded_file::read(path, LONGEST).ok()?;
        serde_json::from_slice(&bytes)
            .ok()
            .filter(|record: &ChangeRecord| record.version <= VERSION)
    }

    pub fn write(&self, path: &Path) -> io::Result<()> {
        write_durably(path, &serde_json::to_vec(self)?)
    }

    pub fn with_written(mut self, text: &str) -> ChangeRecord {
        let hash = hash(text);
        if !self.written.contains(&hash) {
            self.written.push(hash);
        }
        self
    }

    pub fn has_written(&self, text: &str) -> bool {
        self.written.contains(&hash(text))
    }
}

fn hash(text: &str) -> String {
    format!("{:032x}", xxh3_128(text.as_bytes()))
}

/// Returns the name of a file's record, which depends on the file's whole path.
pub fn slug(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!("{name}-{:016x}", xxh3_64(path.as_os_str().as_encoded_bytes()))
}
