//! How a command fails: as `error:` and `hint:`, in one place.

use std::fmt;
use std::io::{self, ErrorKind};
use std::process::ExitCode;

pub use turnbridge_system::failure::{Hinted, hinted};

use crate::output;

/// All has been said already; only the exit status is left.
#[derive(Debug)]
pub struct Silent(pub u8);

impl fmt::Display for Silent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit status {}", self.0)
    }
}

impl std::error::Error for Silent {}

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
