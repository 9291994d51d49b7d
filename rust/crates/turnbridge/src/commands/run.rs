//! `turnbridge run`: starts an agent in this terminal with the plugin and a known session, and
//! records the launch in the pane's entry.

use std::ffi::OsString;

use anyhow::Result;
use clap::Args;
use turnbridge_system::agent_start::{AgentStart, is_shown};

use super::pane;
use crate::config;
use crate::failure::note;

/// Start Claude Code or Codex here, with the plugin and a session that is known from the start
///
/// For example: turnbridge run -- claude "fix the tests"
#[derive(Debug, Args)]
pub struct RunArgs {
    /// `claude` or `codex`, and its own arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "AGENT"
    )]
    argv: Vec<OsString>,
}

pub fn run(arguments: &RunArgs) -> Result<()> {
    let start = AgentStart::plan(&arguments.argv, config::read_or_default)?;
    let words: Vec<_> = arguments.argv.iter().map(|word| word.to_string_lossy()).collect();
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    // An agent whose pane is not recorded is better than none.
    if is_shown()
        && let Err(error) = pane::record(start.agent, &words)
    {
        note(&format!("{error:#}; going on"));
    }
    std::process::exit(start.run()?)
}
