//! `turnbridge routes`: lists which session each Slack thread belongs to, or removes old entries.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use serde_json::json;
use turnbridge_core::notices::route::Route;
use turnbridge_core::notices::route_wire::route_json;
use turnbridge_core::text::visible_text::visible_line;
use turnbridge_core::timestamp::time_text;
use turnbridge_store::clock;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::{outbox, routes};

use crate::failure::hinted;
use crate::output;

/// List or prune which session a Slack thread belongs to
///
/// Without a command: `list`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct RoutesArgs {
    #[command(subcommand)]
    action: Option<RoutesAction>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum RoutesAction {
    /// List them, oldest first
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Forget old ones; replies in their threads reach nobody any more
    Prune {
        /// Older than so many days
        #[arg(long, value_name = "N", default_value_t = 90)]
        days: u32,
    },
}

pub fn run(arguments: &RoutesArgs) -> Result<()> {
    let paths = super::state_paths()?;
    match &arguments.action {
        None => list(&paths, arguments.json),
        Some(RoutesAction::List { json }) => list(&paths, *json),
        Some(RoutesAction::Prune { days }) => prune(&paths, *days),
    }
}

fn list(paths: &StatePaths, as_json: bool) -> Result<()> {
    let routes = routes::read(paths).context("could not read the routes")?;
    let mut out = output::stdout();
    if as_json {
        let routes: Vec<_> = routes.iter().map(route_json).collect();
        writeln!(out, "{}", json!({"version": 1, "routes": routes}))?;
    } else if routes.is_empty() {
        writeln!(out, "no thread yet")?;
    }
    for route in routes.iter().filter(|_| !as_json) {
        let Route { written_at, channel, thread_ts, session, cwd, .. } = route;
        let (agent, id) = (session.agent_text(), session.id_text());
        let (ts, cwd) = (time_text(*written_at), cwd.as_deref().unwrap_or("-"));
        let line = format!("{ts} {channel} {thread_ts} {agent} {id} {cwd}");
        writeln!(out, "{}", visible_line(&line))?;
    }
    Ok(())
}

fn prune(paths: &StatePaths, days: u32) -> Result<()> {
    let lock = outbox::lock(paths).context("could not lock the outbox")?;
    let lock =
        lock.ok_or_else(|| hinted("somebody delivers right now", "try again in a moment"))?;
    let limit = clock::now().minus(Duration::from_secs(u64::from(days) * 24 * 60 * 60));
    let is_kept = |route: &Route| route.written_at.is_none_or(|at| at >= limit);
    let gone = routes::retain(paths, &lock, is_kept).context("could not write the routes")?;
    writeln!(output::stdout(), "{gone} forgotten")?;
    Ok(())
}
