//! Reads single values from a TOML text, and skips the rest.
//!
//! The hooks need only a few values of `config.toml`; a whole TOML parser would double their size.
//! This one knows the outline of the grammar: tables, dotted and quoted keys, inline tables, every
//! kind of string. It does not validate skipped values: `turnbridge` itself reads the file with a
//! full parser and reports errors.

use crate::scan::byte_order_mark::split_mark;

/// A value that is no string and no container, unchanged: `true`, `42`.
pub type Bare<'a> = &'a str;

/// A value in a TOML text. Strings and containers are `Other`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TomlValue<'a> {
    Bare(Bare<'a>),
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotToml;

/// Returns the value at `wanted`, a path of keys, in any notation of its tables. Returns `None` if
/// there is none.
pub fn find<'a>(text: &'a str, wanted: &[&str]) -> Result<Option<TomlValue<'a>>, NotToml> {
    let text = split_mark(text).1;
    let mut scan = TomlScan { rest: text, wanted, found: None };
    let mut header: KeyPath = KeyPath::default();
    loop {
        scan.skip_blank();
        if scan.rest.is_empty() {
            return Ok(scan.found);
        }
        if scan.eat("[") {
            let is_array = scan.eat("[");
            header = scan.key(KeyPath::default())?;
            // Elements of an array of tables are no switches.
            header.is_foreign |= is_array;
            scan.note(header, TomlValue::Other);
            scan.expect(if is_array { "]]" } else { "]" })?;
        } else {
            scan.pair(header)?;
        }
        scan.end_of_line()?;
    }
}

/// The number of wanted keys that the keys so far have matched.
#[derive(Debug, Clone, Copy, Default)]
struct KeyPath {
    matched: usize,
    /// The path leads to another value.
    is_foreign: bool,
}

struct TomlScan<'text, 'wanted> {
    rest: &'text str,
    wanted: &'wanted [&'wanted str],
    found: Option<TomlValue<'text>>,
}

impl<'text> TomlScan<'text, '_> {
    fn pair(&mut self, table: KeyPath) -> Result<(), NotToml> {
        let path = self.key(table)?;
        self.expect("=")?;
        self.value(path)
    }

    /// Reads `a . "b" . 'c'`, below `path`.
    fn key(&mut self, mut path: KeyPath) -> Result<KeyPath, NotToml> {
        loop {
            self.skip_spaces();
            let part = match self.rest.as_bytes().first() {
                Some(b'"' | b'\'') => self.quoted()?,
                _ => self
                    .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')),
            };
            // A table is no single value.
            self.note(path, TomlValue::Other);
            if self.wanted.get(path.matched) == Some(&part) {
                path.matched += 1;
            } else {
                path.is_foreign = true;
            }
            self.skip_spaces();
            if !self.eat(".") {
                return Ok(path);
            }
        }
    }

    fn value(&mut self, path: KeyPath) -> Result<(), NotToml> {
        self.skip_spaces();
        let found = match self.rest.as_bytes().first() {
            Some(b'"' | b'\'') => {
                self.string()?;
                TomlValue::Other
            }
            Some(b'[') => {
                self.array()?;
                TomlValue::Other
            }
            Some(b'{') => {
                self.inline_table(path)?;
                TomlValue::Other
            }
            _ => TomlValue::Bare(self.bare()?),
        };
        self.note(path, found);
        Ok(())
    }

    fn note(&mut self, path: KeyPath, found: TomlValue<'text>) {
        if path.matched == self.wanted.len() && !path.is_foreign {
            self.found = Some(found);
        }
    }

    fn array(&mut self) -> Result<(), NotToml> {
        self.expect("[")?;
        let nobody = KeyPath { is_foreign: true, ..KeyPath::default() };
        loop {
            self.skip_blank();
            if self.eat("]") {
                return Ok(());
            }
            self.value(nobody)?;
            self.skip_blank();
            if !self.eat(",") {
                return self.expect("]");
            }
        }
    }

    fn inline_table(&mut self, path: KeyPath) -> Result<(), NotToml> {
        self.expect("{")?;
        loop {
            self.skip_blank();
            if self.eat("}") {
                return Ok(());
            }
            self.pair(path)?;
            self.skip_blank();
            if !self.eat(",") {
                return self.expect("}");
            }
        }
    }

    fn bare(&mut self) -> Result<&'text str, NotToml> {
        let ends = |byte: u8| matches!(byte, b',' | b']' | b'}' | b'#' | b'\n' | b'\r');
        let value = self.take_while(|byte| !ends(byte)).trim_end();
        if value.is_empty() { Err(NotToml) } else { Ok(value) }
    }

    fn string(&mut self) -> Result<(), NotToml> {
        for fence in ["\"\"\"", "'''"] {
            if self.eat(fence) {
                return self.skip_past(fence, fence.starts_with('"'));
            }
        }
        self.quoted().map(|_| ())
    }

    /// Reads a string on one line, its escapes unchanged.
    fn quoted(&mut self) -> Result<&'text str, NotToml> {
        let fence = &self.rest[..1];
        self.rest = &self.rest[1..];
        let start = self.rest;
        self.skip_past(fence, fence == "\"")?;
        let text = &start[..start.len() - self.rest.len() - 1];
        if text.contains('\n') { Err(NotToml) } else { Ok(text) }
    }

    fn skip_past(&mut self, fence: &str, has_escapes: bool) -> Result<(), NotToml> {
        while !self.rest.is_empty() {
            if self.eat(fence) {
                // `""""` ends with a quote of the text.
                while fence.len() == 3 && self.eat(&fence[..1]) {}
                return Ok(());
            }
            if has_escapes {
                self.eat("\\");
            }
            let mut rest = self.rest.chars();
            rest.next();
            self.rest = rest.as_str();
        }
        Err(NotToml)
    }

    fn end_of_line(&mut self) -> Result<(), NotToml> {
        self.skip_spaces();
        self.skip_comment();
        if self.rest.is_empty() || self.eat("\n") || self.eat("\r\n") {
            Ok(())
        } else {
            Err(NotToml)
        }
    }

    /// Skips spaces, line ends and comments.
    fn skip_blank(&mut self) {
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
            if !self.rest.starts_with('#') {
                return;
            }
            self.skip_comment();
        }
    }

    fn skip_comment(&mut self) {
        if self.rest.starts_with('#') {
            self.rest = self.rest.find('\n').map_or("", |end| &self.rest[end..]);
        }
    }

    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn take_while(&mut self, accepts: impl Fn(u8) -> bool) -> &'text str {
        let end = self.rest.bytes().position(|byte| !accepts(byte)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn expect(&mut self, token: &str) -> Result<(), NotToml> {
        self.skip_spaces();
        if self.eat(token) { Ok(()) } else { Err(NotToml) }
    }

    fn eat(&mut self, token: &str) -> bool {
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(
            find(text, &["gate", "enabled"]),
            Ok(expected.map(TomlValue::Bare)),
            "in\n{text}"
        );
    }

    #[test]
    fn a_value_is_found_however_its_table_is_written() {
        check("[gate]\nenabled = false\n", Some("false"));
        check("\u{feff}[ gate ] # the gate\r\nenabled=true#on\r\n", Some("true"));
        check("gate.enabled = false", Some("false"));
        check("\"gate\" . 'enabled' = 1", Some("1"));
        check("gate = { headless = true, enabled = false }", Some("false"));
        check("gate = {\n enabled = false,\n}", Some("false"));
        check("[voice]\nen = 'x'\n\n[gate]\n# enabled = true\nenabled = false", Some("false"));
    }

    #[test]
    fn what_only_looks_like_it_is_not_it() {
        check("", None);
        check("enabled = false", None);
        check("[gate]\nheadless = true\n[board]\nenabled = false", None);
        check("[a.gate]\nenabled = false", None);
        check("[[gate]]\nenabled = false", None);
        check("\"gate.enabled\" = false", None);
        check("a = \"\"\"\n[gate]\nenabled = false\n\"\"\"", None);
        check("a = '''\n[gate]\nenabled = false\n'''\n", None);
        check("a = \"\"\"x\\\"\"\"\"\"\nb = \"\\\"\"\n[gate]\nenabled = true", Some("true"));
        check("a = [\n  \"[gate]\", # x\n  { gate.enabled = false },\n]\n", None);
        check("# [gate]\n# enabled = false", None);
        for text in ["[gate]\nenabled = 'false'", "[gate.enabled]\nx = 1", "gate.enabled.x = false"]
        {
            assert_eq!(find(text, &["gate", "enabled"]), Ok(Some(TomlValue::Other)), "{text}");
        }
    }

    #[test]
    fn a_path_may_be_of_any_length() {
        let text = "[destinations.dm]\nenabled = false\n[destinations]\nx = 1";
        let found = |path: &[&str]| find(text, path).unwrap();
        assert_eq!(found(&["destinations", "dm", "enabled"]), Some(TomlValue::Bare("false")));
        assert_eq!(found(&["destinations", "dm"]), Some(TomlValue::Other));
        assert_eq!(found(&["destinations", "x"]), Some(TomlValue::Bare("1")));
        assert_eq!(found(&["x"]), None);
    }

    #[test]
    fn what_is_no_toml_is_refused() {
        for text in [
            "[gate",
            "[gate]\nenabled",
            "[gate]\nenabled =",
            "[gate]\nenabled = \n",
            "[gate] enabled = false",
            "a = \"open",
            "a = \"\"\"open\"\"",
            "a = [1, 2",
            "a = { b = 1",
            "a = 'two\nlines'",
            "{\"gate\":{\"enabled\":false}}",
        ] {
            assert_eq!(find(text, &["gate", "enabled"]), Err(NotToml), "{text}");
        }
    }
}
