//! Parses fenced code as CommonMark defines it, as far as cutting needs it.
//!
//! A fence is ignored if it is indented by more than three blanks: the lines after a cut are then
//! code without a fence, too. A fence in a quotation is also ignored.

/// Longer than in practice; repeating them would leave no room for the text.
const MAX_MARK: usize = 64;
const MAX_INFO: usize = 200;

/// A fence that has been opened and not closed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fence {
    /// The line that reopens it.
    pub opening: String,
    /// The line that closes it, without its line break.
    pub closing: String,
    mark: char,
    length: usize,
    /// The limit of blanks before a closing fence, beyond which it is code: three, and in a list
    /// item's first line those of the item in addition.
    max_indent: usize,
}

impl Fence {
    /// Returns the fence that `line` opens, if any.
    pub fn opened_by(line: &str) -> Option<Fence> {
        let (indent, item) = item_in(line);
        let mark = item.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let rest = item.trim_start_matches(mark);
        let length = item.len() - rest.len();
        let info = rest.trim_end();
        if !(3..=MAX_MARK).contains(&length) || (mark == '`' && info.contains('`')) {
            return None;
        }
        let info = if super::escape(info).chars().count() <= MAX_INFO { info } else { "" };
        let closing = format!("{}{}", " ".repeat(indent.min(3)), &item[..length]);
        let max_indent = if has_list_mark(line) { indent + 3 } else { 3 };
        Some(Fence { opening: format!("{closing}{info}\n"), closing, mark, length, max_indent })
    }

    pub fn is_closed_by(&self, line: &str) -> bool {
        let text = line.trim_start_matches(' ');
        let indent = line.len() - text.len();
        let text = text.trim_end();
        indent <= self.max_indent
            && text.len() >= self.length
            && text.chars().all(|c| c == self.mark)
    }
}

/// Returns the column and the text of a line after its indentation and the marks of the lists that
/// begin in it. The text is empty if it is indented so far that it is code.
fn item_in(line: &str) -> (usize, &str) {
    let mut rest = line;
    loop {
        let text = rest.trim_start_matches(' ');
        if rest.len() - text.len() > 3 {
            return (0, "");
        }
        match list_mark(text) {
            Some(width) => rest = &text[width..],
            None => return (line.len() - text.len(), text),
        }
    }
}

fn has_list_mark(line: &str) -> bool {
    list_mark(line.trim_start_matches(' ')).is_some()
}

/// Returns the width of the mark, with one blank after it.
fn list_mark(text: &str) -> Option<usize> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = text.len() - rest.len();
    let is_mark = match digits {
        0 => rest.starts_with(['-', '*', '+']),
        1..=9 => rest.starts_with(['.', ')']),
        _ => false,
    };
    (is_mark && rest[1..].starts_with(' ')).then_some(digits + 2)
}
