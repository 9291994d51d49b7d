//! `turnbridge demo-agent PROJECT`: plays one session of a demo. `turnbridge demo` starts this
//! process for each session.

use anyhow::{Context, Result};
use clap::Args;
use turnbridge_store::files::atomic_file::write_atomically;

use crate::demo::{home, player, scenes};
use crate::failure::hinted;

/// Play one session of a demo (`turnbridge demo` does this)
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct DemoAgentArgs {
    /// The session's project
    project: String,
}

pub fn run(arguments: &DemoAgentArgs) -> Result<()> {
    let project = &arguments.project;
    let is_demo = std::env::var_os(home::VARIABLE).is_some();
    let scene = scenes::find(project).filter(|_| is_demo).ok_or_else(|| {
        hinted(format!("no demo plays `{project}`"), "run `turnbridge demo`, which starts all")
    })?;
    player::play(scene)?;
    // A killed demo has not stopped its daemon.
    let stop = super::state_paths()?.daemon_stop();
    write_atomically(&stop, b"").context("could not write to the state folder")
}
