//! An error with one thing that the user can do about it. The command line prints both, the board shows
//! them; nobody reads them back from a text.

use std::fmt;

#[derive(Debug)]
pub struct Hinted {
    pub error: String,
    pub hint: String,
    pub exit_code: u8,
}

impl fmt::Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.error)
    }
}

impl std::error::Error for Hinted {}

/// Where a function tells what is worth knowing and is no failure. Whoever calls it decides: the command
/// line prints a `note:`.
pub type Remark = fn(&str);

pub fn hinted(error: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
    hinted_with_code(1, error, hint)
}

/// For what a caller of a command has to tell apart; the command's `--help` lists its codes.
pub fn hinted_with_code(
    exit_code: u8,
    error: impl Into<String>,
    hint: impl Into<String>,
) -> anyhow::Error {
    Hinted { error: error.into(), hint: hint.into(), exit_code }.into()
}
