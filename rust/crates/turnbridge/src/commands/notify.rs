//! `turnbridge notify`: queues a notice from an agent's own report of a finished turn.

use std::ffi::OsString;
use std::io::{IsTerminal, Read};

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::failure::hinted;

/// The limit of a report. Codex itself passes at most 128 KiB.
const LONGEST_REPORT: u64 = 64 << 20;

/// Queue the notice of a finished turn
///
/// Reads the agent's own report: Claude Code's Stop event from stdin (for a hook that you made by
/// hand), or what Codex hands to the program that `notify =` names in its `config.toml`, as the last
/// argument or on stdin. Never fails the agent: what went wrong is in `turnbridge logs`.
#[derive(Debug, Args)]
pub struct NotifyArgs {
    /// Whose report it is
    #[arg(long)]
    tool: ReportingTool,
    /// Codex's report, which it adds itself
    #[arg(value_name = "JSON", trailing_var_arg = true, allow_hyphen_values = true)]
    report: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ReportingTool {
    Claude,
    Codex,
}

pub fn run(arguments: &NotifyArgs) -> Result<()> {
    match (arguments.tool, arguments.report.last()) {
        (ReportingTool::Claude, _) => {
            check_stdin("this is for a Stop hook: Claude Code calls it and hands over the event")?;
            turnbridge_hooks::finished_turn();
        }
        (ReportingTool::Codex, Some(report)) => {
            turnbridge_hooks::codex_report(report.as_encoded_bytes());
        }
        (ReportingTool::Codex, None) => {
            check_stdin("Codex calls it and hands over the report; see docs/codex.md")?;
            let mut report = Vec::new();
            // An unreadable or too long text is an invalid report, which the log records.
            let _ = std::io::stdin().lock().take(LONGEST_REPORT).read_to_end(&mut report);
            turnbridge_hooks::codex_report(&report);
        }
    }
    Ok(())
}

fn check_stdin(hint: &str) -> Result<()> {
    if std::io::stdin().is_terminal() {
        return Err(hinted("there is no report on stdin", hint));
    }
    Ok(())
}
