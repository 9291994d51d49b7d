//! `turnbridge doctor`: checks everything that must work together, and reports problems.
//!
//! Every check is a function from facts to findings; thin code beside it gathers the facts. Checks
//! change nothing; `repair` contains `--fix`. The checks run in parallel, each with a timeout, so
//! that nothing on this machine or in the network can make the doctor hang.

mod agents;
mod board;
mod claude_hooks;
mod claude_settings;
mod codex;
mod codex_hooks;
mod codex_plugin;
mod config_file;
mod daemon;
mod disk;
mod executables;
mod finding;
mod gate;
mod in_time;
mod queues;
mod repair;
mod report;
mod scene;
mod slack;
mod state_files;
mod voice;

use std::sync::Arc;
use std::time::{Duration, Instant};

use turnbridge_system::service;

use finding::{Area, told};
pub use finding::{Finding, Severity};
use in_time::Pending;
pub use repair::repair;
pub use report::{as_json, as_text};
use scene::Scene;

/// The timeout of all checks; each has its own, shorter limits.
const PATIENCE: Duration = Duration::from_secs(20);

type Check = fn(&Scene) -> Vec<Finding>;

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
    let scene = Arc::new(Scene::look(network));
    let deadline = Instant::now() + in_time::at_most(PATIENCE);
    let running = CHECKS.map(|(area, check)| {
        let scene = Arc::clone(&scene);
        (area, Pending::start(move || check(&scene)))
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

pub fn worst(findings: &[Finding]) -> Severity {
    findings.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Ok)
}

fn unfinished(area: Area) -> Finding {
    let what = "this check did not come to an end";
    let why = "something that it reads or asks does not answer: a pipe in place of a file, a network folder";
    let fix = "look at the files of this area in docs/doctor.md";
    Finding::warning(area, "check-unfinished", told(what, why, fix))
}
