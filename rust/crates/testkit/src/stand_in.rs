//! A program that stands in for one of the system's: it writes down how it was called and answers as a script says.

use std::fs;
use std::path::{Path, PathBuf};

/// Between two arguments, and behind the last one of a call: nobody writes these.
const ARGUMENT_END: char = '\u{1f}';
const CALL_END: char = '\u{1e}';

#[derive(Debug)]
pub struct StandIn {
    program: PathBuf,
    calls: PathBuf,
}

impl StandIn {
    /// `answer` is what it does then, as a POSIX shell script with the arguments in `$@`. Its folder belongs
    /// on the PATH of who is to find it.
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

    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The arguments of each call so far.
    #[track_caller]
    pub fn calls(&self) -> Vec<Vec<String>> {
        let text = fs::read_to_string(&self.calls).unwrap_or_default();
        let call =
            |call: &str| call.split_terminator(ARGUMENT_END).map(str::to_owned).collect::<Vec<_>>();
        text.split_terminator(CALL_END).map(call).collect()
    }
}
