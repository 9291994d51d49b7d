//! Our logs: one JSON object a line, rotated. Never a token, never what people or models said.

use std::path::Path;

use serde_json::{Map, Value};
use turnbridge_core::timestamp::Timestamp;

use crate::append::append_line;
use crate::file_lock::FileLock;

/// A log is renamed to `<name>.1` when it has grown beyond this.
const MAX_LOG: u64 = 1 << 20;

/// Writes one entry. A log that cannot be written is nobody's problem but the log's.
pub fn write_log(path: &Path, at: Timestamp, level: &str, message: &str, fields: &[(&str, Value)]) {
    let mut entry = Map::new();
    entry.insert("ts".to_owned(), Value::from(at.to_string()));
    entry.insert("level".to_owned(), Value::from(level));
    entry.insert("message".to_owned(), Value::from(message));
    for (name, value) in fields {
        entry.insert((*name).to_owned(), value.clone());
    }
    let mut line = Value::Object(entry).to_string();
    line.push('\n');
    if let Ok(length) = append_line(path, line.as_bytes())
        && length > MAX_LOG
    {
        rotate(path);
    }
}

/// Under a lock, and only if it is still too long: of two processes that see a long log, one
/// renames it.
fn rotate(path: &Path) {
    let Ok(Some(_lock)) = FileLock::try_acquire(&path.with_extension("log.lock")) else {
        return;
    };
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.len() > MAX_LOG) {
        let _ = std::fs::rename(path, path.with_extension("log.1"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_log_is_rotated_and_no_line_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hooks.log");
        let filler = "x".repeat(100_000);
        for number in 0..15 {
            let fields = [("number", Value::from(number)), ("filler", Value::from(&*filler))];
            write_log(&path, Timestamp::from_millis(0), "warn", "test", &fields);
        }
        let old = std::fs::read_to_string(folder.path().join("hooks.log.1")).unwrap();
        let new = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<Value> = old
            .lines()
            .chain(new.lines())
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let numbers: Vec<_> = lines.iter().map(|line| line["number"].as_i64().unwrap()).collect();
        assert_eq!(numbers, (0..15).collect::<Vec<_>>());
        assert_eq!(lines[0]["ts"], "1970-01-01T00:00:00.000000Z");
    }
}
