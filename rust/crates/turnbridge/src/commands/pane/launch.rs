//! `turnbridge pane launch`: records that a pane's shell is about to start an agent.

use std::io::Read;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use turnbridge_core::terminals::command_line::{self, agents_in};
use turnbridge_system::panes::started;

use super::PaneArgument;

/// Tell that the pane's shell is about to start an agent
///
/// Whatever the pane showed before is stopped. Command lines that start neither `claude` nor `codex`
/// change nothing.
#[derive(Debug, Args)]
pub struct PaneLaunchArgs {
    #[command(flatten)]
    pane: PaneArgument,
    /// Where it starts; else here
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// The command line as it was typed, instead of its words; `-` reads it from stdin
    #[arg(long, value_name = "TEXT", conflicts_with = "argv", allow_hyphen_values = true)]
    line: Option<String>,
    /// How that line is quoted
    #[arg(long, value_enum, default_value_t = SyntaxName::Posix, requires = "line")]
    syntax: SyntaxName,
    /// The agent's program and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required_unless_present = "line")]
    argv: Vec<String>,
}

/// The limit of a command line.
const LONGEST_LINE: u64 = 1 << 20;

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SyntaxName {
    Posix,
    #[value(name = "powershell")]
    PowerShell,
}

pub fn run(arguments: &PaneLaunchArgs) -> Result<()> {
    let agents = match &arguments.line {
        Some(line) if line == "-" => agents_in(&read_line()?, arguments.syntax.into()),
        Some(line) => agents_in(line, arguments.syntax.into()),
        None => {
            let words: Vec<&str> = arguments.argv.iter().map(String::as_str).collect();
            started(&words).into_iter().collect()
        }
    };
    if agents.is_empty() {
        return Ok(());
    }
    let paths = super::super::state_paths()?;
    let registry = super::registry(&paths);
    let host = super::pane_environment();
    let pane = arguments.pane.find(registry, &host)?;
    let here = std::env::current_dir().unwrap_or_default();
    let cwd = arguments.cwd.as_ref().map_or_else(|| here.clone(), |cwd| here.join(cwd));
    agents.iter().try_for_each(|agent| registry.launch(&pane, agent, &cwd, &host))
}

fn read_line() -> Result<String> {
    let mut bytes = Vec::new();
    let stdin = std::io::stdin().lock();
    stdin.take(LONGEST_LINE).read_to_end(&mut bytes).context("could not read stdin")?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl From<SyntaxName> for command_line::ShellSyntax {
    fn from(syntax: SyntaxName) -> command_line::ShellSyntax {
        match syntax {
            SyntaxName::Posix => command_line::ShellSyntax::Posix,
            SyntaxName::PowerShell => command_line::ShellSyntax::PowerShell,
        }
    }
}
