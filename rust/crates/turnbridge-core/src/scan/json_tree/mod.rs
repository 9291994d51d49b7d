//! Parses strict JSON (RFC 8259) into a tree with the position of every value in the text.
//!
//! It serves files that are edited by splicing text: the tree is never written back, so numbers,
//! escapes and white space stay unchanged. One byte order mark is allowed. Comments and trailing
//! commas are refused with their place: Claude Code silently ignores a settings file that contains
//! them, and would ignore added hooks too.

use std::fmt;
use std::ops::Range;

use crate::scan::byte_order_mark::{MARK, SECOND_MARK, split_mark};

/// The limit of depth: deeper than any settings file, and safe for the stack.
const DEEPEST: usize = 128;

/// A value, and its position in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// From the value's first byte to after its last.
    pub range: Range<usize>,
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Null,
    Bool(bool),
    /// Its digits are the text in its range.
    Number,
    /// Without escapes; half of a surrogate pair, which JSON allows, is U+FFFD.
    String(String),
    Array(Vec<Node>),
    Object(Vec<Member>),
}

/// A key of an object, and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub key: String,
    /// With its quotes.
    pub key_range: Range<usize>,
    pub value: Node,
}

impl Member {
    pub fn range(&self) -> Range<usize> {
        self.key_range.start..self.value.range.end
    }
}

impl Node {
    /// Returns the value of a key: of duplicate keys the last one's. Returns `None` also if this is
    /// no object.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.members().iter().rfind(|member| member.key == key).map(|member| &member.value)
    }

    /// Returns the members; empty if this is no object.
    pub fn members(&self) -> &[Member] {
        match &self.value {
            Value::Object(members) => members,
            _ => &[],
        }
    }

    /// Returns the elements; empty if this is no array.
    pub fn elements(&self) -> &[Node] {
        match &self.value {
            Value::Array(elements) => elements,
            _ => &[],
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the ranges of the members or elements; empty for a scalar.
    pub fn child_ranges(&self) -> Vec<Range<usize>> {
        match &self.value {
            Value::Array(elements) => elements.iter().map(|node| node.range.clone()).collect(),
            Value::Object(members) => members.iter().map(Member::range).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the kind of value, for error messages.
    pub const fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        }
    }
}

/// Why a text is no JSON, and where: lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonSyntaxError {
    pub line: usize,
    pub column: usize,
    pub reason: String,
}

impl fmt::Display for JsonSyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at line {}, column {}", self.reason, self.line, self.column)
    }
}

impl std::error::Error for JsonSyntaxError {}

/// Returns the line and column of a byte, both from 1.
pub fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let column = split_mark(&before[line_start..]).1.chars().count() + 1;
    (before.matches('\n').count() + 1, column)
}

/// Parses a text with one value. Returns an error if it is no strict JSON.
pub fn parse(text: &str) -> Result<Node, JsonSyntaxError> {
    let (mark, rest) = split_mark(text);
    if rest.starts_with(MARK) {
        return Err(JsonSyntaxError { line: 1, column: 1, reason: SECOND_MARK.to_owned() });
    }
    let mut parser = Parser { text, bytes: text.as_bytes(), at: mark.len() };
    let root = parser.skip_blank().and_then(|()| parser.value(0)).and_then(|root| {
        parser.skip_blank()?;
        match parser.peek() {
            None => Ok(root),
            Some(_) => parser.unexpected("the end of the file"),
        }
    });
    root.map_err(|reason| {
        let (line, column) = place(text, parser.at);
        JsonSyntaxError { line, column, reason }
    })
}

/// A parser. After an error `at` is its place.
struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_byte(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn skip_blank(&mut self) -> Result<(), String> {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        match self.peek() {
            Some(b'/' | b'#') => Err("a comment, which JSON does not have (Claude Code ignores \
                                      a settings file with comments silently)"
                .to_owned()),
            _ => Ok(()),
        }
    }

    fn unexpected<T>(&self, expected: &str) -> Result<T, String> {
        match self.text[self.at..].chars().next() {
            Some(found) => Err(format!("expected {expected}, found {found:?}")),
            None => Err(format!("expected {expected}, but the file ends")),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, String> {
        if depth > DEEPEST {
            return Err(format!("more than {DEEPEST} levels"));
        }
        let start = self.at;
        let value = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => Value::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => self.word()?,
        };
        Ok(Node { range: start..self.at, value })
    }

    fn word(&mut self) -> Result<Value, String> {
        for (word, value) in
            [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))]
        {
            if self.bytes[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        self.unexpected("a value")
    }

    fn object(&mut self, depth: usize) -> Result<Value, String> {
        let mut members = Vec::new();
        self.at += 1;
        self.skip_blank()?;
        if self.skip_byte(b'}') {
            return Ok(Value::Object(members));
        }
        loop {
            let start = self.at;
            if self.peek() != Some(b'"') {
                return self.unexpected("a key in double quotes");
            }
            let key = self.string()?;
            let key_range = start..self.at;
            self.skip_blank()?;
            if !self.skip_byte(b':') {
                return self.unexpected("`:`");
            }
            self.skip_blank()?;
            members.push(Member { key, key_range, value: self.value(depth + 1)? });
            if !self.goes_on(b'}')? {
                return Ok(Value::Object(members));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, String> {
        let mut elements = Vec::new();
        self.at += 1;
        self.skip_blank()?;
        if self.skip_byte(b']') {
            return Ok(Value::Array(elements));
        }
        loop {
            elements.push(self.value(depth + 1)?);
            if !self.goes_on(b']')? {
                return Ok(Value::Array(elements));
            }
        }
    }

    /// Returns whether another member or element follows the one just read.
    fn goes_on(&mut self, close: u8) -> Result<bool, String> {
        self.skip_blank()?;
        if self.skip_byte(close) {
            return Ok(false);
        }
        let comma = self.at;
        if !self.skip_byte(b',') {
            return self.unexpected(&format!("`,` or `{}`", char::from(close)));
        }
        self.skip_blank()?;
        if self.peek() == Some(close) {
            self.at = comma;
            return Err("a comma with nothing behind it, which JSON does not have (Claude Code \
                        ignores such a settings file silently)"
                .to_owned());
        }
        Ok(true)
    }

    fn number(&mut self) -> Result<Value, String> {
        self.skip_byte(b'-');
        if !self.skip_byte(b'0') {
            self.digits()?;
        } else if matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err("a number that begins with 0".to_owned());
        }
        if self.skip_byte(b'.') {
            self.digits()?;
        }
        if self.skip_byte(b'e') || self.skip_byte(b'E') {
            let _ = self.skip_byte(b'+') || self.skip_byte(b'-');
            self.digits()?;
        }
        Ok(Value::Number)
    }

    fn digits(&mut self) -> Result<(), String> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { self.unexpected("a digit") } else { Ok(()) }
    }

    fn string(&mut self) -> Result<String, String> {
        let mut text = String::new();
        self.at += 1;
        loop {
            let plain = self.bytes[self.at..]
                .iter()
                .position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f))
                .unwrap_or(self.bytes.len() - self.at);
            text.push_str(&self.text[self.at..self.at + plain]);
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                Some(_) => return Err("a control character in a string".to_owned()),
                None => return Err("a string that does not end".to_owned()),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        let start = self.at;
        self.at += 2;
        let plain = match self.bytes.get(start + 1) {
            Some(b'u') => return self.unicode_escape(),
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(*byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            _ => {
                self.at = start;
                return Err("an escape that JSON does not have".to_owned());
            }
        };
        Ok(plain)
    }

    /// Reads the digits after `\u`.
    fn unicode_escape(&mut self) -> Result<char, String> {
        let first = self.four_digits()?;
        if (0xd800..0xdc00).contains(&first) && self.bytes[self.at..].starts_with(b"\\u") {
            let behind_first = self.at;
            self.at += 2;
            let second = self.four_digits()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = behind_first;
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn four_digits(&mut self) -> Result<u32, String> {
        let digits = self.bytes.get(self.at..self.at + 4).unwrap_or_default();
        let is_hex = digits.len() == 4 && digits.iter().all(u8::is_ascii_hexdigit);
        if !is_hex {
            return self.unexpected("four hexadecimal digits");
        }
        let code = u32::from_str_radix(&self.text[self.at..self.at + 4], 16);
        self.at += 4;
        Ok(code.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests;
