//! Finds the start of a turn in a rollout, from the end backwards, within a limit of bytes.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use memchr::memmem::FinderRev;
use turnbridge_core::agents::codex::rollout_wire::{RolloutRecord, parse_line};
use turnbridge_core::timestamp::Timestamp;

const WINDOW: u64 = 1 << 20;

/// The limit of the search. A longer turn starts at the limit.
const FARTHEST: u64 = 256 << 20;

/// The end of the record's name, which is near the start of its line. Inside texts of users and
/// tools the quote would be escaped.
const NEEDLE: &[u8] = b"_started\"";
const NAME_WITHIN: u64 = 4 << 10;

/// The limit of a record that begins a turn.
const LONGEST_RECORD: u64 = 64 << 10;

/// Returns the offset of the last line before `end` that begins a turn, at `latest` or before.
/// Returns the start of the file if there is none.
pub fn turn_start(file: &mut File, end: u64, latest: Timestamp) -> io::Result<u64> {
    let finder = FinderRev::new(NEEDLE);
    let mut window = Vec::new();
    let mut upper = end;
    while upper > 0 {
        if end - upper >= FARTHEST {
            return next_line(file, upper, end);
        }
        let lower = upper.saturating_sub(WINDOW);
        // The window overlaps the one before: the name may cross the border.
        let above = (upper + NEEDLE.len() as u64 - 1).min(end);
        read_between(file, lower, above, &mut window)?;
        for found in finder.rfind_iter(&window) {
            if let Some(start) = begins_turn(file, lower + found as u64, latest)? {
                return Ok(start);
            }
        }
        upper = lower;
    }
    Ok(0)
}

/// Returns the start of the line around `inside`, if that line begins a turn.
fn begins_turn(file: &mut File, inside: u64, latest: Timestamp) -> io::Result<Option<u64>> {
    let lower = inside.saturating_sub(NAME_WITHIN);
    let mut bytes = Vec::new();
    read_between(file, lower, inside, &mut bytes)?;
    let start = match memchr::memrchr(b'\n', &bytes) {
        Some(at) => lower + at as u64 + 1,
        None if lower == 0 => 0,
        None => return Ok(None),
    };
    read_between(file, start, start + LONGEST_RECORD, &mut bytes)?;
    let Some(length) = memchr::memchr(b'\n', &bytes) else { return Ok(None) };
    let line = parse_line(&bytes[..length]);
    let is_it = matches!(line.record, RolloutRecord::TaskStarted { .. })
        && line.at.is_none_or(|at| at <= latest);
    Ok(is_it.then_some(start))
}

fn next_line(file: &mut File, from: u64, end: u64) -> io::Result<u64> {
    let mut window = Vec::new();
    let mut lower = from;
    while lower < end {
        let upper = (lower + WINDOW).min(end);
        read_between(file, lower, upper, &mut window)?;
        if let Some(at) = memchr::memchr(b'\n', &window) {
            return Ok(lower + at as u64 + 1);
        }
        lower = upper;
    }
    Ok(end)
}

fn read_between(file: &mut File, from: u64, to: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    bytes.clear();
    file.seek(SeekFrom::Start(from))?;
    file.take(to - from).read_to_end(bytes)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn record(name: &str, second: u32, filler: usize) -> String {
        let filler = "x".repeat(filler);
        format!(
            "{{\"timestamp\":\"2026-11-15T10:00:{second:02}Z\",\"type\":\"event_msg\",\
             \"payload\":{{\"type\":\"{name}\",\"turn_id\":\"t\",\"x\":\"{filler}\"}}}}\n"
        )
    }

    #[test]
    fn the_beginning_of_a_turn_is_found_however_far_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r");
        let late = Timestamp::parse("2026-11-15T10:00:59Z").unwrap();
        let early = Timestamp::parse("2026-11-15T10:00:15Z").unwrap();
        let quoted = record("token_count", 30, 0).replace("\"t\"", r#""says \"task_started\"""#);
        // The second turn's start meets window borders in every way.
        for filler in [0, 1, 1 << 16, (1 << 20) - 300, (1 << 20) - 170, (1 << 20) + 5, 3 << 20] {
            let first = record("session_meta", 1, 100) + &record("task_started", 10, 0);
            let second = first.clone() + &record("token_count", 11, filler);
            let text = second.clone() + &record("turn_started", 20, 0) + &quoted + "{\"half";
            fs::write(&path, &text).unwrap();
            let mut file = File::open(&path).unwrap();
            let mut check = |end: usize, latest, expected: usize| {
                let found = turn_start(&mut file, end as u64, latest).unwrap();
                assert_eq!(found, expected as u64, "{filler}");
            };
            let begins = record("session_meta", 1, 100).len();
            check(text.len(), late, second.len());
            check(second.len(), late, begins);
            check(text.len(), early, begins);
            check(begins, late, 0);
        }
    }
}
