//! `turnbridge codex`: what Turnbridge makes of Codex's own files. Reads only, but for `notify`, which
//! changes the one key of that name.

mod classify;
pub mod notify;
mod state;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Show what Turnbridge makes of Codex's files, or have Codex call it
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    State(state::Arguments),
    Classify(classify::Arguments),
    Notify(notify::Arguments),
}

pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Command::State(arguments) => state::run(arguments),
        Command::Classify(arguments) => classify::run(arguments),
        Command::Notify(arguments) => notify::run(arguments),
    }
}
