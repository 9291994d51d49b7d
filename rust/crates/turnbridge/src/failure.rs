//! Prints the failure of a command as `error:` and `hint:` lines, and returns the exit code. A
//! closed pipe counts as success, and a `SilentFailure` prints nothing. Also prints notes, and
//! texts for a user who waits.

use std::fmt;
use std::io::{self, ErrorKind};
use std::process::ExitCode;

pub use turnbridge_system::failure::{Hinted, hinted};

use crate::output;

/// A failure whose message was already printed; only the exit status remains.
#[derive(Debug)]
pub struct SilentFailure(pub u8);

impl fmt::Display for SilentFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit status {}", self.0)
    }
}

impl std::error::Error for SilentFailure {}

/// Prints a failure with its hint, and returns the exit code. A closed pipe counts as success.
pub fn report(result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else {
        return ExitCode::SUCCESS;
    };
    // `turnbridge sessions | head`: the reader has closed the pipe.
    let is_broken_pipe = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    };
    if error.chain().any(is_broken_pipe) {
        return ExitCode::SUCCESS;
    }
    if let Some(SilentFailure(code)) = error.downcast_ref() {
        return ExitCode::from(*code);
    }
    output::tell("error", &format!("{error:#}"));
    if let Some(hinted) = error.downcast_ref::<Hinted>() {
        output::tell("hint", &hinted.hint);
        return ExitCode::from(hinted.exit_code);
    }
    ExitCode::FAILURE
}

/// Prints information that is no failure.
pub fn note(text: &str) {
    output::tell("note", text);
}

/// Prints a text to stderr that the user needs while a command waits. An error is ignored, because
/// the command must still clean up if its terminal has gone.
pub fn tell(text: &str) {
    use std::io::Write;
    let _ = writeln!(output::stderr(), "{text}");
}
