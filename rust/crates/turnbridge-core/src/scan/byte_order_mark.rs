//! Splits off the byte order mark (U+FEFF) that some Windows editors put at the beginning of a
//! text. A file has at most one: readers of JSON and TOML, such as those of Claude Code and Codex,
//! refuse a second.

pub const MARK: char = '\u{feff}';

/// The error message for a text that begins with two marks or more.
pub const SECOND_MARK: &str = "a second byte order mark (U+FEFF), which no reader takes";

/// Returns the mark, empty if there is none, and the rest. A second mark is part of the rest, and
/// is no blank.
pub fn split_mark(text: &str) -> (&str, &str) {
    let length = if text.starts_with(MARK) { MARK.len_utf8() } else { 0 };
    text.split_at(length)
}

pub fn has_second_mark(text: &str) -> bool {
    split_mark(text).1.starts_with(MARK)
}
