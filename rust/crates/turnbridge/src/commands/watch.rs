//! `turnbridge watch`: shows all sessions live on the terminal; with `--json`, for other programs.

use anyhow::Result;
use clap::Args;

use crate::watch::model::SessionFilter;
use crate::watch::{json, run as terminal};

/// Watch your agents live, and answer them
///
/// Those that wait for you are on top. `?` shows the keys.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Print a JSON line for each live session, then for each change (docs/schemas/watch.schema.json)
    #[arg(long)]
    json: bool,
    /// Show stopped sessions too
    #[arg(long, short)]
    all: bool,
}

pub fn run(arguments: &WatchArgs) -> Result<()> {
    let paths = super::state_paths()?;
    let shown = if arguments.all { SessionFilter::All } else { SessionFilter::Live };
    match arguments.json {
        true => json::run(paths, shown),
        false => terminal::run(paths, shown),
    }
}
