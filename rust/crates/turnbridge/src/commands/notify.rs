//! `turnbridge notify`: a notice from a hook that was made by hand.

use std::io::IsTerminal;

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::failure::hinted;

/// Queue the notice of a finished turn (for a hook that you made by hand)
///
/// Reads the agent's own report: Claude Code's Stop event from stdin. Never fails the agent: what
/// went wrong is in `turnbridge logs`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Whose report it is
    #[arg(long)]
    tool: ReportingTool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ReportingTool {
    Claude,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    if std::io::stdin().is_terminal() {
        return Err(hinted(
            "there is no report on stdin",
            "this is for a Stop hook: Claude Code calls it and hands over the event",
        ));
    }
    match arguments.tool {
        ReportingTool::Claude => turnbridge_hooks::finished_turn(),
    }
    Ok(())
}
