//! `turnbridge codex classify`: prints whether a command line starts Codex's terminal interface.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use turnbridge_core::agents::codex::codex_launch::classify;

use crate::output;

/// Tell what a command line of Codex starts
///
/// `tui`, when it may stay in the terminal as Codex's own interface; else `other`.
#[derive(Debug, Args)]
pub struct CodexClassifyArgs {
    /// Print JSON: `tui`, `subcommand`, `session_id`
    #[arg(long)]
    json: bool,
    /// The command line, after `--`: `codex resume ID`
    #[arg(last = true, required = true)]
    argv: Vec<String>,
}

pub fn run(arguments: &CodexClassifyArgs) -> Result<()> {
    let argv: Vec<_> = arguments.argv.iter().map(String::as_str).collect();
    // Another program starts no interface of Codex (KT-59).
    let launch = classify(&argv).unwrap_or_default();
    let shown = if arguments.json {
        let (subcommand, session_id) = (launch.subcommand, launch.session_id);
        json!({
            "version": 1,
            "tui": launch.tui,
            "subcommand": subcommand,
            "session_id": session_id,
        })
        .to_string()
    } else {
        if launch.tui { "tui" } else { "other" }.to_owned()
    };
    writeln!(output::stdout(), "{shown}")?;
    Ok(())
}
