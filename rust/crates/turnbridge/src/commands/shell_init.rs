//! `turnbridge shell-init SHELL`: prints the script by which a shell reports what happens in its
//! pane.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use turnbridge_system::programs;

use crate::output;
use crate::shell_init::{ShellName, script};

/// Print the script that ties your shell to its pane
///
/// zsh, bash:   eval "$(turnbridge shell-init zsh)"
/// fish:        turnbridge shell-init fish | source
/// PowerShell:  turnbridge shell-init powershell | Out-String | Invoke-Expression
///
/// at the end of the shell's start-up file. See docs/panes.md.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ShellInitArgs {
    shell: ShellName,
}

pub fn run(arguments: &ShellInitArgs) -> Result<()> {
    let program = programs::own_text("turnbridge")?;
    let script = script(arguments.shell, &program);
    output::raw_stdout().write_all(script.as_bytes())?;
    Ok(())
}
