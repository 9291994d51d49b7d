//! `turnbridge gate`: shows, explains or sets whether a turn may end before the agent has spoken.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use turnbridge_system::gate::gate_explanation::Explanation;

use crate::config;
use crate::failure::hinted;
use crate::output;

/// Show or choose whether a turn may end before the agent has spoken
///
/// Without a command: `status`. What you choose is kept in `config.toml`, section `[gate]`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct GateArgs {
    #[command(subcommand)]
    action: Option<GateAction>,
    #[command(flatten)]
    place: GateExplainArgs,
}

#[derive(Debug, Subcommand)]
enum GateAction {
    /// Ask agents to speak before a turn ends
    On,
    /// Let every turn end
    Off,
    /// Show in one line what the gate does here
    Status(GateExplainArgs),
    /// Show which file decides, what each one says, and what the gate did last
    Explain(GateExplainArgs),
}

#[derive(Debug, Clone, Default, Args)]
struct GateExplainArgs {
    /// The project's folder [default: this one]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &GateArgs) -> Result<()> {
    match &arguments.action {
        None => status(&arguments.place),
        Some(GateAction::Status(place)) => status(place),
        Some(GateAction::Explain(place)) => {
            let explanation = Explanation::of(&place.folder()?);
            print(if place.json { explanation.json() } else { explanation.text() })
        }
        Some(GateAction::On) => switch(true),
        Some(GateAction::Off) => switch(false),
    }
}

impl GateExplainArgs {
    fn folder(&self) -> Result<PathBuf> {
        let Some(folder) = &self.cwd else {
            return std::env::current_dir().context("could not find the current folder");
        };
        let found = folder.canonicalize().ok().filter(|found| found.is_dir());
        found.ok_or_else(|| {
            hinted(format!("`{}` is no folder", folder.display()), "name a project's folder")
        })
    }
}

fn status(place: &GateExplainArgs) -> Result<()> {
    let explanation = Explanation::of(&place.folder()?);
    print(if place.json { explanation.json() } else { explanation.summary() })
}

/// Switches the gate. It then prints the effective state, which another switch or the sandbox may
/// decide.
fn switch(enabled: bool) -> Result<()> {
    config::set("gate", "enabled", Some(enabled.into()))?;
    status(&GateExplainArgs::default())
}

fn print(text: String) -> Result<()> {
    writeln!(output::stdout(), "{}", text.trim_end())?;
    Ok(())
}
