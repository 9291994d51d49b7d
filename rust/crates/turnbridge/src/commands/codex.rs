//! `turnbridge codex`: what Turnbridge makes of Codex's own files. Reads only.

mod classify;
mod state;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Show what Turnbridge makes of Codex's files
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    State(state::Arguments),
    Classify(classify::Arguments),
}

pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Command::State(arguments) => state::run(arguments),
        Command::Classify(arguments) => classify::run(arguments),
    }
}
