//! `config.toml`: what the user has decided. Everything in it may be absent.
//!
//! Reading says exactly what is wrong and where; writing (`edit`) changes one value and keeps
//! every other byte.

mod edit;

use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context, Result};
use toml_edit::{Document, Item, TableLike};

use crate::failure::{hinted, note};

pub use edit::set;

/// Words per minute that every engine can be asked for.
pub const RATES: RangeInclusive<i64> = 50..=600;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Config {
    pub gate: Gate,
    pub voice: Voice,
}

/// Absent: as if there were no such line; others decide then.
#[derive(Debug, Default, PartialEq, Eq)]
#[allow(dead_code, reason = "so far its values are only checked")]
pub struct Gate {
    pub enabled: Option<bool>,
    pub headless: Option<bool>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Voice {
    pub mute: bool,
    /// Words per minute.
    pub rate: Option<u16>,
    /// The engine's name of the voice for English.
    pub en: Option<String>,
    /// The engine's name of the voice for Japanese.
    pub ja: Option<String>,
}

impl Config {
    pub fn read() -> Result<Config> {
        let path = path()?;
        let Some(text) = read_text(&path)? else { return Ok(Config::default()) };
        let (config, unknown) = parse(&text).map_err(|problem| problem.in_file(&path))?;
        for key in unknown {
            note(&format!("`{}`: there is no `{key}`; it is ignored", path.display()));
        }
        Ok(config)
    }

    /// For those who have something to do with or without a config.
    pub fn read_or_default() -> Config {
        Config::read().unwrap_or_else(|error| {
            note(&format!("{error:#}; going on as if there were none"));
            Config::default()
        })
    }
}

pub fn path() -> Result<PathBuf> {
    turnbridge_store::paths::config_file().ok_or_else(|| {
        let variable = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        hinted("could not find your home folder", format!("set {variable} to it"))
    })
}

/// `None` when there is no such file.
fn read_text(path: &Path) -> Result<Option<String>> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes.with_context(|| format!("could not read `{}`", path.display()))?,
    };
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let end = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..end]).into_owned();
        Problem::at(&before, end..end, "no UTF-8").in_file(path)
    })
}

/// What is wrong, and where. Lines and columns count from 1, columns in characters.
#[derive(Debug)]
struct Problem {
    line: usize,
    column: usize,
    message: String,
}

impl Problem {
    fn at(text: &str, span: Range<usize>, message: impl Into<String>) -> Problem {
        let before = text.get(..span.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before[line_start..].trim_start_matches('\u{feff}').chars().count() + 1;
        let line = before.matches('\n').count() + 1;
        Problem { line, column, message: message.into() }
    }

    fn of_syntax(text: &str, error: &toml_edit::TomlError) -> Problem {
        // The message may have several lines; the position is ours.
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        Problem::at(text, error.span().unwrap_or(0..0), message)
    }

    fn in_file(self, path: &Path) -> anyhow::Error {
        let Problem { line, column, message } = self;
        let path = path.display();
        hinted(
            format!("could not read `{path}`: {message} at line {line}, column {column}"),
            "the file was left as it was; repair that line",
        )
    }
}

/// The config and the keys that mean nothing. Sections of others are not looked at.
fn parse(text: &str) -> Result<(Config, Vec<String>), Problem> {
    let document = Document::parse(text).map_err(|error| Problem::of_syntax(text, &error))?;
    let mut gate = Section::of(&document, "gate", text)?;
    let gate_found =
        Gate { enabled: gate.boolean("enabled")?, headless: gate.boolean("headless")? };
    let mut voice = Section::of(&document, "voice", text)?;
    let voice_found = Voice {
        mute: voice.boolean("mute")?.unwrap_or_default(),
        rate: voice.rate("rate")?,
        en: voice.name("en")?,
        ja: voice.name("ja")?,
    };
    let unknown = gate.unknown().chain(voice.unknown()).collect();
    Ok((Config { gate: gate_found, voice: voice_found }, unknown))
}

struct Section<'a> {
    name: &'static str,
    table: Option<&'a dyn TableLike>,
    text: &'a str,
    known: Vec<&'static str>,
}

impl<'a> Section<'a> {
    fn of(
        document: &'a Document<&str>,
        name: &'static str,
        text: &'a str,
    ) -> Result<Section<'a>, Problem> {
        let table = document.get(name).map(|item| table_of(item, name, text)).transpose()?;
        Ok(Section { name, table, text, known: Vec::new() })
    }

    fn get(&mut self, key: &'static str) -> Option<&'a Item> {
        self.known.push(key);
        self.table?.get(key)
    }

    fn wrong(&self, item: &Item, key: &str, expected: &str) -> Problem {
        let message = format!("`{}.{key}` must be {expected}", self.name);
        Problem::at(self.text, item.span().unwrap_or(0..0), message)
    }

    fn boolean(&mut self, key: &'static str) -> Result<Option<bool>, Problem> {
        let Some(item) = self.get(key) else { return Ok(None) };
        item.as_bool().map(Some).ok_or_else(|| self.wrong(item, key, "`true` or `false`"))
    }

    fn rate(&mut self, key: &'static str) -> Result<Option<u16>, Problem> {
        let Some(item) = self.get(key) else { return Ok(None) };
        let rate = item.as_integer().filter(|rate| RATES.contains(rate));
        let rate = rate.and_then(|rate| u16::try_from(rate).ok());
        let expected = format!("a number from {} to {}", RATES.start(), RATES.end());
        rate.map(Some).ok_or_else(|| self.wrong(item, key, &expected))
    }

    fn name(&mut self, key: &'static str) -> Result<Option<String>, Problem> {
        let Some(item) = self.get(key) else { return Ok(None) };
        let name = item.as_str().and_then(|name| check_voice_name(name).ok());
        name.map(Some).ok_or_else(|| self.wrong(item, key, "the name of a voice"))
    }

    fn unknown(self) -> impl Iterator<Item = String> {
        let keys = self.table.into_iter().flat_map(|table| table.iter());
        keys.filter(move |(key, _)| !self.known.contains(key))
            .map(move |(key, _)| format!("{}.{key}", self.name))
    }
}

fn table_of<'a>(item: &'a Item, name: &str, text: &str) -> Result<&'a dyn TableLike, Problem> {
    item.as_table_like().ok_or_else(|| {
        let span = item.span().unwrap_or(0..0);
        Problem::at(text, span, format!("`{name}` must be a section, `[{name}]`"))
    })
}

/// A voice's name is an argument of its own; it must not look like an option.
pub fn check_voice_name(name: &str) -> Result<String, String> {
    match name {
        "" => Err("the name is empty".to_owned()),
        _ if name.starts_with('-') => Err("a name does not begin with `-`".to_owned()),
        _ if name.contains(char::is_control) => Err("the name has control characters".to_owned()),
        _ => Ok(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of `text`: values, unknown keys, or the problem.
    fn shown(text: &str) -> String {
        match parse(text) {
            Ok((Config { gate, voice }, unknown)) => format!("{gate:?} {voice:?} {unknown:?}"),
            Err(Problem { line, column, message }) => format!("{line}:{column} {message}"),
        }
    }

    #[test]
    fn what_is_there_is_read_and_the_rest_is_as_if_there_were_no_file() {
        assert_eq!(parse("").unwrap(), (Config::default(), vec![]));
        let text = "\u{feff}[voice] # mine\r\nmute = true\r\nja = 'Kyoko'\r\n[slack]\r\nx = 1\r\n";
        insta::assert_snapshot!(shown(text), @r#"Gate { enabled: None, headless: None } Voice { mute: true, rate: None, en: None, ja: Some("Kyoko") } []"#);
        let text = "gate.enabled = false\nvoice = { rate = 200, en = \"Bad News\" }\n";
        insta::assert_snapshot!(shown(text), @r#"Gate { enabled: Some(false), headless: None } Voice { mute: false, rate: Some(200), en: Some("Bad News"), ja: None } []"#);
        insta::assert_snapshot!(shown("[gate]\nenable = 1\n[voice]\nspeed = 3"), @r#"Gate { enabled: None, headless: None } Voice { mute: false, rate: None, en: None, ja: None } ["gate.enable", "voice.speed"]"#);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        insta::assert_snapshot!(shown("[voice]\nrate = \n"), @"2:8 string values must be quoted, expected literal string");
        insta::assert_snapshot!(shown("\u{feff}[voice\n"), @"1:7 unclosed table, expected `]`");
        insta::assert_snapshot!(shown("# あ\n[voice]\nen = \"あ\" x\n"), @"3:10 unexpected key or value, expected newline, `#`");
        insta::assert_snapshot!(shown("[voice]\nrate = 49"), @"2:8 `voice.rate` must be a number from 50 to 600");
        insta::assert_snapshot!(shown("[voice]\r\n  rate = '200'"), @"2:10 `voice.rate` must be a number from 50 to 600");
        insta::assert_snapshot!(shown("[voice]\nja = '-x'"), @"2:6 `voice.ja` must be the name of a voice");
        insta::assert_snapshot!(shown("[gate]\nenabled = 'no'"), @"2:11 `gate.enabled` must be `true` or `false`");
        insta::assert_snapshot!(shown("x = 1\ngate = true"), @"2:8 `gate` must be a section, `[gate]`");
        insta::assert_snapshot!(shown("[[voice]]\nmute = true"), @"1:1 `voice` must be a section, `[voice]`");
        insta::assert_snapshot!(shown("[voice]\nmute = true\nmute = true"), @"3:1 duplicate key");
    }
}
