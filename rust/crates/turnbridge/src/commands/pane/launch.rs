//! `turnbridge pane launch`: an agent is about to start.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use turnbridge_core::agents::codex::codex_launch::classify;
use turnbridge_core::ids::Agent;
use turnbridge_core::session::Host;
use turnbridge_core::terminals::command_line::{self, Started, agent, agents_in};
use turnbridge_core::terminals::pane_id::PaneId;
use turnbridge_core::terminals::panes::Launch;
use turnbridge_store::clock;
use turnbridge_store::paths::{StatePaths, home_dir};
use turnbridge_store::state::pane_store;

use super::PaneArgument;
use crate::failure::note;

/// Tell that the pane's shell is about to start an agent
///
/// Whatever the pane showed before is stopped. Command lines that start neither `claude` nor `codex`
/// change nothing.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    pane: PaneArgument,
    /// Where it starts; else here
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// The command line as it was typed, instead of its words; `-` reads it from stdin
    #[arg(long, value_name = "TEXT", conflicts_with = "argv", allow_hyphen_values = true)]
    line: Option<String>,
    /// How that line is quoted
    #[arg(long, value_enum, default_value_t = Syntax::Posix, requires = "line")]
    syntax: Syntax,
    /// The agent's program and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required_unless_present = "line")]
    argv: Vec<String>,
}

/// Nobody types a longer one.
const LONGEST_LINE: u64 = 1 << 20;

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Syntax {
    Posix,
    #[value(name = "powershell")]
    PowerShell,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let started = match &arguments.line {
        Some(line) if line == "-" => agents_in(&read_line()?, arguments.syntax.into()),
        Some(line) => agents_in(line, arguments.syntax.into()),
        None => {
            let words: Vec<&str> = arguments.argv.iter().map(String::as_str).collect();
            let started = |(agent, argv): (Agent, &[&str])| Started {
                agent,
                argv: argv.iter().map(|word| (*word).to_owned()).collect(),
                folders: Vec::new(),
            };
            agent(&words).map(started).into_iter().collect()
        }
    };
    if started.is_empty() {
        return Ok(());
    }
    let paths = super::super::state_paths()?;
    let host = super::surroundings();
    let pane = arguments.pane.resolve(&paths, &host)?;
    let here = std::env::current_dir().unwrap_or_default();
    let cwd = arguments.cwd.as_ref().map_or_else(|| here.clone(), |cwd| here.join(cwd));
    for agent in &started {
        record_launch(&paths, &pane, agent, &cwd, &host)?;
    }
    Ok(())
}

fn read_line() -> Result<String> {
    let mut bytes = Vec::new();
    let stdin = std::io::stdin().lock();
    stdin.take(LONGEST_LINE).read_to_end(&mut bytes).context("could not read stdin")?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// For whoever starts an agent in this very terminal. `false`: nobody knows which pane it is.
pub fn record(agent: Agent, argv: &[&str]) -> Result<bool> {
    let paths = super::super::state_paths()?;
    let host = super::surroundings();
    let Some(pane) = super::pane_of(|name| host.env(name)) else { return Ok(false) };
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    let started = Started { agent, argv, folders: Vec::new() };
    let cwd = std::env::current_dir().unwrap_or_default();
    record_launch(&paths, &pane, &started, &cwd, &host)?;
    Ok(true)
}

fn record_launch(
    paths: &StatePaths,
    pane: &PaneId,
    started: &Started,
    cwd: &Path,
    host: &Host,
) -> Result<()> {
    let argv: Vec<&str> = started.argv.iter().map(String::as_str).collect();
    let mut folder = cwd.to_owned();
    let directory = classify(&argv).and_then(|launch| launch.directory);
    for part in started.folders.iter().chain(&directory) {
        folder.push(without_tilde(part));
    }
    let launch = Launch {
        agent: started.agent,
        argv,
        // What cannot be told in a rollout cannot be found in one either.
        cwd: real(&folder).to_string_lossy().into_owned(),
        env: host.env.clone(),
        at: clock::now(),
    };
    let left = pane_store::launch(paths, &super::followed_homes(), pane, launch)
        .context("could not write down the launch")?;
    left.problems.iter().for_each(|problem| note(problem));
    Ok(())
}

/// `~/x`, as a shell that only told us the line would have expanded it.
fn without_tilde(folder: &str) -> PathBuf {
    let in_home = folder.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match (in_home, home_dir()) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(folder),
    }
}

/// Codex writes real paths into its rollouts. On Windows not by the name that begins with `\\?\`.
fn real(folder: &Path) -> PathBuf {
    let real = if cfg!(windows) { std::path::absolute(folder) } else { folder.canonicalize() };
    real.unwrap_or_else(|_| folder.to_owned())
}

impl From<Syntax> for command_line::Syntax {
    fn from(syntax: Syntax) -> command_line::Syntax {
        match syntax {
            Syntax::Posix => command_line::Syntax::Posix,
            Syntax::PowerShell => command_line::Syntax::PowerShell,
        }
    }
}
