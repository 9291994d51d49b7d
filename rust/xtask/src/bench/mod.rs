//! Runs the commands of `cargo xtask bench`, and measures the hooks itself (`bench hooks`). Results
//! are ratios of one run on one machine, never absolute: the candidates take turns, round after
//! round, so that all get the same conditions. docs/performance.md explains how to read them.

mod alternatives;
mod board;
mod codex;
mod daemon;
mod dispatcher;
mod slack;
mod spawn;
mod transcripts;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::metadata::repository;
use spawn::{Candidate, Measured, measure};

const RUNS: usize = 300;

/// A limit of a candidate's cost, as a multiple of another candidate's.
struct Goal {
    what: &'static str,
    candidate: &'static str,
    against: &'static str,
    at_most: f64,
}

const GOALS: [Goal; 4] = [
    Goal {
        what: "status hook, 300 B payload, session file only",
        candidate: "status",
        against: "true",
        at_most: 1.5,
    },
    Goal {
        what: "the same with all sinks",
        candidate: "status+sinks",
        against: "true",
        at_most: 2.0,
    },
    Goal {
        what: "status hook, 1 MB PostToolUse payload",
        candidate: "status 1 MB",
        against: "status",
        at_most: 2.5,
    },
    Goal {
        what: "stop gate, speech in a 1 GB transcript",
        candidate: "gate 1 GB",
        against: "gate 1 MB",
        at_most: 1.2,
    },
];

/// Measures the hooks and returns the table. `--against FOLDER` names the executables of another
/// build, which take turns with these.
pub fn hooks(options: &[&str]) -> Result<String> {
    let (against, options) = match options {
        ["--against", folder, rest @ ..] => (Some(Path::new(*folder)), rest),
        _ => (None, options),
    };
    let runs = runs_of(options, RUNS)?;
    let status = executable("turnbridge-status")?;
    let gate = executable("turnbridge-stop-gate")?;
    let folder = tempfile::tempdir()?;
    let mut candidates = candidates(folder.path(), &status, &gate)?;
    if let Some(against) = against {
        candidates.extend(of_other_build(folder.path(), against)?);
    }
    let measured = measure(&candidates, runs)?;
    let mut text = report(&measured, runs, &[status, gate]);
    if let Some(against) = against {
        text.push_str(&comparison(&measured, against)?);
    }
    Ok(text)
}

/// The candidates measured in both builds: the name, the name for the other build, and the
/// executable.
const COMPARED: [(&str, &str, &str); 2] = [
    ("status", "status, other", "turnbridge-status"),
    ("gate sandbox", "gate, other", "turnbridge-stop-gate"),
];

fn of_other_build(folder: &Path, bin: &Path) -> Result<Vec<Candidate>> {
    let home = folder.join("other-build");
    let settings = folder.join("other-sandboxed");
    std::fs::create_dir_all(&home)?;
    std::fs::create_dir_all(&settings)?;
    let settings = transcripts::sandboxed_settings(&settings)?;
    let hook = |name: &'static str, program: &str, payload: String| {
        Candidate::new(name, &bin.join(program), &["--origin", "plugin"], payload.into_bytes())
            .env("HOME", &home)
    };
    let [(_, status, status_program), (_, gate, gate_program)] = COMPARED;
    Ok(vec![
        hook(status, status_program, payload("PreToolUse", "x", 300)),
        hook(gate, gate_program, payload("Stop", "last_assistant_message", 300))
            .env("CLAUDE_CONFIG_DIR", settings),
    ])
}

fn comparison(measured: &[Measured], bin: &Path) -> Result<String> {
    let find = |name: &str| measured.iter().find(|one| one.name == name);
    let mut text = String::new();
    for (name, other, program) in COMPARED {
        let (Some(ours), Some(theirs)) = (find(name), find(other)) else { continue };
        let size = |path: &Path| path.metadata().map(|metadata| metadata.len());
        let (ours_size, theirs_size) = (size(&executable(program)?)?, size(&bin.join(program))?);
        let _ = writeln!(
            text,
            "{name:<16} {:>5.2} x the other build by min, {:>5.2} x by quartile; {ours_size} B, other {theirs_size} B",
            ours.min / theirs.min,
            ours.quartile / theirs.quartile,
        );
    }
    Ok(text)
}

pub fn slack(options: &[&str]) -> Result<String> {
    slack::run(runs_of(options, 60)?)
}

pub fn dispatcher(options: &[&str]) -> Result<String> {
    dispatcher::run(runs_of(options, RUNS)?)
}

pub fn codex(options: &[&str]) -> Result<String> {
    codex::run(runs_of(options, 100)?)
}

pub fn daemon(options: &[&str]) -> Result<String> {
    match options {
        [] => daemon::run(daemon::BenchExtent::Full),
        ["--quick"] => daemon::run(daemon::BenchExtent::Quick),
        _ => bail!("unknown options: {}", options.join(" ")),
    }
}

pub fn board(options: &[&str]) -> Result<String> {
    match options {
        [] => board::run(),
        _ => bail!("unknown options: {}", options.join(" ")),
    }
}

/// Returns the path of one of Turnbridge's executables, as it ships.
fn executable(name: &str) -> Result<PathBuf> {
    let path = repository().join("bin").join(name);
    path.canonicalize().with_context(|| {
        format!("`{}` is missing\nhint: run `scripts/build` first", path.display())
    })
}

fn runs_of(options: &[&str], usual: usize) -> Result<usize> {
    match options {
        [] => Ok(usual),
        ["--runs", number] => number.parse().context("`--runs` takes a number"),
        _ => bail!("unknown options: {}", options.join(" ")),
    }
}

fn candidates(folder: &Path, status: &Path, gate: &Path) -> Result<Vec<Candidate>> {
    let home = |name: &str| -> Result<PathBuf> {
        let home = folder.join(name);
        std::fs::create_dir_all(&home)?;
        Ok(home)
    };
    let hook = |name: &'static str, program: &Path, payload: String| -> Result<Candidate> {
        let home = home(&name.replace([' ', '+'], "-"))?;
        Ok(Candidate::new(name, program, &["--origin", "plugin"], payload.into_bytes())
            .env("HOME", &home))
    };
    let small = payload("PreToolUse", "x", 300);
    let sinks = home("sinks")?;
    let listener = spawn::sink_listener(&sinks.join("t.sock"))?;
    let mut candidates = vec![
        Candidate::new("true", Path::new("/bin/true"), &[], small.clone().into_bytes()),
        hook("status", status, small.clone())?,
        hook("status+sinks", status, small.clone())?
            .env("TVINE_PROJECT_DIR", &sinks)
            .env("TVINE_SESSION_ID", "bench")
            .env("TVINE_SOCKET_PATH", sinks.join("t.sock"))
            .env("KAWAII_NOTIFY_PATH", sinks.join("kawaii.jsonl"))
            .env("KAWAII_PANE_ID", "p")
            .keep(listener),
        hook("status 1 MB", status, payload("PostToolUse", "tool_response", 1_000_000))?,
        hook("gate sandbox", gate, payload("Stop", "last_assistant_message", 300))?
            .env("CLAUDE_CONFIG_DIR", transcripts::sandboxed_settings(&home("sandboxed")?)?),
    ];
    for (name, size) in [("gate 1 MB", 1 << 20), ("gate 1 GB", 1 << 30)] {
        let path = folder.join(format!("{size}.jsonl"));
        transcripts::write(&path, size)?;
        candidates.push(hook(name, gate, transcripts::stop_payload(&path))?);
    }
    candidates.extend(alternatives::candidates(folder, &small)?);
    Ok(candidates)
}

/// Returns a payload of about `size` bytes with its bulk in `field`.
fn payload(event: &str, field: &str, size: usize) -> String {
    let head = format!(
        r#"{{"session_id":"825c8529-ee09-4cb8-8902-dd785b12ca0a","transcript_path":"/home/user/.claude/projects/p/t.jsonl","cwd":"/home/user/project","hook_event_name":"{event}","tool_name":"Bash","{field}":""#
    );
    let tail = "\"}\n";
    let filler = "ls -l: total 42\\n";
    let bulk = size.saturating_sub(head.len() + tail.len());
    format!("{head}{}{tail}", filler.repeat(bulk / filler.len()))
}

/// Returns the raw measurements as a table.
fn table(measured: &[Measured], runs: usize) -> String {
    let mut text = format!("{runs} rounds; microseconds of wall time, spawn to exit\n\n");
    let _ = writeln!(text, "{:<16} {:>8} {:>8} {:>8} {:>9}", "", "min", "q1", "median", "RSS KiB");
    for one in measured {
        let _ = writeln!(
            text,
            "{:<16} {:>8.0} {:>8.0} {:>8.0} {:>9}",
            one.name, one.min, one.quartile, one.median, one.rss_kib
        );
    }
    text.push('\n');
    text
}

fn report(measured: &[Measured], runs: usize, executables: &[PathBuf]) -> String {
    let find = |name: &str| measured.iter().find(|one| one.name == name);
    let mut text = table(measured, runs);
    for goal in GOALS {
        let (Some(one), Some(base)) = (find(goal.candidate), find(goal.against)) else { continue };
        let (min, quartile) = (one.min / base.min, one.quartile / base.quartile);
        let verdict = if quartile <= goal.at_most { "reached" } else { "MISSED" };
        let _ = writeln!(
            text,
            "{:<46} {:>5.2} x {} by min, {:>5.2} x by quartile; goal {} x: {verdict}",
            goal.what, min, goal.against, quartile, goal.at_most
        );
    }
    if let (Some(status), Some(true_)) = (find("status"), find("true")) {
        for other in measured.iter().filter(|one| one.name.starts_with("alternative")) {
            let _ = writeln!(
                text,
                "{:<46} {:>5.1} x true, {:.1} x our status hook",
                other.name,
                other.quartile / true_.quartile,
                other.quartile / status.quartile
            );
        }
        let verdict = if status.rss_kib <= 5 * 1024 { "reached" } else { "MISSED" };
        let _ = writeln!(
            text,
            "RSS of the status hook {} KiB; goal 5120 KiB: {verdict}",
            status.rss_kib
        );
    }
    for path in executables {
        let size = path.metadata().map_or(0, |metadata| metadata.len());
        let verdict = if size <= 1_300_000 { "reached" } else { "MISSED" };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let _ = writeln!(text, "size of {name} {size} B; goal 1300000 B: {verdict}");
    }
    text
}
