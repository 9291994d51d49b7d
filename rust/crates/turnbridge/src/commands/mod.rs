//! The commands, one file each.

mod completions;
mod gate;
mod mcp;
mod sessions;
mod speak;
mod voice;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Keeps you in touch with coding agents that work without you
#[derive(Debug, Parser)]
#[command(name = "turnbridge", version, arg_required_else_help = true, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Sessions(sessions::Arguments),
    Gate(gate::Arguments),
    Speak(speak::Arguments),
    Voice(voice::Arguments),
    Mcp(mcp::Arguments),
    Completions(completions::Arguments),
}

impl Cli {
    pub fn run(self) -> Result<()> {
        match self.command {
            Command::Sessions(arguments) => sessions::run(&arguments),
            Command::Gate(arguments) => gate::run(&arguments),
            Command::Speak(arguments) => speak::run(&arguments),
            Command::Voice(arguments) => voice::run(&arguments),
            Command::Mcp(arguments) => mcp::run(&arguments),
            Command::Completions(arguments) => completions::run(&arguments),
        }
    }
}
