//! How a command fails: one place prints it, as `error:` and `hint:`.

use std::fmt;
use std::io::{self, ErrorKind};
use std::process::ExitCode;

/// An error with one thing that the user can do about it.
#[derive(Debug)]
pub struct Hinted {
    pub error: String,
    pub hint: String,
}

impl fmt::Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.error)
    }
}

impl std::error::Error for Hinted {}

pub fn hinted(error: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
    Hinted { error: error.into(), hint: hint.into() }.into()
}

#[expect(clippy::print_stderr, reason = "the one place where errors are printed")]
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
    eprintln!("error: {error:#}");
    if let Some(hinted) = error.downcast_ref::<Hinted>() {
        eprintln!("hint: {}", hinted.hint);
    }
    ExitCode::FAILURE
}
