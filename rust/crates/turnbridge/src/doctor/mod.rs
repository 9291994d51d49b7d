//! Implements `turnbridge doctor`: checks everything that must work together, and reports problems.
//!
//! Every check is a function from facts to findings; thin code beside it gathers the facts. Checks
//! change nothing; `repair` contains `--fix`. The checks run in parallel and have one deadline, so
//! that nothing on this machine or in the network can make the doctor hang.

mod agents;
mod board;
mod check_context;
mod claude_hooks;
mod claude_settings;
mod codex;
mod codex_hooks;
mod codex_plugin;
mod config_file;
mod daemon;
mod deadline;
mod disk;
mod executables;
mod finding;
mod gate;
mod queues;
mod repair;
mod report;
mod slack;
mod state_files;
mod voice;

use std::sync::Arc;
use std::time::{Duration, Instant};

use turnbridge_system::service;

use check_context::CheckContext;
use deadline::BackgroundWork;
use finding::{Area, problem_text};
pub use finding::{Finding, Severity};
pub use repair::repair;
pub use report::{as_json, as_text};

/// The timeout of all checks together. Most have shorter limits of their own.
const TIMEOUT: Duration = Duration::from_secs(20);

type Check = fn(&CheckContext) -> Vec<Finding>;

const CHECKS: [(Area, Check); 12] = [
    (Area::Executables, executables::check),
    (Area::Hooks, claude_hooks::check),
    (Area::Agents, agents::check),
    (Area::Gate, gate::check),
    (Area::Config, config_file::check),
    (Area::Slack, slack::check),
    (Area::Daemon, daemon::check),
    (Area::Daemon, board::check),
    (Area::Queues, queues::check),
    (Area::Codex, codex::check),
    (Area::Voice, voice::check),
    (Area::Disk, disk::check),
];

/// Whether the checks may call Slack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    Used,
    Avoided,
}

/// Returns all findings, in the order of their areas.
pub fn examine(network: Network) -> Vec<Finding> {
    let context = Arc::new(CheckContext::gather(network));
    let deadline = Instant::now() + deadline::at_most(TIMEOUT);
    let running = CHECKS.map(|(area, check)| {
        let context = Arc::clone(&context);
        (area, BackgroundWork::start(move || check(&context)))
    });
    let mut findings: Vec<Finding> = running
        .into_iter()
        .flat_map(|(area, pending)| {
            pending.until(deadline).unwrap_or_else(|| vec![unfinished(area)])
        })
        .collect();
    findings.sort_by_key(|finding| finding.area);
    findings
}

/// Returns the highest severity, which decides the exit code.
pub fn worst(findings: &[Finding]) -> Severity {
    findings.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Ok)
}

fn unfinished(area: Area) -> Finding {
    let what = "this check did not come to an end";
    let why = "something that it reads or asks does not answer: a pipe in place of a file, a network folder";
    let fix = "look at the files of this area in docs/doctor.md";
    Finding::warning(area, "check-unfinished", problem_text(what, why, fix))
}
