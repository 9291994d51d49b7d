//! Reads a few fields from a JSON text that arrives in chunks, and skips the rest.
//!
//! A hook payload can contain megabytes of tool output, of which only fields such as the session id
//! are wanted. A tree would take as much memory as the payload, and serde_json's reader goes byte
//! by byte; this scanner skips strings with memchr and keeps only the wanted fields. It is strict
//! about structure, so that it detects a cut payload, but lenient inside skipped values (number
//! grammar, control characters, escapes).

mod escapes;

use std::collections::BTreeMap;
use std::fmt;

use escapes::{ends_in_escape, unescape};
use xxhash_rust::xxh3::Xxh3;

/// One step from a container to a value in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathStep {
    Key(&'static str),
    /// Every element of an array.
    Each,
}

/// A field that the caller wants, and what is kept of it.
#[derive(Debug, Clone, Copy)]
pub struct WantedField {
    pub path: &'static [PathStep],
    pub keep: CaptureMode,
}

/// Makes a table of wanted fields: `Wanted` names them in order, `FIELDS` is the scanner's table.
macro_rules! wanted_fields {
    ($($name:ident: $keep:expr, [$($step:expr),+];)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        enum Wanted { $($name),+ }
        const FIELDS: &[WantedField] = &[$(WantedField { path: &[$($step),+], keep: $keep }),+];

        impl From<Wanted> for usize {
            fn from(wanted: Wanted) -> usize {
                wanted as usize
            }
        }
    };
}
pub(crate) use wanted_fields;

/// What the scanner keeps of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureMode {
    /// A scalar; the limit is in bytes of its raw text.
    Scalar(usize),
    /// Of an object or array only a hash of its text, to recognise it again.
    Fingerprint,
}

/// The value of a field in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundValue {
    /// A string, unescaped. `whole` is false if it was cut at the field's limit.
    Text {
        text: String,
        whole: bool,
    },
    Bool(bool),
    Null,
    /// The digits, unchanged.
    Number(String),
    /// An object or array where a scalar was wanted.
    Container,
    Fingerprint(u64),
}

/// A wanted field that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// The index into the wanted fields.
    pub field: usize,
    /// The position in the innermost array on the path, 0 if there is none.
    pub element: u32,
    pub found: FoundValue,
}

/// The captures in a whole text, by field.
pub(crate) struct Captures(Vec<Capture>);

impl From<Vec<Capture>> for Captures {
    fn from(captures: Vec<Capture>) -> Captures {
        Captures(captures)
    }
}

impl Captures {
    /// Returns the captures of a text, or `None` if it is no JSON.
    pub fn read(fields: &'static [WantedField], text: &[u8]) -> Option<Captures> {
        let mut scanner = JsonScanner::new(fields);
        scanner.feed(text).and_then(|()| scanner.finish()).ok().map(Captures)
    }

    pub fn found(&self, field: impl Into<usize>) -> impl Iterator<Item = &Capture> {
        let field = field.into();
        self.0.iter().filter(move |capture| capture.field == field)
    }

    /// Returns the field's texts, with their positions in the innermost array.
    pub fn texts(&self, field: impl Into<usize>) -> impl Iterator<Item = (u32, &str)> {
        self.found(field.into()).filter_map(|capture| match &capture.found {
            FoundValue::Text { text, .. } => Some((capture.element, text.as_str())),
            _ => None,
        })
    }

    /// Returns the field's last text.
    pub fn text(&self, field: impl Into<usize>) -> Option<&str> {
        self.texts(field.into()).last().map(|(_, text)| text)
    }

    /// Returns the first text of each element. A caller that needs many of them calls this once,
    /// because every call iterates over all captures.
    pub fn texts_by_element(&self, field: impl Into<usize>) -> BTreeMap<u32, &str> {
        let mut texts = BTreeMap::new();
        for (element, text) in self.texts(field) {
            texts.entry(element).or_insert(text);
        }
        texts
    }

    /// Returns whether the field's last value is `true`.
    pub fn is_on(&self, field: impl Into<usize>) -> bool {
        self.found(field.into())
            .last()
            .is_some_and(|capture| capture.found == FoundValue::Bool(true))
    }
}

/// Why a text is no JSON, and at which byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MalformedJson {
    pub offset: u64,
    pub what: &'static str,
}

impl fmt::Display for MalformedJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.what, self.offset)
    }
}

/// The limit of nesting; Claude's payloads have less than 20 levels.
const MAX_DEPTH: usize = 4_096;
/// The limit of a key; no wanted key is longer.
const MAX_KEY: usize = 64;

/// The scanner of a text that arrives in chunks: `feed` takes them, `finish` returns the captures.
pub struct JsonScanner {
    fields: &'static [WantedField],
    open: Vec<Container>,
    expect: Expect,
    token: JsonToken,
    /// The raw text of the current key or scalar, if wanted.
    raw: Vec<u8>,
    whole: bool,
    /// The fields that the next value may be, or lead to.
    value_mask: u64,
    /// The current container whose fingerprint is wanted.
    digest: Option<Digest>,
    captures: Vec<Capture>,
    consumed: u64,
}

struct Digest {
    field: usize,
    /// The number of open containers outside it.
    depth: usize,
    hash: Xxh3,
}

#[derive(Clone, Copy)]
struct Container {
    is_object: bool,
    /// The fields that may be inside, according to the path so far.
    mask: u64,
    element: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    Colon,
    CommaOrEnd,
    Nothing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum JsonToken {
    None,
    Text { is_key: bool, keep: usize, escaped: bool },
    Bare { keep: bool },
}

impl JsonScanner {
    pub fn new(fields: &'static [WantedField]) -> JsonScanner {
        assert!(fields.len() <= 64, "a field is one bit of a mask");
        JsonScanner {
            fields,
            open: Vec::with_capacity(16),
            expect: Expect::Value,
            token: JsonToken::None,
            raw: Vec::new(),
            whole: true,
            value_mask: u64::MAX >> (64 - fields.len().max(1)),
            digest: None,
            captures: Vec::new(),
            consumed: 0,
        }
    }

    /// Takes the next chunk. After an error the scanner is unusable.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), MalformedJson> {
        let mut at = 0;
        while at < chunk.len() {
            let next = match self.token {
                JsonToken::Text { .. } => self.scan_text(chunk, at),
                JsonToken::Bare { .. } => self.scan_bare(chunk, at)?,
                JsonToken::None => self.scan_structure(chunk, at)?,
            };
            if self.digest.is_some() {
                self.continue_digest(&chunk[at..next]);
            }
            at = next;
        }
        self.consumed += chunk.len() as u64;
        Ok(())
    }

    /// Returns the captures in the order of the text, or an error if the text is not complete.
    pub fn finish(mut self) -> Result<Vec<Capture>, MalformedJson> {
        if let JsonToken::Bare { keep } = self.token {
            self.end_bare(keep, 0)?;
        }
        if self.expect == Expect::Nothing && self.token == JsonToken::None {
            return Ok(self.captures);
        }
        let empty = self.consumed == 0 || (self.open.is_empty() && self.expect == Expect::Value);
        Err(self.malformed(
            0,
            if empty && self.token == JsonToken::None {
                "empty input"
            } else {
                "input ends too early"
            },
        ))
    }

    fn scan_structure(&mut self, chunk: &[u8], at: usize) -> Result<usize, MalformedJson> {
        let byte = chunk[at];
        match (byte, self.expect) {
            (b' ' | b'\t' | b'\n' | b'\r', _) => {}
            (b'"', Expect::Key | Expect::KeyOrEnd) => {
                let mask = self.open.last().map_or(0, |container| container.mask);
                self.begin_text(true, if mask == 0 { 0 } else { MAX_KEY });
            }
            (b':', Expect::Colon) => self.expect = Expect::Value,
            (b',', Expect::CommaOrEnd) => self.next_member(),
            (b'}', Expect::KeyOrEnd | Expect::CommaOrEnd) if self.in_object() => self.close(),
            (b']', Expect::ValueOrEnd | Expect::CommaOrEnd) if !self.in_object() => self.close(),
            (_, Expect::Value | Expect::ValueOrEnd) => self.begin_value(byte, at)?,
            _ => return Err(self.malformed(at, "unexpected character")),
        }
        // A bare token begins with the byte that was just read.
        let taken = !matches!(self.token, JsonToken::Bare { .. });
        Ok(at + usize::from(taken))
    }

    fn begin_value(&mut self, byte: u8, at: usize) -> Result<(), MalformedJson> {
        match byte {
            b'"' => {
                let keep = self.wanted_here().map_or(0, |field| match self.fields[field].keep {
                    CaptureMode::Scalar(limit) => limit,
                    CaptureMode::Fingerprint => 0,
                });
                self.begin_text(false, keep);
            }
            b'{' | b'[' => {
                if self.open.len() >= MAX_DEPTH {
                    return Err(self.malformed(at, "nested too deeply"));
                }
                match self.wanted_here() {
                    Some(field) if self.fields[field].keep == CaptureMode::Fingerprint => {
                        let depth = self.open.len();
                        self.digest = Some(Digest { field, depth, hash: Xxh3::new() });
                    }
                    Some(field) => self.capture(field, FoundValue::Container),
                    None => {}
                }
                let is_object = byte == b'{';
                let container = Container { is_object, mask: self.value_mask, element: 0 };
                self.open.push(container);
                if is_object {
                    self.expect = Expect::KeyOrEnd;
                } else {
                    self.expect = Expect::ValueOrEnd;
                    self.value_mask = self.narrow(container.mask, |step| step == PathStep::Each);
                }
            }
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => {
                self.raw.clear();
                self.token = JsonToken::Bare { keep: self.wanted_here().is_some() };
            }
            _ => return Err(self.malformed(at, "unexpected character")),
        }
        Ok(())
    }

    fn scan_text(&mut self, chunk: &[u8], at: usize) -> usize {
        let JsonToken::Text { is_key, keep, escaped } = self.token else {
            return at;
        };
        if escaped {
            self.keep_raw(&chunk[at..=at], keep);
            self.token = JsonToken::Text { is_key, keep, escaped: false };
            return at + 1;
        }
        // Searching only for the quote, and then backwards for backslashes before it, skips the
        // many `\n` of a tool's output without stopping at each.
        let mut from = at;
        while let Some(length) = memchr::memchr(b'"', &chunk[from..]) {
            let quote = from + length;
            if ends_in_escape(&chunk[at..quote]) {
                from = quote + 1;
                continue;
            }
            self.keep_raw(&chunk[at..quote], keep);
            self.token = JsonToken::None;
            if is_key {
                self.end_key(keep);
            } else {
                self.end_text();
            }
            return quote + 1;
        }
        self.keep_raw(&chunk[at..], keep);
        self.token = JsonToken::Text { is_key, keep, escaped: ends_in_escape(&chunk[at..]) };
        chunk.len()
    }

    fn scan_bare(&mut self, chunk: &[u8], at: usize) -> Result<usize, MalformedJson> {
        let JsonToken::Bare { keep } = self.token else {
            return Ok(at);
        };
        let is_bare =
            |byte: &u8| matches!(byte, b'+' | b'-' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'E');
        let length = chunk[at..].iter().take_while(|byte| is_bare(byte)).count();
        // Enough bytes to distinguish `true` from `trueish`, and for every wanted number.
        self.keep_raw(&chunk[at..at + length], 32);
        if at + length < chunk.len() {
            self.end_bare(keep, at + length)?;
        }
        Ok(at + length)
    }

    fn end_bare(&mut self, keep: bool, at: usize) -> Result<(), MalformedJson> {
        self.token = JsonToken::None;
        let found = match self.raw.as_slice() {
            b"true" => FoundValue::Bool(true),
            b"false" => FoundValue::Bool(false),
            b"null" => FoundValue::Null,
            [b'-' | b'0'..=b'9', rest @ ..]
                if rest.iter().all(|byte| !byte.is_ascii_lowercase() || *byte == b'e') =>
            {
                FoundValue::Number(String::from_utf8_lossy(&self.raw).into_owned())
            }
            _ => return Err(self.malformed(at, "unknown word")),
        };
        if keep && let Some(field) = self.wanted_here() {
            self.capture(field, found);
        }
        self.value_is_over();
        Ok(())
    }

    fn continue_digest(&mut self, bytes: &[u8]) {
        let Some(digest) = &mut self.digest else { return };
        digest.hash.update(bytes);
        if self.open.len() == digest.depth {
            let (field, fingerprint) = (digest.field, digest.hash.digest());
            self.digest = None;
            self.capture(field, FoundValue::Fingerprint(fingerprint));
        }
    }

    fn begin_text(&mut self, is_key: bool, keep: usize) {
        self.raw.clear();
        self.whole = true;
        self.token = JsonToken::Text { is_key, keep, escaped: false };
    }

    fn end_key(&mut self, keep: usize) {
        self.expect = Expect::Colon;
        self.value_mask = 0;
        let mask = self.open.last().map_or(0, |container| container.mask);
        if keep == 0 || mask == 0 || !self.whole {
            return;
        }
        let key = unescape(&self.raw, true);
        self.value_mask =
            self.narrow(mask, |step| matches!(step, PathStep::Key(name) if name == key));
    }

    fn end_text(&mut self) {
        if let Some(field) = self.wanted_here() {
            let text = unescape(&self.raw, self.whole);
            let whole = self.whole;
            self.capture(field, FoundValue::Text { text, whole });
        }
        self.value_is_over();
    }

    fn keep_raw(&mut self, bytes: &[u8], limit: usize) {
        let room = limit.saturating_sub(self.raw.len());
        self.whole &= bytes.len() <= room;
        self.raw.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn close(&mut self) {
        self.open.pop();
        self.value_is_over();
    }

    fn value_is_over(&mut self) {
        self.expect = if self.open.is_empty() { Expect::Nothing } else { Expect::CommaOrEnd };
    }

    fn next_member(&mut self) {
        let Some(container) = self.open.last_mut() else {
            return;
        };
        if container.is_object {
            self.expect = Expect::Key;
        } else {
            container.element = container.element.saturating_add(1);
            let mask = container.mask;
            self.expect = Expect::Value;
            self.value_mask = self.narrow(mask, |step| step == PathStep::Each);
        }
    }

    fn in_object(&self) -> bool {
        self.open.last().is_some_and(|container| container.is_object)
    }

    /// Keeps the fields of `mask` whose path continues, from the innermost container, by `step`.
    fn narrow(&self, mask: u64, step: impl Fn(PathStep) -> bool) -> u64 {
        if mask == 0 {
            return 0;
        }
        let depth = self.open.len() - 1;
        self.fields
            .iter()
            .enumerate()
            .filter(|(index, field)| {
                mask & (1 << index) != 0 && field.path.get(depth).copied().is_some_and(&step)
            })
            .fold(0, |narrowed, (index, _)| narrowed | (1 << index))
    }

    /// Returns the field of the current value, if its path ends here.
    fn wanted_here(&self) -> Option<usize> {
        if self.value_mask == 0 {
            return None;
        }
        let depth = self.open.len();
        (0..self.fields.len()).find(|index| {
            self.value_mask & (1 << index) != 0 && self.fields[*index].path.len() == depth
        })
    }

    fn capture(&mut self, field: usize, found: FoundValue) {
        let element = self
            .open
            .iter()
            .rev()
            .find(|container| !container.is_object)
            .map_or(0, |container| container.element);
        self.captures.push(Capture { field, element, found });
    }

    fn malformed(&self, at: usize, what: &'static str) -> MalformedJson {
        MalformedJson { offset: self.consumed + at as u64, what }
    }
}

#[cfg(test)]
mod tests;
