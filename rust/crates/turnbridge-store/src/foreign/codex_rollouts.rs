//! Finds Codex's rollout file of a thread, and reads its first record, the user's prompts and the
//! state of the last turn. It never writes.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use turnbridge_core::agents::codex::codex_binding::Rollout;
use turnbridge_core::agents::codex::rollout::{self, RolloutEvent};
use turnbridge_core::agents::codex::rollout_prompt::{PromptSearch, RolloutPrompt};
use turnbridge_core::agents::codex::rollout_tail::{self, LastTurn};
use turnbridge_core::agents::codex::rollout_wire::{
    RolloutLine, RolloutReader, RolloutRecord, ThreadMeta, parse_line,
};
use turnbridge_core::ids::is_uuid;

use crate::files::bounded_file;
use crate::foreign::codex_lock::{self, ThreadWriter};

/// The folders of rollouts below Codex's folder.
const FOLDERS: [&str; 2] = ["sessions", "archived_sessions"];

/// `sessions/YYYY/MM/DD`, and some more levels, in case Codex changes its layout.
const MAX_DEPTH: usize = 5;

/// The limit of a session_meta: the instructions in it are some 20 KB.
const LONGEST_META: u64 = 4 << 20;

/// The steps by which the search for a turn's prompt goes back. Beyond the last step, the whole
/// file is read, a piece at a time.
const WINDOWS: [u64; 3] = [64 << 10, 1 << 20, 16 << 20];

/// Finds the rollout of the thread `id`, archived or not. A thread that was reverted has several
/// (`…-<id>_<rollout id>.jsonl`): then it returns the one written last.
pub fn find(codex_home: &Path, id: &str) -> Option<PathBuf> {
    if !is_uuid(id) {
        return None;
    }
    let id = id.to_ascii_lowercase();
    let found = rollouts(codex_home, |name| is_rollout_of(name, &id));
    found.into_iter().max().map(|(_, path)| path)
}

/// Finds the rollout whose content names the thread `id`, whatever its file name.
pub fn find_by_content(codex_home: &Path, id: &str) -> Option<PathBuf> {
    let mut all = rollouts(codex_home, |name| name.ends_with(".jsonl"));
    // The newest file is read first, because the thread has just been written to.
    all.sort();
    let is_it = |path: &PathBuf| {
        read_meta(path).ok().flatten().is_some_and(|meta| meta.id.as_deref() == Some(id))
    };
    all.into_iter().rev().map(|(_, path)| path).find(is_it)
}

/// Returns Codex's folder that contains the rollout, or `None` if the rollout is elsewhere.
pub fn home_of(rollout: &Path) -> Option<PathBuf> {
    let rollout = std::path::absolute(rollout).ok()?;
    let is_ours =
        |folder: &&Path| FOLDERS.iter().any(|name| folder.file_name() == Some(name.as_ref()));
    rollout.ancestors().skip(1).find(is_ours)?.parent().map(Path::to_owned)
}

/// Returns the first record of a rollout, or `None` if it is no readable session_meta.
pub fn read_meta(path: &Path) -> io::Result<Option<ThreadMeta>> {
    Ok(read_first(path)?.and_then(|line| match line.record {
        RolloutRecord::SessionMeta(meta) => Some(meta),
        _ => None,
    }))
}

/// Returns the facts of a rollout that the panes need.
pub fn read_rollout(path: &Path) -> Option<Rollout> {
    let line = read_first(path).ok().flatten()?;
    match &line.record {
        RolloutRecord::SessionMeta(meta) => Rollout::of(meta, line.at),
        _ => None,
    }
}

/// Returns the rollouts that were written since then, in no order.
pub fn written_since(codex_home: &Path, since: SystemTime) -> Vec<PathBuf> {
    let all = rollouts(codex_home, |name| name.starts_with("rollout-") && name.ends_with(".jsonl"));
    all.into_iter().filter(|(at, _)| *at >= since).map(|(_, path)| path).collect()
}

fn read_first(path: &Path) -> io::Result<Option<RolloutLine>> {
    let mut first = None;
    let mut file = bounded_file::open(path)?.0.take(LONGEST_META);
    let mut reader = RolloutReader::default();
    let mut chunk = vec![0; 32 << 10];
    while first.is_none() {
        let length = file.read(&mut chunk)?;
        if length == 0 {
            first = reader.finish();
            break;
        }
        reader.feed(&chunk[..length], |line| first = first.take().or(Some(line)));
    }
    Ok(first)
}

/// Returns how the last turn ended, according to the end of the file. Returns `None` if the turn is
/// open, or if the file cannot be read.
pub fn last_end(path: &Path) -> Option<RolloutEvent> {
    let (tail, _) = bounded_file::read_tail(path, WINDOWS[1]).ok()?;
    rollout::last_end(tail.split(|byte| *byte == b'\n').map(parse_line))
}

/// Returns the state of the last turn. Returns `None` if the file cannot be read, or lacks it.
pub fn last_turn(path: &Path) -> Option<LastTurn> {
    in_tail(path, |lines| rollout_tail::last_turn(lines.into_iter()))
}

/// Returns whether a Codex that was killed left the last turn open, and another one has opened the
/// thread since. Returns `false` while no process has the thread open, or if this is unknown.
pub fn is_turn_left(path: &Path, thread_id: &str) -> bool {
    if !is_held(path, thread_id) {
        return false;
    }
    let open_since = home_of(path).and_then(|home| codex_lock::opened_at(&home, thread_id));
    last_turn(path).is_some_and(|turn| rollout_tail::is_left(&turn, open_since))
}

/// Returns whether a Codex has the thread of this rollout open.
pub fn is_held(path: &Path, thread_id: &str) -> bool {
    home_of(path).is_some_and(|home| codex_lock::writer(&home, thread_id) == ThreadWriter::Held)
}

/// Returns the reviewer of requests in the last turn: `user`, `auto_review`. Returns `None` if the
/// file cannot be read, or lacks it.
pub fn approvals_reviewer(path: &Path) -> Option<String> {
    in_tail(path, |lines| rollout_tail::approvals_reviewer(lines.into_iter()))
}

/// Searches the end of the file, and goes further back if it finds nothing: a turn may be long.
fn in_tail<T>(path: &Path, look: impl Fn(Vec<RolloutLine>) -> Option<T>) -> Option<T> {
    for window in WINDOWS {
        let (tail, length) = bounded_file::read_tail(path, window).ok()?;
        let begins_in_line = length > window;
        let lines = tail.split(|byte| *byte == b'\n').skip(usize::from(begins_in_line));
        let found = look(lines.map(parse_line).collect());
        if found.is_some() || !begins_in_line {
            return found;
        }
    }
    None
}

/// Returns the user's last prompt of the turn, or of the last turn.
pub fn prompt_of(path: &Path, turn_id: Option<&str>) -> io::Result<Option<RolloutPrompt>> {
    for window in WINDOWS {
        let (tail, length) = bounded_file::read_tail(path, window)?;
        let begins_in_line = length > window;
        let lines = tail.split(|byte| *byte == b'\n').skip(usize::from(begins_in_line));
        let mut search = PromptSearch::new(turn_id);
        lines.for_each(|line| search.read_line(parse_line(line)));
        let found = search.finish();
        if found.is_some() || !begins_in_line {
            return Ok(found);
        }
    }
    let mut search = PromptSearch::new(turn_id);
    let mut file = bounded_file::open(path)?.0;
    let mut reader = RolloutReader::default();
    let mut chunk = vec![0; 256 << 10];
    loop {
        match file.read(&mut chunk)? {
            0 => break,
            length => reader.feed(&chunk[..length], |line| search.read_line(line)),
        }
    }
    Ok(search.finish())
}

/// Returns every rollout with a wanted name, and the time of its last change.
fn rollouts(codex_home: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<(SystemTime, PathBuf)> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        search(&codex_home.join(folder), &is_wanted, MAX_DEPTH, &mut found);
    }
    found
}

fn search(
    folder: &Path,
    is_wanted: &impl Fn(&str) -> bool,
    depth: usize,
    found: &mut Vec<(SystemTime, PathBuf)>,
) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            if depth > 0 {
                search(&entry.path(), is_wanted, depth - 1, found);
            }
        } else if entry.file_name().to_str().is_some_and(is_wanted) {
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

    fn line(turn: &str, text: &str) -> String {
        format!(
            concat!(
                r#"{{"type":"event_msg","payload":{{"type":"item_completed","turn_id":"{}","#,
                r#""item":{{"type":"UserMessage","content":[{{"text":"{}"}}]}}}}}}"#,
                "\n"
            ),
            turn, text
        )
    }

    #[test]
    fn slv_60_a_prompt_is_found_near_the_end_and_far_from_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.jsonl");
        let noise = format!(
            r#"{{"type":"event_msg","payload":{{"type":"x","y":"{}"}}}}"#,
            "z".repeat(9_000)
        );
        // Behind each of the windows, and behind all of them.
        for lines in [0, 10, 200, 2_200] {
            let text = line("old", "before")
                + &line("own", "find me")
                + &format!("{noise}\n").repeat(lines);
            fs::write(&path, text).unwrap();
            let found = prompt_of(&path, Some("own")).unwrap();
            assert_eq!(found.map(|prompt| prompt.text).as_deref(), Some("find me"), "{lines}");
        }
        assert_eq!(prompt_of(&path, Some("other")).unwrap(), None);
        assert!(prompt_of(&folder.path().join("absent"), None).is_err());
    }

    #[test]
    fn slv_60_a_file_with_another_name_is_found_by_what_it_says() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("sessions/2026/11/15");
        fs::create_dir_all(&folder).unwrap();
        let meta = format!(
            r#"{{"type":"session_meta","payload":{{"id":"{ID}","x":"{}"}}}}"#,
            "i".repeat(90_000)
        );
        fs::write(folder.join("copy.jsonl"), meta + "\n" + &line("t", "hello")).unwrap();
        fs::write(folder.join("noise.jsonl"), b"\xff\n").unwrap();
        fs::write(folder.join("empty.jsonl"), b"").unwrap();
        assert_eq!(find(home.path(), ID), None);
        assert_eq!(find_by_content(home.path(), ID), Some(folder.join("copy.jsonl")));
        assert_eq!(find_by_content(home.path(), "01a1e190-0000-7000-8000-000000000000"), None);
    }

    #[test]
    fn the_folder_around_the_sessions_is_codex_own() {
        let root = std::env::temp_dir();
        for (rollout, expected) in [
            ("sessions/codex/sessions/2026/11/15/x.jsonl", Some("sessions/codex")),
            ("codex/archived_sessions/x.jsonl", Some("codex")),
            ("codex/rollouts/sessions", None),
            ("x.jsonl", None),
        ] {
            assert_eq!(home_of(&root.join(rollout)), expected.map(|home| root.join(home)));
        }
    }

    #[test]
    fn the_last_turn_is_found_far_from_the_end_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.jsonl");
        assert_eq!(last_turn(&path), None, "no file");
        let started = concat!(
            r#"{"type":"event_msg","payload":{"type":"task_started","turn_attribution":"#,
            r#"{"turn_trigger":"exec"}}}"#,
            "\n",
            r#"{"type":"turn_context","payload":{"approvals_reviewer":"auto_review"}}"#,
            "\n"
        );
        let noise = format!(r#"{{"type":"event_msg","payload":{{"y":"{}"}}}}"#, "z".repeat(9_000));
        for lines in [0, 10, 200] {
            fs::write(&path, format!("{started}{}", format!("{noise}\n").repeat(lines))).unwrap();
            let trigger = Some("exec".to_owned());
            assert_eq!(last_turn(&path), Some(LastTurn::Open { trigger, at: None }), "{lines}");
            assert_eq!(approvals_reviewer(&path).as_deref(), Some("auto_review"), "{lines}");
        }
    }
}
