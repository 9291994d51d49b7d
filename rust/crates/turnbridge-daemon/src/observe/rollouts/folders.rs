//! Finds the rollouts below a Codex home: `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`, and
//! the same names flat in `archived_sessions`. It ignores compressed cold rollouts and all other
//! files.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use turnbridge_core::ids::is_uuid;

pub const SESSIONS: &str = "sessions";
pub const ARCHIVED: &str = "archived_sessions";

/// The depth of `sessions/YYYY/MM/DD`, and a little more in case Codex changes it.
pub const MAX_DEPTH: usize = 5;

/// Returns the thread of a rollout's name. A reverted thread has several files:
/// `…-<thread>_<rollout>.jsonl`.
pub fn thread_of(name: &str) -> Option<&str> {
    let stem = name.strip_prefix("rollout-")?.strip_suffix(".jsonl")?;
    let stem = stem.split_once('_').map_or(stem, |(thread, _)| thread);
    let (before, id) = stem.split_at_checked(stem.len().checked_sub(36)?)?;
    (is_uuid(id) && (before.is_empty() || before.ends_with('-'))).then_some(id)
}

/// Returns the thread of a rollout's path.
pub fn thread_of_path(path: &Path) -> Option<&str> {
    thread_of(path.file_name()?.to_str()?)
}

/// Calls `each` with every rollout below the home.
pub fn walk_home(home: &Path, each: &mut dyn FnMut(PathBuf, &Metadata)) {
    for folder in [SESSIONS, ARCHIVED] {
        walk(&home.join(folder), each);
    }
}

/// Calls `each` with every rollout below one folder.
pub fn walk(folder: &Path, each: &mut dyn FnMut(PathBuf, &Metadata)) {
    descend(folder, MAX_DEPTH, each);
}

fn descend(folder: &Path, depth: usize, each: &mut dyn FnMut(PathBuf, &Metadata)) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            if depth > 0 {
                descend(&entry.path(), depth - 1, each);
            }
        } else if kind.is_file()
            && entry.file_name().to_str().is_some_and(|name| thread_of(name).is_some())
            && let Ok(metadata) = entry.metadata()
        {
            each(entry.path(), &metadata);
        }
    }
}

/// Returns the folders in a folder.
pub fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries.filter(is_folder).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_rollouts_name_is_one() {
        let id = "01a1e18e-2062-79f1-b187-979e8f997b9c";
        let other = "01a1e190-0000-7000-8000-000000000000";
        for (name, expected) in [
            (format!("rollout-2026-11-15T18-22-08-{id}.jsonl"), Some(id)),
            (format!("rollout-2026-11-15T18-22-08-{id}_{other}.jsonl"), Some(id)),
            (format!("rollout-{id}.jsonl"), Some(id)),
            (format!("rollout-2026-11-15T18-22-08-{id}.jsonl.zst"), None),
            (format!("rollout-2026-11-15T18-22-08-{id}.jsonl.tmp"), None),
            (format!("rollout-2026-11-15T18-22-08x{id}.jsonl"), None),
            (format!("{id}.jsonl"), None),
            ("rollout-日本日本日本日本日本日本日本日本日本日本.jsonl".to_owned(), None),
            ("rollout-.jsonl".to_owned(), None),
            ("history.jsonl".to_owned(), None),
        ] {
            assert_eq!(thread_of(&name), expected, "{name}");
        }
    }
}
