//! `turnbridge watch`: all sessions, live, on the terminal; with `--json`, for other programs.
//! Reads our files only and works with the daemon dead; a reply waits for it then.

mod bell;
mod filter;
mod json;
mod key;
mod last_turns;
mod model;
mod reply;
mod run;
#[cfg(test)]
mod sample;
mod terminal;
mod text_box;
mod view;

use anyhow::Result;
use clap::Args;
use model::Shown;

/// Watch your agents live, and answer them
///
/// Those that wait for you are on top. `?` shows the keys.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Print a JSON line for each live session, then for each change (docs/schemas/watch.schema.json)
    #[arg(long)]
    json: bool,
    /// Show stopped sessions too
    #[arg(long, short)]
    all: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let paths = super::state_paths()?;
    let shown = if arguments.all { Shown::All } else { Shown::Live };
    match arguments.json {
        true => json::run(paths, shown),
        false => run::run(paths, shown),
    }
}
