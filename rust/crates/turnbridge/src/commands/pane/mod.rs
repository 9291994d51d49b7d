//! `turnbridge pane`: records what shells and terminals report about their panes, and lists which
//! session each pane shows.

mod launch;
mod list;
mod scan;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use turnbridge_config::codex_homes::codex_homes;
use turnbridge_core::ids::Agent;
use turnbridge_core::session::RunEnvironment;
use turnbridge_core::session::event::PaneEnd;
use turnbridge_core::terminals::pane_id::PaneId;
use turnbridge_hooks::run_environment;
use turnbridge_store::paths::StatePaths;
use turnbridge_system::panes::Registry;

use crate::config;
use crate::failure::note;

/// Tell which session is shown in which pane of your terminal
///
/// Shells call most of these by themselves: see `turnbridge shell-init --help` and docs/panes.md.
#[derive(Debug, Args)]
pub struct PaneArgs {
    #[command(subcommand)]
    action: PaneAction,
}

#[derive(Debug, Subcommand)]
enum PaneAction {
    Launch(launch::PaneLaunchArgs),
    /// Tell that the shell's prompt is back: what the pane showed is stopped
    Prompt {
        #[command(flatten)]
        pane: PaneArgument,
        /// Where the shell is now. For hosts that pass on what a shell tells them; nothing depends
        /// on it
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
    },
    /// Tell that the pane is closed: what it showed is stopped
    Close {
        #[command(flatten)]
        pane: PaneArgument,
    },
    List(list::PaneListArgs),
    Scan(scan::PaneScanArgs),
}

#[derive(Debug, Args)]
struct PaneArgument {
    /// The pane, as `pane list` names it or as its terminal does (`%3`); else the one that this runs
    /// in
    #[arg(long, value_name = "ID")]
    pane: Option<String>,
}

pub fn run(arguments: &PaneArgs) -> Result<()> {
    match &arguments.action {
        PaneAction::Launch(arguments) => launch::run(arguments),
        PaneAction::Prompt { pane, cwd: _ } => leave(pane, PaneEnd::PromptReturned),
        PaneAction::Close { pane } => leave(pane, PaneEnd::Closed),
        PaneAction::List(arguments) => list::run(arguments),
        PaneAction::Scan(arguments) => scan::run(arguments),
    }
}

fn leave(pane: &PaneArgument, why: PaneEnd) -> Result<()> {
    let paths = super::state_paths()?;
    let registry = registry(&paths);
    registry.leave(&pane.find(registry, &pane_environment())?, why)
}

/// Records that this process starts an agent in its terminal's pane.
pub fn record(agent: Agent, argv: &[&str]) -> Result<()> {
    let paths = super::state_paths()?;
    registry(&paths).launch_here(agent, argv, &pane_environment())
}

/// Returns the environment that a hook called here would record.
fn pane_environment() -> RunEnvironment {
    run_environment::run_environment("launch", std::env::vars_os())
}

fn registry(paths: &StatePaths) -> Registry<'_> {
    let codex_homes = || codex_homes(&config::read_or_default().codex.homes);
    Registry { paths, codex_homes, remark: note }
}

impl PaneArgument {
    fn find(&self, registry: Registry<'_>, host: &RunEnvironment) -> Result<PaneId> {
        registry.find(self.pane.as_deref(), host)
    }
}
