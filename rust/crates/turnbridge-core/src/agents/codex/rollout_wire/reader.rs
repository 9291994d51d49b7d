//! Reads a rollout that arrives in chunks, and returns its lines as records.

use super::{FIELDS, RolloutLine, RolloutRecord, interpret};
use crate::scan::json_scan::{Captures, JsonScanner};

/// Splits a rollout that arrives in chunks into lines of any length without keeping them. It keeps
/// the state of the unfinished last line between two chunks.
#[derive(Default)]
pub struct RolloutReader {
    line: Option<PartialLine>,
}

struct PartialLine {
    is_blank: bool,
    /// `None` once it is known to be no JSON.
    scanner: Option<JsonScanner>,
}

impl RolloutReader {
    /// Takes the next chunk, and calls `each` for every line that ends in it.
    pub fn feed(&mut self, chunk: &[u8], mut each: impl FnMut(RolloutLine)) {
        let mut rest = chunk;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            self.extend(&rest[..end]);
            each(self.take_line());
            rest = &rest[end + 1..];
        }
        if !rest.is_empty() {
            self.extend(rest);
        }
    }

    /// Returns the last line, if the file does not end in a line break. Its record is unreadable if
    /// the line is not whole.
    pub fn finish(mut self) -> Option<RolloutLine> {
        self.line.is_some().then(|| self.take_line())
    }

    fn extend(&mut self, bytes: &[u8]) {
        let line = self.line.get_or_insert_with(|| PartialLine {
            is_blank: true,
            scanner: Some(JsonScanner::new(FIELDS)),
        });
        line.is_blank &= bytes.iter().all(u8::is_ascii_whitespace);
        if line.scanner.as_mut().is_some_and(|scanner| scanner.feed(bytes).is_err()) {
            line.scanner = None;
        }
    }

    fn take_line(&mut self) -> RolloutLine {
        let line = self.line.take().filter(|line| !line.is_blank);
        let Some(line) = line else { return empty_line("blank", RolloutRecord::Blank) };
        match line.scanner.and_then(|scanner| scanner.finish().ok()) {
            Some(captures) => interpret(&Captures::from(captures)),
            None => empty_line("unreadable", RolloutRecord::Unreadable),
        }
    }
}

fn empty_line(name: &str, record: RolloutRecord) -> RolloutLine {
    RolloutLine { at: None, name: name.to_owned(), record }
}

/// Reads one line, with or without its line break.
pub fn parse_line(line: &[u8]) -> RolloutLine {
    let mut reader = RolloutReader::default();
    reader.extend(line);
    reader.take_line()
}
