//! Reads typed values from one section of the config, and lists the keys that no caller has read.

use std::fmt;
use std::ops::RangeInclusive;

use toml_edit::{Document, Item, TableLike};
use turnbridge_core::text::nearest_name::nearest;
use turnbridge_core::text::token_mask::without_tokens;

use crate::problem::Problem;

/// A section while it is read. It records which keys were read.
pub struct Section<'a> {
    /// The name as a user would write it: `destinations.dm`; empty for the keys above all sections.
    name: String,
    table: Option<&'a dyn TableLike>,
    text: &'a str,
    known: Vec<&'static str>,
}

impl<'a> Section<'a> {
    /// Returns the section of the keys above all sections.
    pub fn top(document: &'a Document<&str>, text: &'a str) -> Section<'a> {
        let table: &dyn TableLike = document.as_table();
        Section { name: String::new(), table: Some(table), text, known: Vec::new() }
    }

    /// Returns the section at `path`, which is empty if it does not exist. Returns an error if the
    /// path leads to another value.
    pub fn of(
        document: &'a Document<&str>,
        path: &[&str],
        text: &'a str,
    ) -> Result<Section<'a>, Problem> {
        let mut table: Option<&dyn TableLike> = Some(document.as_table());
        for (depth, key) in path.iter().enumerate() {
            let item = table.and_then(|table| table.get(key));
            let name = path[..=depth].join(".");
            table = item.map(|item| table_of(item, &name, text)).transpose()?;
        }
        Ok(Section { name: path.join("."), table, text, known: Vec::new() })
    }

    fn get(&mut self, key: &'static str) -> Option<&'a Item> {
        self.known.push(key);
        self.table?.get(key)
    }

    fn path_of(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }

    /// Returns the error of a key: its name and `what`, at the place of its value.
    pub fn problem(&self, key: &str, what: &str) -> Problem {
        let span = self.table.and_then(|table| table.get(key)?.span()).unwrap_or(0..0);
        Problem::at(self.text, span, format!("`{}` {what}", self.path_of(key)))
    }

    fn wrong(&self, key: &str, expected: &str) -> Problem {
        self.problem(key, &format!("must be {expected}"))
    }

    pub fn boolean(&mut self, key: &'static str) -> Result<Option<bool>, Problem> {
        let Some(item) = self.get(key) else { return Ok(None) };
        item.as_bool().map(Some).ok_or_else(|| self.wrong(key, "`true` or `false`"))
    }

    /// Reads a whole number. Returns an error if it is outside `range`.
    pub fn number(
        &mut self,
        key: &'static str,
        range: RangeInclusive<i64>,
    ) -> Result<Option<i64>, Problem> {
        let Some(item) = self.get(key) else { return Ok(None) };
        let number = item.as_integer().filter(|number| range.contains(number));
        let expected = format!("a number from {} to {}", range.start(), range.end());
        number.map(Some).ok_or_else(|| self.wrong(key, &expected))
    }

    /// Reads a whole number by `check`. `expected` is for the error if `check` returns `None`.
    pub fn checked_number<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        check: impl Fn(i64) -> Option<T>,
    ) -> Result<Option<T>, Problem> {
        let Some(item) = self.get(key) else { return Ok(None) };
        let number = item.as_integer().and_then(check);
        number.map(Some).ok_or_else(|| self.wrong(key, expected))
    }

    pub fn text(&mut self, key: &'static str) -> Result<Option<String>, Problem> {
        self.checked(key, "a text", |text| Ok::<_, String>(text.to_owned()))
    }

    /// Reads a text. Returns an error if it is none of `values`.
    pub fn one_of(
        &mut self,
        key: &'static str,
        values: &[&str],
    ) -> Result<Option<String>, Problem> {
        let quoted: Vec<_> = values.iter().map(|value| format!("`\"{value}\"`")).collect();
        let check = |text: &str| match values.contains(&text) {
            true => Ok(text.to_owned()),
            false => Err(String::new()),
        };
        let expected = match quoted.split_last() {
            Some((last, others)) if !others.is_empty() => {
                format!("{} or {last}", others.join(", "))
            }
            _ => quoted.concat(),
        };
        self.checked(key, &expected, check)
    }

    /// Reads a text by `check`. `expected` is for the error if `check` fails.
    pub fn checked<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        check: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, Problem> {
        let Some(item) = self.get(key) else { return Ok(None) };
        let value = item.as_str().and_then(|text| check(text).ok());
        value.map(Some).ok_or_else(|| self.wrong(key, expected))
    }

    /// Reads a list of texts. Returns an error if one of them is invalid.
    pub fn list<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        check: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<Vec<T>>, Problem> {
        let Some(item) = self.get(key) else { return Ok(None) };
        let values = item.as_array().and_then(|array| {
            array.iter().map(|value| check(value.as_str()?).ok()).collect::<Option<Vec<T>>>()
        });
        values.map(Some).ok_or_else(|| self.wrong(key, expected))
    }

    /// Returns the keys that exist but were not read or marked as known.
    pub fn unknown(self) -> Vec<Unknown> {
        let keys = self.table.into_iter().flat_map(|table| table.iter());
        keys.filter(|(key, _)| !self.known.contains(key))
            .map(|(key, _)| Unknown {
                key: self.path_of(&without_tokens(key)),
                meant: nearest(key, &self.known).map(|known| self.path_of(known)),
            })
            .collect()
    }

    /// Marks names as known that other code reads, such as those of sections.
    pub fn know(&mut self, names: &[&'static str]) {
        self.known.extend(names);
    }
}

/// A key or a section without a meaning. It may belong to a later version, or be a typing mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// The key with its section: `voice.sped`.
    pub key: String,
    /// The nearest known name.
    pub meant: Option<String>,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.key)?;
        self.meant.as_ref().map_or(Ok(()), |meant| write!(f, " (did you mean `{meant}`?)"))
    }
}

/// Returns the section that an item is. Returns an error if it is another value.
pub fn table_of<'a>(item: &'a Item, name: &str, text: &str) -> Result<&'a dyn TableLike, Problem> {
    item.as_table_like().ok_or_else(|| {
        let span = item.span().unwrap_or(0..0);
        Problem::at(text, span, format!("`{name}` must be a section, `[{name}]`"))
    })
}
