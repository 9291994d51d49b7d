//! `turnbridge doctor`: checks that all parts work together, and prints what fixes each problem.
//! With `--fix` it makes the safe repairs.

use std::io::Write;

use anyhow::Result;
use clap::Args;

use crate::doctor::{self, Network};
use crate::failure::SilentFailure;
use crate::output;

/// Find out what does not work, why that matters, and what fixes it
///
/// Changes nothing without `--fix`. Posts nothing to Slack.
#[derive(Debug, Args)]
#[command(after_help = "Exit status: 0 all is well, or notes only; 1 warnings; 2 errors.")]
pub struct DoctorArgs {
    /// Print JSON (docs/schemas/doctor.schema.json)
    #[arg(long)]
    json: bool,
    /// Fix what is ours and safe to fix: file modes, outdated registrations, a daemon that does
    /// not run, notices that were given up; then look again
    #[arg(long)]
    fix: bool,
    /// Do not ask Slack
    #[arg(long)]
    offline: bool,
}

pub fn run(arguments: &DoctorArgs) -> Result<()> {
    let network = if arguments.offline { Network::Avoided } else { Network::Used };
    let mut findings = doctor::examine(network);
    let mut repaired = Vec::new();
    if arguments.fix {
        repaired = doctor::repair(&findings);
        if !repaired.is_empty() {
            findings = doctor::examine(network);
        }
    }
    let mut out = output::stdout();
    if arguments.json {
        writeln!(out, "{}", doctor::as_json(&findings, &repaired))?;
    } else {
        write!(out, "{}", doctor::as_text(&findings, &repaired))?;
    }
    match doctor::worst(&findings).exit_code() {
        0 => Ok(()),
        code => Err(SilentFailure(code).into()),
    }
}
