//! Walks the state folder and the logs: finds files that other users can read, stale temporary
//! files, and the size of the logs.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use turnbridge_store::paths::StatePaths;

/// The age from which a temporary file is stale.
const OLD: Duration = Duration::from_secs(24 * 60 * 60);
/// The limit of visited files, which suffices to detect a problem.
const MOST: usize = 20_000;
const DEEPEST: usize = 4;

#[derive(Debug, Default)]
pub struct StateFiles {
    pub exposed: Vec<PathBuf>,
    /// Temporary files of killed writers.
    pub stale: Vec<PathBuf>,
    pub log_bytes: u64,
}

pub fn find_state_files(paths: &StatePaths) -> StateFiles {
    let mut walk = Walk { now: SystemTime::now(), left: MOST, found: StateFiles::default() };
    let logs = paths.hooks_log().parent().map(Path::to_owned).unwrap_or_default();
    walk.visit(&paths.state_dir(), DEEPEST);
    if !logs.starts_with(paths.state_dir()) {
        walk.visit(&logs, DEEPEST);
    }
    let entries = fs::read_dir(&logs).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| entry.metadata().ok().map(|metadata| metadata.len()));
    walk.found.log_bytes = sizes.sum();
    walk.found
}

struct Walk {
    now: SystemTime,
    left: usize,
    found: StateFiles,
}

impl Walk {
    fn visit(&mut self, path: &Path, depth: usize) {
        // Links are not followed: their targets are not Turnbridge's to change.
        let Ok(metadata) = path.symlink_metadata() else { return };
        if self.left == 0 || metadata.is_symlink() {
            return;
        }
        self.left -= 1;
        if is_exposed(&metadata) {
            self.found.exposed.push(path.to_owned());
        }
        if metadata.is_file() && self.is_stale(path, &metadata) {
            self.found.stale.push(path.to_owned());
        }
        if metadata.is_dir() && depth > 0 {
            for entry in fs::read_dir(path).into_iter().flatten().flatten() {
                self.visit(&entry.path(), depth - 1);
            }
        }
    }

    fn is_stale(&self, path: &Path, metadata: &Metadata) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_temporary =
            (name.starts_with('.') && name.ends_with(".tmp")) || name.ends_with(".new");
        let age = metadata.modified().ok().and_then(|at| self.now.duration_since(at).ok());
        is_temporary && age.is_some_and(|age| age > OLD)
    }
}

#[cfg(unix)]
fn is_exposed(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o077 != 0
}

/// On this system only the user can read the user's folders.
#[cfg(not(unix))]
fn is_exposed(_metadata: &Metadata) -> bool {
    false
}
