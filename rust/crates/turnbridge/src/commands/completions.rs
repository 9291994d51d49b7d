//! `turnbridge completions SHELL`: prints a completion script.

use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::output;

/// Print a completion script for your shell
///
/// For example: turnbridge completions zsh > ~/.zfunc/_turnbridge
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    shell: Shell,
}

pub fn run(arguments: &CompletionsArgs) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut super::Cli::command(), "turnbridge", &mut script);
    std::io::Write::write_all(&mut output::raw_stdout(), &script)?;
    Ok(())
}
