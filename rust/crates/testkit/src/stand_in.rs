//! Installs a program that stands in for another one under its name: it records the arguments of
//! each call and then runs a script of the test.

use std::fs;
use std::path::{Path, PathBuf};

/// The separators after each argument and each call, which no argument contains.
const ARGUMENT_END: char = '\u{1f}';
const CALL_END: char = '\u{1e}';

/// An installed stand-in.
#[derive(Debug)]
pub struct StandIn {
    program: PathBuf,
    calls: PathBuf,
}

impl StandIn {
    /// Creates the program. `answer` is a POSIX shell script with the arguments in `$@`. The folder
    /// must be on the PATH of the caller.
    #[track_caller]
    pub fn new(folder: &Path, name: &str, answer: &str) -> StandIn {
        fs::create_dir_all(folder).unwrap();
        let program = folder.join(name);
        let calls = folder.join(format!("{name}.calls"));
        let record = format!(
            "{{ for argument in \"$@\"; do printf '%s\\037' \"$argument\"; done; printf '\\036'; }} >> '{}'",
            calls.display()
        );
        crate::program::write_program(&program, &format!("#!/bin/sh\n{record}\n{answer}\n"));
        StandIn { program, calls }
    }

    /// Returns the path of the stand-in.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Returns the arguments of each call so far.
    #[track_caller]
    pub fn calls(&self) -> Vec<Vec<String>> {
        let text = fs::read_to_string(&self.calls).unwrap_or_default();
        let call =
            |call: &str| call.split_terminator(ARGUMENT_END).map(str::to_owned).collect::<Vec<_>>();
        text.split_terminator(CALL_END).map(call).collect()
    }
}
