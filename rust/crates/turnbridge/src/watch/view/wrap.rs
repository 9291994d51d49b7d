//! Wraps text into lines of a width in columns. A wide character takes two columns and is never
//! split; a character without width stays with the one before.

use turnbridge_core::text::visible_text::visible_line;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns at most `limit` lines, broken at spaces if there are any, else anywhere, as in Japanese.
pub fn wrap(text: &str, width: usize, limit: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.lines() {
        if lines.len() >= limit {
            break;
        }
        wrap_line(&printable(line), width.max(1), limit, &mut lines);
    }
    lines
}

fn wrap_line(line: &str, width: usize, limit: usize, lines: &mut Vec<String>) {
    let mut rest = line;
    while lines.len() < limit {
        let end = end_of_columns(rest, width);
        if end == rest.len() {
            lines.push(rest.to_owned());
            return;
        }
        // A space right after the line is a break too.
        let is_blank_next = rest[end..].starts_with(' ');
        let blank = if is_blank_next { Some(end) } else { rest[..end].rfind(' ') };
        // A line of spaces, or a word as long as the line, is cut at the width.
        let cut = blank.filter(|at| !rest[..*at].trim().is_empty()).unwrap_or(end);
        lines.push(rest[..cut].trim_end().to_owned());
        rest = rest[cut..].trim_start_matches(' ');
    }
}

/// Returns the lines of typed text: every character keeps its place, spaces included.
pub fn typed_lines(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let line = printable(line);
        let mut rest = line.as_str();
        loop {
            let end = end_of_columns(rest, width);
            lines.push(rest[..end].to_owned());
            rest = &rest[end..];
            if rest.is_empty() {
                break;
            }
        }
    }
    lines
}

/// Returns the row and column of the cursor behind this text.
pub fn cursor_of(before: &str, width: usize) -> (usize, usize) {
    let lines = typed_lines(before, width);
    let column = lines.last().map_or(0, |line| line.width());
    let row = lines.len().saturating_sub(1);
    if column >= width { (row + 1, 0) } else { (row, column) }
}

/// Returns how many bytes fit; at least one character, so that the loop ends.
fn end_of_columns(text: &str, width: usize) -> usize {
    let mut used = 0;
    for (at, character) in text.char_indices() {
        used += character.width().unwrap_or(0);
        if used > width && at > 0 {
            return at;
        }
    }
    text.len()
}

/// Replaces tabs by four spaces, and control characters by escapes.
fn printable(line: &str) -> String {
    visible_line(&line.replace('\t', "    ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, width: usize, expected: &[&str]) {
        assert_eq!(wrap(text, width, 100), expected);
    }

    #[test]
    fn words_stay_whole_where_they_can() {
        check("one two three", 7, &["one two", "three"]);
        check("one two three", 8, &["one two", "three"]);
        check("one two three", 5, &["one", "two", "three"]);
        check("abcdefgh ij", 3, &["abc", "def", "gh", "ij"]);
        check("a\n\nb\r\nc", 9, &["a", "", "b", "c"]);
        check("    indented text", 10, &["    indent", "ed text"]);
        check("", 5, &[]);
    }

    #[test]
    fn wide_characters_are_never_halved() {
        check("日本語のテキスト", 7, &["日本語", "のテキ", "スト"]);
        check("a日本", 4, &["a日", "本"]);
        check("日本", 1, &["日", "本"]);
        check("cafe\u{301}s", 4, &["cafe\u{301}", "s"]);
    }

    #[test]
    fn no_more_lines_are_made_than_are_wanted() {
        assert_eq!(wrap(&"word ".repeat(1_000_000), 8, 2).len(), 2);
        assert_eq!(wrap("a\nb\nc", 8, 2), ["a", "b"]);
    }

    #[test]
    fn escape_codes_do_not_reach_the_terminal() {
        check("\u{1b}[31mr\u{202e}\tx", 40, &[r"\u001b[31mr\u202e    x"]);
    }

    #[test]
    fn the_cursor_stands_behind_what_was_typed() {
        assert_eq!(cursor_of("", 5), (0, 0));
        assert_eq!(cursor_of("ab ", 5), (0, 3));
        assert_eq!(cursor_of("日本\n", 5), (1, 0));
        assert_eq!(cursor_of("abcdef", 5), (1, 1));
        assert_eq!(cursor_of("abcde", 5), (1, 0));
    }
}
