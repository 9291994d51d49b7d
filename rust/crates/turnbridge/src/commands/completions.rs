//! `turnbridge completions SHELL`: prints a completion script.

use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::output;

/// Print a completion script for your shell
///
/// For example: turnbridge completions zsh > ~/.zfunc/_turnbridge
#[derive(Debug, Args)]
pub struct Arguments {
    shell: Shell,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut super::Cli::command(), "turnbridge", &mut script);
    std::io::Write::write_all(&mut output::raw_stdout(), &script)?;
    Ok(())
}
