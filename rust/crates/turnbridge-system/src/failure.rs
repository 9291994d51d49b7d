//! Defines `Hinted`: an error with one remedy for the user and the exit code of the command. The
//! command line prints both texts, and the board shows them. No code parses them from a text.

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

/// A callback for facts that the user should know but that are no failure. The caller handles them:
/// the command line prints a `note:`.
pub type Remark = fn(&str);

/// Returns an error with a hint, and with the exit code 1.
pub fn hinted(error: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
    hinted_with_code(1, error, hint)
}

/// Returns an error with an exit code that callers of a command distinguish; the command's `--help`
/// lists its codes.
pub fn hinted_with_code(
    exit_code: u8,
    error: impl Into<String>,
    hint: impl Into<String>,
) -> anyhow::Error {
    Hinted { error: error.into(), hint: hint.into(), exit_code }.into()
}
