//! Defines the error of a config that cannot be read, parsed or written, with its place in the
//! file.

use std::fmt;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;

use turnbridge_core::scan::byte_order_mark::{SECOND_MARK, has_second_mark, split_mark};
use turnbridge_core::text::token_mask::without_tokens;
use turnbridge_store::state::folder_trust::Untrusted;

/// An error of the config, with a hint for the user. Lines and columns count from 1, columns in
/// characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    message: String,
    place: Option<(usize, usize)>,
    file: Option<String>,
    pub hint: String,
}

impl Problem {
    /// Returns the error of a place in `text`.
    pub(crate) fn at(text: &str, span: Range<usize>, message: impl Into<String>) -> Problem {
        let before = text.get(..span.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = split_mark(&before[line_start..]).1.chars().count() + 1;
        let line = before.matches('\n').count() + 1;
        Problem {
            message: message.into(),
            place: Some((line, column)),
            file: None,
            hint: "the file was left as it was; repair that line".to_owned(),
        }
    }

    /// Returns the error of a text that is no TOML.
    pub(crate) fn of_syntax(text: &str, error: &toml_edit::TomlError) -> Problem {
        // The message may have several lines. `Problem` adds the position itself.
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        Problem::at(text, error.span().unwrap_or(0..0), message)
    }

    /// Returns an error for a second byte order mark, which toml_edit would report as an invalid
    /// key.
    pub(crate) fn check_mark(text: &str) -> Result<(), Problem> {
        match has_second_mark(text) {
            true => Err(Problem::at(text, 0..0, SECOND_MARK)),
            false => Ok(()),
        }
    }

    /// Returns the error of a value that is valid in the file but does not work.
    pub(crate) fn of_value(message: String, hint: &str) -> Problem {
        Problem { message, place: None, file: None, hint: hint.to_owned() }
    }

    /// Returns the error of a failed file operation. `what` is a verb, such as `read`.
    pub(crate) fn of_file(what: &str, path: &Path, error: &io::Error) -> Problem {
        Problem {
            message: format!("could not {what} `{}`: {error}", path.display()),
            place: None,
            file: None,
            hint: "look at the file's owner and permissions".to_owned(),
        }
    }

    /// Returns the error of a file that another user could have changed.
    pub(crate) fn of_access(untrusted: &Untrusted) -> Problem {
        Problem { message: untrusted.to_string(), place: None, file: None, hint: untrusted.hint() }
    }

    /// Returns the error of an unknown home folder.
    pub(crate) fn no_home() -> Problem {
        let variable = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        Problem {
            message: "could not find your home folder".to_owned(),
            place: None,
            file: None,
            hint: format!("set {variable} to it"),
        }
    }

    /// Adds the file's path to the message.
    pub(crate) fn in_file(self, path: &Path) -> Problem {
        Problem { file: Some(path.display().to_string()), ..self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "could not read `{file}`: ")?;
        }
        // The message contains keys, and a typing mistake can make a token a key.
        f.write_str(&without_tokens(&self.message))?;
        match self.place {
            Some((line, column)) => write!(f, " at line {line}, column {column}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Problem {}

/// Reads the file. Returns `None` if it does not exist.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, Problem> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        bytes => bytes.map_err(|error| Problem::of_file("read", path, &error))?,
    };
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let end = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..end]).into_owned();
        Problem::at(&before, end..end, "no UTF-8").in_file(path)
    })
}
