//! Converts texts of any length to Slack messages: escaped, cut and numbered, never shortened.
//!
//! The pieces of a text, joined, are the text, character for character. A message adds text before
//! its piece (number, reopened fence) and after it (closing fence). `added_before` and
//! `added_after` count these bytes, so that the piece is recoverable even if the text itself looks
//! like a number or a fence. The Markdown is sent unconverted. `cut` finds the cuts, `fence` parses
//! fences.

mod cut;
mod fence;

use cut::{Filling, TextLayout};

/// The limit of a message, counted in characters as sent: escapes, number and fences included.
pub const MAX_TEXT: usize = 3_800;

/// Precedes a piece without visible characters, because Slack refuses such a message.
const SOMETHING: &str = "…";

/// A message. Its piece of the original is `markdown` without its first `added_before` and last
/// `added_after` bytes; the pieces in order are the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessagePart {
    /// For Slack's `text`: `markdown`, escaped.
    pub text: String,
    /// For the `markdown` block.
    pub markdown: String,
    pub added_before: usize,
    pub added_after: usize,
}

impl MessagePart {
    /// Returns the piece of the original, white space included.
    pub fn original(&self) -> &str {
        &self.markdown[self.added_before..self.markdown.len() - self.added_after]
    }

    fn new(before: &str, piece: &str, after: &str) -> MessagePart {
        let markdown = format!("{before}{piece}{after}");
        MessagePart {
            text: escape(&markdown),
            markdown,
            added_before: before.len(),
            added_after: after.len(),
        }
    }
}

/// Returns the text with the three characters escaped that Slack requires in `text`: otherwise
/// `<!channel>` in an answer would notify the whole channel.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// Returns the parent of a thread, which is never numbered and contains as much of the prompt as
/// fits, and the parts that continue it. The caller replaces a prompt without visible characters;
/// here it would become `…`.
pub fn split_prompt(prompt: &str) -> (MessagePart, Vec<MessagePart>) {
    let layout = TextLayout::new(prompt);
    let mut end = layout.cut(0, MAX_TEXT, Filling::Most);
    if is_blank(&prompt[..end]) {
        end = layout.cut(0, MAX_TEXT - SOMETHING.chars().count(), Filling::Most);
    }
    (part(&layout, 0, end, None), split_from(&layout, end))
}

/// Returns the parts of an answer, numbered `(2/5)` if there are several; none for an empty text.
pub fn split_answer(text: &str) -> Vec<MessagePart> {
    split_from(&TextLayout::new(text), 0)
}

fn split_from(layout: &TextLayout<'_>, start: usize) -> Vec<MessagePart> {
    let text = layout.text;
    if start == text.len() {
        return Vec::new();
    }
    let room = MAX_TEXT - if is_blank(&text[start..]) { SOMETHING.chars().count() } else { 0 };
    if layout.cut(start, room, Filling::Blocks) == text.len() {
        return vec![part(layout, start, text.len(), None)];
    }
    // The length of the numbers depends on the number of parts, and the other way round.
    (1..)
        .find_map(|digits| {
            let longest = number_line(usize::pow(10, digits) - 1, usize::pow(10, digits) - 1);
            let room = MAX_TEXT - longest.len();
            let ends = ends(layout, start, room);
            (ends.len() < usize::pow(10, digits)).then(|| number(layout, start, &ends))
        })
        .unwrap_or_default()
}

fn ends(layout: &TextLayout<'_>, start: usize, room: usize) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = start;
    while at < layout.text.len() {
        at = layout.cut(at, room, Filling::Blocks);
        ends.push(at);
    }
    ends
}

fn number(layout: &TextLayout<'_>, start: usize, ends: &[usize]) -> Vec<MessagePart> {
    let starts = std::iter::once(&start).chain(ends);
    let pieces = starts.zip(ends).enumerate();
    pieces
        .map(|(index, (from, to))| part(layout, *from, *to, Some((index + 1, ends.len()))))
        .collect()
}

fn part(
    layout: &TextLayout<'_>,
    from: usize,
    to: usize,
    number: Option<(usize, usize)>,
) -> MessagePart {
    let piece = &layout.text[from..to];
    let reopened = layout.reopening(from);
    let mut before = match number {
        Some((number, count)) if reopened.is_empty() && is_prose(piece) => {
            format!("({number}/{count}) ")
        }
        Some((number, count)) => number_line(number, count),
        None if is_blank(piece) => SOMETHING.to_owned(),
        None => String::new(),
    };
    before.push_str(reopened);
    MessagePart::new(&before, piece, &layout.closing(to))
}

/// Returns the number with a blank line after it: a list that does not begin with 1, a table and
/// indented code are parsed as such only after one.
fn number_line(number: usize, count: usize) -> String {
    format!("({number}/{count})\n\n")
}

/// Returns whether the piece keeps its meaning with a number before it on the same line. If in
/// doubt, it does not.
fn is_prose(piece: &str) -> bool {
    let first_line = piece.lines().next().unwrap_or_default();
    let begins_as_prose = |c: char| c.is_alphabetic() || "「『（(\"'“‘".contains(c);
    first_line.starts_with(begins_as_prose) && !first_line.contains('|')
}

fn is_blank(text: &str) -> bool {
    let is_unseen = |c: char| {
        c.is_whitespace()
            || c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
    };
    text.chars().all(is_unseen)
}

#[cfg(test)]
mod tests;
