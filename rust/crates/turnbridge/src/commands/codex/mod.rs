//! `turnbridge codex`: shows how Turnbridge reads Codex's files and command lines. Only `notify`
//! changes a file: the key of that name in Codex's `config.toml`.

mod classify;
pub mod notify;
mod state;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Show what Turnbridge makes of Codex's files, or have Codex call it
#[derive(Debug, Args)]
pub struct CodexArgs {
    #[command(subcommand)]
    command: CodexAction,
}

#[derive(Debug, Subcommand)]
enum CodexAction {
    State(state::CodexStateArgs),
    Classify(classify::CodexClassifyArgs),
    Notify(notify::CodexNotifyArgs),
}

pub fn run(arguments: &CodexArgs) -> Result<()> {
    match &arguments.command {
        CodexAction::State(arguments) => state::run(arguments),
        CodexAction::Classify(arguments) => classify::run(arguments),
        CodexAction::Notify(arguments) => notify::run(arguments),
    }
}
