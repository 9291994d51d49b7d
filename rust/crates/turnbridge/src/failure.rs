//! How a command fails: as `error:` and `hint:`, in one place.

use std::fmt;
use std::io::{self, ErrorKind};
use std::process::ExitCode;

use crate::output;

/// An error with one thing that the user can do about it.
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

/// All has been said already; only the exit status is left.
#[derive(Debug)]
pub struct Silent(pub u8);

impl fmt::Display for Silent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit status {}", self.0)
    }
}

impl std::error::Error for Silent {}

pub fn hinted(error: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
    hinted_with_code(1, error, hint)
}

/// For what a caller has to tell apart; the command's `--help` lists its codes.
pub fn hinted_with_code(
    exit_code: u8,
    error: impl Into<String>,
    hint: impl Into<String>,
) -> anyhow::Error {
    Hinted { error: error.into(), hint: hint.into(), exit_code }.into()
}

pub fn report(result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else {
        return ExitCode::SUCCESS;
    };
    // `turnbridge sessions | head`: whoever reads has enough.
    let is_broken_pipe = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    };
    if error.chain().any(is_broken_pipe) {
        return ExitCode::SUCCESS;
    }
    if let Some(Silent(code)) = error.downcast_ref() {
        return ExitCode::from(*code);
    }
    output::tell("error", &format!("{error:#}"));
    if let Some(hinted) = error.downcast_ref::<Hinted>() {
        output::tell("hint", &hinted.hint);
        return ExitCode::from(hinted.exit_code);
    }
    ExitCode::FAILURE
}

/// Something worth knowing that is no failure.
pub fn note(text: &str) {
    output::tell("note", text);
}

/// Says what somebody has to read while a command waits for them. A terminal that is gone is no reason
/// to stop: the command has to clean up behind itself.
pub fn tell(text: &str) {
    use std::io::Write;
    let _ = writeln!(output::stderr(), "{text}");
}
