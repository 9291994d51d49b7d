//! What we remember of a foreign file: what it was before we came, and which of our versions is
//! still ours to take back.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use turnbridge_core::version_wire::VERSION;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::files::atomic_file::write_durably;
use crate::files::bounded_file;

/// A settings file, every byte of it escaped.
const LONGEST: u64 = 128 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    version: u32,
    /// For people who look at it.
    path: String,
    /// `None`: there was no file.
    pub before: Option<String>,
    /// Hashes of what we have written since. More than one: it is saved before the file is
    /// replaced, and whoever was killed in between leaves the one before it in place.
    written: Vec<String>,
}

impl Record {
    pub fn new(path: &Path, before: Option<String>) -> Record {
        Record { version: VERSION, path: path.display().to_string(), before, written: Vec::new() }
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// `None` when nothing is remembered, or nothing that can be read.
    pub fn read(path: &Path) -> Option<Record> {
        let bytes = bounded_file::read(path, LONGEST).ok()?;
        serde_json::from_slice(&bytes).ok().filter(|record: &Record| record.version <= VERSION)
    }

    pub fn write(&self, path: &Path) -> io::Result<()> {
        write_durably(path, &serde_json::to_vec(self)?)
    }

    pub fn with_written(mut self, text: &str) -> Record {
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

/// A name of our own for a file, wherever it lies.
pub fn slug(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!("{name}-{:016x}", xxh3_64(path.as_os_str().as_encoded_bytes()))
}
