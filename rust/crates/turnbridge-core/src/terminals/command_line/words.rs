//! Splits a command line into words and the operators between commands. It removes quotes and
//! redirections, and expands nothing.

use std::iter::Peekable;
use std::str::Chars;

use super::ShellSyntax;

/// A word without its quotes, or an operator between commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Word(String),
    Operator(&'static str),
}

pub fn pieces(line: &str, syntax: ShellSyntax) -> Vec<Piece> {
    let mut reader = WordReader {
        rest: line.chars().peekable(),
        syntax,
        pieces: Vec::new(),
        word: None,
        is_redirected: false,
    };
    while reader.step() {}
    reader.end_word();
    reader.pieces
}

struct WordReader<'a> {
    rest: Peekable<Chars<'a>>,
    syntax: ShellSyntax,
    pieces: Vec<Piece>,
    /// `Some` from a word's first character on: quotes alone are a word, too.
    word: Option<String>,
    /// The next word is a file's name.
    is_redirected: bool,
}

impl WordReader<'_> {
    /// Reads one step. Returns `false` at the end of the line.
    fn step(&mut self) -> bool {
        let Some(letter) = self.rest.next() else { return false };
        let escape = if self.syntax == ShellSyntax::Posix { '\\' } else { '`' };
        match letter {
            _ if letter == escape => {
                if let Some(next) = self.rest.next().filter(|next| *next != '\n') {
                    self.push(next);
                }
            }
            ' ' | '\t' | '\r' => self.end_word(),
            '\n' | ';' => self.operator(";"),
            '&' if self.rest.next_if_eq(&'&').is_some() => self.operator("&&"),
            '&' if self.is_redirected => self.push('&'),
            '&' => self.ampersand(),
            '|' if self.rest.next_if_eq(&'|').is_some() => self.operator("||"),
            '|' => self.operator("|"),
            '(' | ')' if self.word.is_none() => self.operator("("),
            ')' => self.operator("("),
            '<' | '>' => self.redirect(letter),
            '#' if self.word.is_none() => {
                while self.rest.next_if(|next| *next != '\n').is_some() {}
            }
            '\'' => self.single_quoted(),
            '"' => self.double_quoted(escape),
            '$' => self.dollar(),
            '`' => {
                self.push('`');
                self.copy_up_to('`');
            }
            _ => self.push(letter),
        }
        true
    }

    fn push(&mut self, letter: char) {
        self.word.get_or_insert_default().push(letter);
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if !std::mem::take(&mut self.is_redirected) {
            self.pieces.push(Piece::Word(word));
        }
    }

    fn operator(&mut self, operator: &'static str) {
        self.end_word();
        self.is_redirected = false;
        self.pieces.push(Piece::Operator(operator));
    }

    /// Reads `&`: PowerShell calls the word after it; in other shells it ends a command.
    fn ampersand(&mut self) {
        if self.syntax == ShellSyntax::Posix || self.word.is_some() {
            self.operator("&");
        }
    }

    /// Reads `2>file`, `>> file`, `2>&1`, `<<<word`.
    fn redirect(&mut self, letter: char) {
        let is_number = |word: &String| word.bytes().all(|byte| byte.is_ascii_digit());
        if self.word.as_ref().is_some_and(is_number) {
            self.word = None;
        }
        self.end_word();
        while self.rest.next_if(|next| *next == letter || *next == '|').is_some() {}
        self.is_redirected = true;
    }

    fn single_quoted(&mut self) {
        self.word.get_or_insert_default();
        while let Some(letter) = self.rest.next() {
            if letter != '\'' {
                self.push(letter);
            } else if self.syntax == ShellSyntax::PowerShell
                && self.rest.next_if_eq(&'\'').is_some()
            {
                self.push('\'');
            } else {
                return;
            }
        }
    }

    fn double_quoted(&mut self, escape: char) {
        self.word.get_or_insert_default();
        while let Some(letter) = self.rest.next() {
            match letter {
                '"' => return,
                '$' => self.dollar(),
                _ if letter == escape => match self.rest.next() {
                    Some(next @ ('"' | '\\' | '$' | '`')) => self.push(next),
                    Some('\n') | None => {}
                    Some(next) => {
                        self.push(letter);
                        self.push(next);
                    }
                },
                _ => self.push(letter),
            }
        }
    }

    /// Reads a variable, a command or a text with escapes; all but the last stay as written.
    fn dollar(&mut self) {
        if self.syntax == ShellSyntax::Posix && self.rest.next_if_eq(&'\'').is_some() {
            self.word.get_or_insert_default();
            while let Some(letter) = self.rest.next().filter(|letter| *letter != '\'') {
                let letter = if letter == '\\' { self.rest.next() } else { Some(letter) };
                letter.into_iter().for_each(|letter| self.push(letter));
            }
            return;
        }
        self.push('$');
        let end = match self.rest.peek() {
            Some('(') => ')',
            Some('{') => '}',
            _ => return,
        };
        let Some(begin) = self.rest.next() else { return };
        self.push(begin);
        let mut depth = 1;
        while depth > 0 {
            let Some(letter) = self.rest.next() else { return };
            self.push(letter);
            depth += usize::from(letter == begin);
            depth -= usize::from(letter == end);
        }
    }

    fn copy_up_to(&mut self, end: char) {
        while let Some(letter) = self.rest.next() {
            self.push(letter);
            if letter == end {
                return;
            }
        }
    }
}
