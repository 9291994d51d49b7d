//! `turnbridge pane`: what shells and terminals tell of their panes, and which session each shows.

mod launch;
mod list;
mod scan;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use turnbridge_config::codex_homes::codex_homes;
use turnbridge_core::session::Host;
use turnbridge_core::session::event::PaneEnd;
use turnbridge_core::terminals::pane_id::{PaneId, pane_of, resolve};
use turnbridge_hooks::surroundings;
use turnbridge_store::clock;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::{pane_store, session_store};

use crate::config;
use crate::failure::{hinted, note};
pub use launch::record;

/// Tell which session is shown in which pane of your terminal
///
/// Shells call most of these by themselves: see `turnbridge shell-init --help` and docs/panes.md.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Launch(launch::Arguments),
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
    List(list::Arguments),
    Scan(scan::Arguments),
}

#[derive(Debug, Args)]
struct PaneArgument {
    /// The pane, as `pane list` names it or as its terminal does (`%3`); else the one that this runs
    /// in
    #[arg(long, value_name = "ID")]
    pane: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.action {
        Action::Launch(arguments) => launch::run(arguments),
        Action::Prompt { pane, cwd: _ } => leave(pane, PaneEnd::PromptReturned),
        Action::Close { pane } => leave(pane, PaneEnd::Closed),
        Action::List(arguments) => list::run(arguments),
        Action::Scan(arguments) => scan::run(arguments),
    }
}

fn leave(pane: &PaneArgument, why: PaneEnd) -> Result<()> {
    let paths = super::state_paths()?;
    let pane = pane.resolve(&paths, &surroundings())?;
    leave_pane(&paths, &pane, why)
}

fn leave_pane(paths: &StatePaths, pane: &PaneId, why: PaneEnd) -> Result<()> {
    let left = pane_store::leave(paths, &followed_homes(), pane, why, clock::now())
        .context("could not write down that the pane was left")?;
    left.problems.iter().for_each(|problem| note(problem));
    Ok(())
}

/// What a hook would find around it, were it called here.
fn surroundings() -> Host {
    surroundings::host("launch", std::env::vars_os())
}

fn followed_homes() -> Vec<PathBuf> {
    codex_homes(&config::read_or_default().codex.homes)
}

impl PaneArgument {
    fn resolve(&self, paths: &StatePaths, host: &Host) -> Result<PaneId> {
        let here = pane_of(|name| host.env(name));
        let Some(given) = self.pane.as_deref() else {
            return here.ok_or_else(|| {
                let hint = "name it with `--pane ID`, or run this in tmux, Zellij, WezTerm, kitty, \
                            iTerm2 or Windows Terminal";
                hinted("this terminal does not say which pane this is", hint)
            });
        };
        let panes = pane_store::read(paths);
        let sessions = session_store::read_all(paths).unwrap_or_default();
        let mut known: Vec<PaneId> = panes.launches.keys().cloned().collect();
        known.extend(panes.bindings(&sessions).into_iter().map(|binding| binding.pane));
        known.extend(here);
        resolve(given, &known).ok_or_else(|| {
            let hint =
                "a pane's name is one line of printable characters; see `turnbridge pane list`";
            hinted(format!("{given:?} is no pane"), hint)
        })
    }
}
