//! Writes log entries, one JSON object a line, and rotates the logs. Tokens are masked, and callers
//! pass no text of users or models.

use std::fmt::Write;
use std::path::Path;

use turnbridge_core::text::token_mask::without_tokens;
use turnbridge_core::timestamp::Timestamp;

use crate::files::append::append_line;
use crate::files::file_lock::FileLock;

/// The size beyond which a log is renamed to `<name>.1`.
const MAX_LOG: u64 = 1 << 20;

/// A value of a log entry. It is not serde_json's `Value`, so that the hooks, which log little,
/// stay small.
#[derive(Debug, Clone)]
pub enum LogValue {
    Text(String),
    Number(u64),
    List(Vec<String>),
}

impl From<&str> for LogValue {
    fn from(text: &str) -> LogValue {
        LogValue::Text(text.to_owned())
    }
}

impl From<String> for LogValue {
    fn from(text: String) -> LogValue {
        LogValue::Text(text)
    }
}

impl From<Vec<String>> for LogValue {
    fn from(items: Vec<String>) -> LogValue {
        LogValue::List(items)
    }
}

impl From<u16> for LogValue {
    fn from(number: u16) -> LogValue {
        LogValue::Number(number.into())
    }
}

impl From<u32> for LogValue {
    fn from(number: u32) -> LogValue {
        LogValue::Number(number.into())
    }
}

impl From<u64> for LogValue {
    fn from(number: u64) -> LogValue {
        LogValue::Number(number)
    }
}

impl From<usize> for LogValue {
    fn from(number: usize) -> LogValue {
        LogValue::Number(number as u64)
    }
}

/// Writes one entry. Ignores errors, because a log that cannot be written must not stop its writer.
pub fn write_log(
    path: &Path,
    at: Timestamp,
    level: &str,
    message: &str,
    fields: &[(&str, LogValue)],
) {
    let mut line = String::from("{");
    push_text(&mut line, "ts", &at.to_string());
    push_text(&mut line, "level", level);
    push_text(&mut line, "message", message);
    for (name, field) in fields {
        match field {
            LogValue::Text(text) => push_text(&mut line, name, text),
            LogValue::Number(number) => push(&mut line, name, &number.to_string()),
            LogValue::List(items) => {
                let items: Vec<_> = items.iter().map(|item| quoted(item)).collect();
                push(&mut line, name, &format!("[{}]", items.join(",")));
            }
        }
    }
    line.push_str("}\n");
    if let Ok(length) = append_line(path, line.as_bytes())
        && length > MAX_LOG
    {
        rotate(path);
    }
}

fn push_text(line: &mut String, name: &str, text: &str) {
    push(line, name, &quoted(text));
}

fn push(line: &mut String, name: &str, json: &str) {
    let comma = if line.len() > 1 { "," } else { "" };
    let _ = write!(line, "{comma}\"{name}\":{json}");
}

fn quoted(text: &str) -> String {
    serde_json::to_string(&without_tokens(text)).unwrap_or_default()
}

/// Rotates the log under a lock, and only if it is still too long. Of two processes that see a long
/// log, one renames it.
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
    use serde_json::Value;

    #[test]
    fn each_kind_of_value_is_written_as_its_kind_of_json() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("daemon.log");
        let fields = [
            ("word", "a \"b\"".into()),
            ("text", "c".to_owned().into()),
            ("list", vec!["d".to_owned(), "e".to_owned()].into()),
            ("port", u16::MAX.into()),
            ("pid", u32::MAX.into()),
            ("micros", u64::MAX.into()),
            ("files", 7_usize.into()),
        ];
        write_log(&path, Timestamp::from_millis(0), "info", "x", &fields);
        let line = std::fs::read_to_string(&path).unwrap();
        insta::assert_snapshot!(line, @r#"{"ts":"1970-01-01T00:00:00.000000Z","level":"info","message":"x","word":"a \"b\"","text":"c","list":["d","e"],"port":65535,"pid":4294967295,"micros":18446744073709551615,"files":7}"#);
    }

    #[test]
    fn a_token_in_the_words_of_others_is_masked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("daemon.log");
        let fields = [
            ("text", "key `xoxb-1-secret`".into()),
            ("list", vec!["xapp-1-secret".to_owned()].into()),
        ];
        write_log(&path, Timestamp::from_millis(0), "warn", "xoxp-1-secret", &fields);
        let line = std::fs::read_to_string(&path).unwrap();
        assert!(!line.contains("secret") && line.contains("key `xoxb-***`"), "{line}");
    }

    #[test]
    fn a_long_log_is_rotated_and_no_line_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hooks.log");
        let filler = "y".repeat(100_000);
        for number in 0..15_u64 {
            let problems = vec!["a \"b\"\n".to_owned(), filler.clone()];
            let fields = [("number", number.into()), ("problems", problems.into())];
            write_log(&path, Timestamp::from_millis(0), "warn", "test", &fields);
        }
        let old = std::fs::read_to_string(folder.path().join("hooks.log.1")).unwrap();
        let new = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<Value> = old
            .lines()
            .chain(new.lines())
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let numbers: Vec<_> = lines.iter().map(|line| line["number"].as_u64().unwrap()).collect();
        assert_eq!(numbers, (0..15).collect::<Vec<_>>());
        assert_eq!(lines[0]["problems"][0], "a \"b\"\n");
        assert_eq!(lines[0]["ts"], "1970-01-01T00:00:00.000000Z");
    }
}
