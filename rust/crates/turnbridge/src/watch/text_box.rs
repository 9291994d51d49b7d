//! Edits a text of several lines with a cursor. It does not draw it.

use super::key::Key;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextBox {
    text: String,
    /// The offset of the cursor in bytes, always between two characters.
    cursor: usize,
}

impl TextBox {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn before_cursor(&self) -> &str {
        &self.text[..self.cursor]
    }

    /// Inserts text. Line breaks become `\n`; other control characters except tabs are dropped.
    pub fn insert(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let is_text = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
        let text: String = text.chars().filter(is_text).collect();
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
    }

    pub fn press(&mut self, key: Key) {
        match key {
            Key::Character(character) => self.insert(character.encode_utf8(&mut [0; 4])),
            Key::NewLine => self.insert("\n"),
            Key::Backspace => {
                let end = self.cursor;
                self.cursor = self.left();
                self.text.replace_range(self.cursor..end, "");
            }
            Key::Delete => {
                let end = self.right();
                self.text.replace_range(self.cursor..end, "");
            }
            Key::EraseLine => {
                let start = self.line_start();
                self.text.replace_range(start..self.cursor, "");
                self.cursor = start;
            }
            Key::Left => self.cursor = self.left(),
            Key::Right => self.cursor = self.right(),
            Key::Home => self.cursor = self.line_start(),
            Key::End => self.cursor = self.line_end(),
            Key::Up if self.line_start() > 0 => {
                let column = self.column();
                self.cursor = self.line_start() - 1;
                self.go_to_column(column);
            }
            Key::Down if self.line_end() < self.text.len() => {
                let column = self.column();
                self.cursor = self.line_end() + 1;
                self.go_to_column(column);
            }
            _ => {}
        }
    }

    fn left(&self) -> usize {
        self.before_cursor().char_indices().next_back().map_or(0, |(at, _)| at)
    }

    fn right(&self) -> usize {
        self.cursor + self.text[self.cursor..].chars().next().map_or(0, char::len_utf8)
    }

    fn line_start(&self) -> usize {
        self.before_cursor().rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    fn column(&self) -> usize {
        self.text[self.line_start()..self.cursor].chars().count()
    }

    /// Moves the cursor to a column of its line, or to the line's end.
    fn go_to_column(&mut self, column: usize) {
        let (start, end) = (self.line_start(), self.line_end());
        let at = self.text[start..end].char_indices().nth(column).map(|(at, _)| start + at);
        self.cursor = at.unwrap_or(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `|` is the cursor.
    #[track_caller]
    fn check(keys: &[Key], expected: &str) {
        let mut text = TextBox::default();
        text.insert("one\r\n日本語\nthree");
        keys.iter().for_each(|key| text.press(*key));
        let shown = format!("{}|{}", text.before_cursor(), &text.as_str()[text.cursor..]);
        assert_eq!(shown, expected);
    }

    #[test]
    fn the_cursor_moves_by_characters_and_lines() {
        check(&[], "one\n日本語\nthree|");
        check(&[Key::Up], "one\n日本語|\nthree");
        check(&[Key::Up, Key::Left, Key::Up], "on|e\n日本語\nthree");
        check(&[Key::Up, Key::Up, Key::Up], "one|\n日本語\nthree");
        check(&[Key::Up, Key::Home, Key::Right, Key::Down], "one\n日本語\nt|hree");
        check(&[Key::Home, Key::Left, Key::Left], "one\n日本|語\nthree");
        check(&[Key::Down, Key::Right, Key::End], "one\n日本語\nthree|");
    }

    #[test]
    fn characters_are_taken_away_whole() {
        check(&[Key::Up, Key::Backspace], "one\n日本|\nthree");
        check(&[Key::Up, Key::Home, Key::Delete], "one\n|本語\nthree");
        check(&[Key::Up, Key::Home, Key::Backspace], "one|日本語\nthree");
        check(&[Key::Up, Key::EraseLine, Key::Character('é')], "one\né|\nthree");
        check(&[Key::Delete, Key::NewLine, Key::Escape], "one\n日本語\nthree\n|");
    }

    #[test]
    fn what_is_pasted_brings_no_escape_codes() {
        let mut text = TextBox::default();
        text.insert("a\tb\u{1b}[31m\r\u{7}c");
        assert_eq!(text.as_str(), "a\tb[31m\nc");
    }
}
