//! Runs the programs of service managers with a timeout. It passes arguments only, and uses no
//! shell.

use std::io::ErrorKind;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, anyhow};
use turnbridge_core::text::one_line::one_line;
use turnbridge_store::test_switch::{self, TestSwitch};

use crate::programs::{self, ProgramAnswer};

/// Returns the timeout. A manager that stops a service waits for it, and a daemon that waits for
/// Slack has half a minute.
pub fn timeout() -> Duration {
    let chosen = test_switch::parsed(TestSwitch::ServiceTimeout);
    chosen.map_or(Duration::from_secs(60), Duration::from_millis)
}

/// Runs the program and returns its answer, even a failure.
pub fn ask(program: &str, arguments: &[&str]) -> Result<ProgramAnswer> {
    let path = programs::find(program, None)
        .ok_or_else(|| anyhow!("there is no `{program}` on the PATH"))?;
    programs::ask(Command::new(path).args(arguments), timeout()).map_err(|error| {
        let shown = shown(program, arguments);
        match error.kind() {
            ErrorKind::TimedOut => anyhow!("`{shown}` did not answer within {:?}", timeout()),
            _ => anyhow!("could not run `{shown}`: {error}"),
        }
    })
}

/// Runs the program. Returns an error unless it succeeds.
pub fn demand(program: &str, arguments: &[&str]) -> Result<()> {
    let answer = ask(program, arguments)?;
    if answer.status.success() {
        return Ok(());
    }
    Err(refused(program, arguments, &answer))
}

/// Returns the error for a failed call, with the errors or the output of the program.
pub fn refused(program: &str, arguments: &[&str], answer: &ProgramAnswer) -> anyhow::Error {
    let said = one_line(&String::from_utf8_lossy(&answer.stderr));
    let said = if said.is_empty() { one_line(&answer.text()) } else { said };
    let ended =
        answer.status.code().map_or("a signal".to_owned(), |code| format!("exit code {code}"));
    let separator = if said.is_empty() { "" } else { ": " };
    anyhow!("`{}` failed ({ended}){separator}{said}", shown(program, arguments))
}

fn shown(program: &str, arguments: &[&str]) -> String {
    [&[program], arguments].concat().join(" ")
}
