//! Finds a thread's rollout file among Codex's own. Reads only.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use turnbridge_core::ids::is_uuid;

/// `sessions/YYYY/MM/DD`, and a little more, should Codex change its mind.
const MAX_DEPTH: usize = 5;

/// The rollout of the thread `id`, archived or not. A thread that was reverted has several
/// (`…-<id>_<rollout id>.jsonl`): then the one written last.
pub fn find(codex_home: &Path, id: &str) -> Option<PathBuf> {
    if !is_uuid(id) {
        return None;
    }
    let mut found = Vec::new();
    for folder in ["sessions", "archived_sessions"] {
        search(&codex_home.join(folder), &id.to_ascii_lowercase(), MAX_DEPTH, &mut found);
    }
    found.into_iter().max().map(|(_, path)| path)
}

fn search(folder: &Path, id: &str, depth: usize, found: &mut Vec<(SystemTime, PathBuf)>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            if depth > 0 {
                search(&entry.path(), id, depth - 1, found);
            }
        } else if entry.file_name().to_str().is_some_and(|name| is_rollout_of(name, id)) {
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            found.push((modified.unwrap_or(SystemTime::UNIX_EPOCH), entry.path()));
        }
    }
}

fn is_rollout_of(name: &str, id: &str) -> bool {
    let Some(stem) = name.strip_suffix(".jsonl") else { return false };
    let thread = stem.split_once('_').map_or(stem, |(thread, _)| thread);
    thread
        .strip_suffix(id)
        .is_some_and(|before| before.starts_with("rollout-") && before.ends_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01a1e18e-2062-79f1-b187-979e8f997b9c";

    #[test]
    fn a_file_belongs_to_the_thread_that_its_name_ends_in() {
        for (name, expected) in [
            (format!("rollout-2026-11-15T18-22-08-{ID}.jsonl"), true),
            (
                format!(
                    "rollout-2026-11-15T18-22-08-{ID}_01a1e190-0000-7000-8000-000000000000.jsonl"
                ),
                true,
            ),
            (
                format!(
                    "rollout-2026-11-15T18-22-08-01a1e190-0000-7000-8000-000000000000_{ID}.jsonl"
                ),
                false,
            ),
            (format!("rollout-2026-11-15T18-22-08-{ID}.jsonl.zst"), false),
            (format!("{ID}.jsonl"), false),
        ] {
            assert_eq!(is_rollout_of(&name, ID), expected, "{name}");
        }
    }
}
