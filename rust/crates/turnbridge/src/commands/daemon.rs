//! `turnbridge daemon`: starts it, asks how it is, ends it.

use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use serde_json::json;
use turnbridge_core::system::daemon_wire::{BoardStatus, DaemonStatus, RepliesStatus, SlackStatus};
use turnbridge_daemon::daemon::{self, Refusal};
use turnbridge_store::files::atomic_file::write_atomically;
use turnbridge_store::files::file_lock;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::process;
use turnbridge_store::process::companion::{self, Apart};

use super::board;
use crate::failure::{hinted, note};
use crate::output;

/// Enough for a slow machine; it takes some milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);
/// For a daemon that holds its lock to say how it is.
const STATUS_PATIENCE: Duration = Duration::from_secs(2);

/// Run what brings replies to your agents and sees what no hook sees
///
/// Without `--foreground` it goes on in the background. There is one for each user.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Stay in this terminal, or under the service manager that runs it
    #[arg(long)]
    foreground: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show whether it runs, and how it is connected
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// End it; what is under way is finished first
    Stop,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let paths = super::state_paths()?;
    match &arguments.command {
        None if arguments.foreground => daemon::run(paths).map_err(explain),
        None => start(&paths),
        Some(Command::Status { json }) => status(&paths, *json),
        Some(Command::Stop) => stop(&paths),
    }
}

fn explain(refusal: Refusal) -> anyhow::Error {
    match refusal {
        Refusal::Running => running(),
        Refusal::Untrusted(untrusted) => hinted(untrusted.to_string(), untrusted.hint()),
        Refusal::Files(error) => hinted(
            format!("the state folder cannot be used: {error}"),
            "look at its permissions, and at the space on its disk",
        ),
        Refusal::Threads(error) => hinted(
            format!("no thread could be started: {error}"),
            "too many processes may be running",
        ),
    }
}

fn running() -> anyhow::Error {
    hinted(
        "a daemon is already running",
        "`turnbridge daemon status` shows it; `turnbridge daemon stop` ends it",
    )
}

fn start(paths: &StatePaths) -> Result<()> {
    let pid = launch(paths)?;
    writeln!(output::stdout(), "the daemon runs (pid {pid})")?;
    let status = read_status(paths);
    if let Some(problem) = status.as_ref().and_then(|status| status.config_problem.as_ref()) {
        note(&format!("{}: {}; {}", problem.effect(), problem.error, problem.hint));
    }
    if let Some(status) = status.and_then(|status| status.board).and_then(|it| not_served(&it)) {
        note(&format!("{}; {}", status.0, status.1));
    }
    Ok(())
}

/// Why there is no board, and what can be done about it.
pub fn not_served(board: &BoardStatus) -> Option<(String, &'static str)> {
    let BoardStatus::NotServed { port, error } = board else { return None };
    Some(match port {
        0 => (
            format!("the daemon serves no board: {error}"),
            "`turnbridge logs daemon` says more; it is tried again every 30 s",
        ),
        port => (
            format!("the daemon serves no board: port {port}: {error}"),
            "end the program that has the port, or choose another `[board] port` in `config.toml`",
        ),
    })
}

/// In the background; gives its pid when it is up.
pub fn launch(paths: &StatePaths) -> Result<u32> {
    if is_running(paths) {
        return Err(running());
    }
    let mut child =
        companion::start("turnbridge", &["daemon", "--foreground"], Apart::InItsOwnGroup)
            .context("could not start `turnbridge` in the background")?;
    // Not what a daemon has left that was killed.
    let pid = child.id();
    let is_up = || is_running(paths) && read_status(paths).is_some_and(|status| status.pid == pid);
    let deadline = Instant::now() + PATIENCE;
    while !is_up() {
        let has_ended = child.try_wait().is_ok_and(|ended| ended.is_some());
        if has_ended || Instant::now() >= deadline {
            return Err(hinted(
                "the daemon did not start",
                "`turnbridge daemon --foreground` says why; `turnbridge logs daemon` too",
            ));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(pid)
}

fn status(paths: &StatePaths, as_json: bool) -> Result<()> {
    let (is_running, status) = look(paths);
    let is_suspended = status.as_ref().is_some_and(is_suspended);
    let mut out = output::stdout();
    if as_json {
        let shown = json!({
            "version": 1, "running": is_running, "suspended": is_suspended, "daemon": status,
        });
        writeln!(out, "{shown}")?;
        return Ok(());
    }
    let Some(status) = status else {
        if is_running {
            writeln!(out, "a daemon runs, but says nothing of itself (`daemon.json`)")?;
            writeln!(
                out,
                "hint: `turnbridge daemon stop`, then `turnbridge daemon`, starts it anew"
            )?;
        } else {
            writeln!(out, "no daemon runs")?;
        }
        return Ok(());
    };
    writeln!(
        out,
        "running since {} (pid {}, {})",
        status.started_at, status.pid, status.program_version
    )?;
    if is_suspended {
        writeln!(out, "suspended by a signal: it does nothing until it may go on")?;
        writeln!(out, "hint: {}", how_to_let_go_on(&status))?;
    }
    if let Some(problem) = &status.config_problem {
        writeln!(out, "config: {} ({})", problem.effect(), problem.error)?;
        writeln!(out, "hint: {}", problem.hint)?;
    }
    let too_many = status.replies.as_ref().filter(|replies| replies.too_many_listeners);
    match status.slack {
        SlackStatus::Connecting if too_many.is_some() => writeln!(
            out,
            "replies from Slack: not connected, the app has too many listeners (Slack allows 10)"
        )?,
        SlackStatus::Off { reason } => writeln!(out, "replies from Slack: off ({reason})")?,
        SlackStatus::Connecting => writeln!(out, "replies from Slack: connecting")?,
        SlackStatus::Connected { since, .. } => {
            writeln!(out, "replies from Slack: connected since {since}")?;
        }
        SlackStatus::Refused { error, hint } => {
            writeln!(out, "replies from Slack: refused ({error})")?;
            if let Some(hint) = hint {
                writeln!(out, "hint: {hint}")?;
            }
        }
    }
    if let Some(replies) = &status.replies {
        show_replies(&mut out, replies)?;
    }
    if let Some(board) = board::read(paths).filter(|board| board.is_ipv6_taken) {
        writeln!(out, "board: another program listens at [::1]:{}, its port", board.port)?;
        writeln!(out, "hint: open {} only, not `localhost`", board.plain_url())?;
    }
    if let Some((what, hint)) = status.board.as_ref().and_then(not_served) {
        writeln!(out, "{what}")?;
        writeln!(out, "hint: {hint}")?;
    }
    Ok(())
}

/// Who else uses the app, what that means, and what is in the way.
fn show_replies(out: &mut impl Write, replies: &RepliesStatus) -> Result<()> {
    let every = replies.asks_every_seconds;
    if replies.has_company() {
        writeln!(
            out,
            "{}: Slack gives each reply to one listener, so this machine asks for its own every {every} s",
            replies.company()
        )?;
    }
    if let Some(problem) = &replies.problem {
        writeln!(out, "replies cannot be asked for, and it is tried again: {problem}")?;
    }
    if let Some(hint) = &replies.hint {
        writeln!(out, "hint: {hint}")?;
    }
    if replies.unjudged > 0 {
        writeln!(out, "heard and not judged yet: {}", replies.unjudged)?;
    }
    Ok(())
}

pub fn stop(paths: &StatePaths) -> Result<()> {
    if !is_running(paths) {
        writeln!(output::stdout(), "no daemon runs")?;
        return Ok(());
    }
    write_atomically(&paths.daemon_stop(), b"").context("could not write to the state folder")?;
    if let Some(status) = read_status(paths).filter(is_suspended) {
        // It could not do as it is told.
        process::let_go_on(status.pid);
    }
    let deadline = Instant::now() + PATIENCE;
    while is_running(paths) {
        if Instant::now() >= deadline {
            return Err(hinted(
                "the daemon has not stopped yet",
                "it may wait for an answer from Slack; `turnbridge daemon status` names its process",
            ));
        }
        std::thread::sleep(PAUSE);
    }
    let _ = fs::remove_file(paths.daemon_stop());
    writeln!(output::stdout(), "the daemon has stopped")?;
    Ok(())
}

pub fn is_running(paths: &StatePaths) -> bool {
    file_lock::is_held(&paths.daemon_lock())
}

/// A signal has stopped its process (`kill -STOP`, Ctrl-Z). Its lock is held all the same, and what it
/// said of itself still stands in `daemon.json`.
pub fn is_suspended(status: &DaemonStatus) -> bool {
    process::is_suspended(status.pid)
}

pub fn how_to_let_go_on(status: &DaemonStatus) -> String {
    format!(
        "`kill -CONT {}` lets it go on; `turnbridge daemon stop`, then `turnbridge daemon`, starts it anew",
        status.pid
    )
}

/// Whether it runs, and what it says of itself: one that has just been started has not written that yet.
fn look(paths: &StatePaths) -> (bool, Option<DaemonStatus>) {
    let deadline = Instant::now() + STATUS_PATIENCE;
    loop {
        if !is_running(paths) {
            return (false, None);
        }
        let status = read_status(paths);
        if status.is_some() || Instant::now() >= deadline {
            return (true, status);
        }
        std::thread::sleep(PAUSE);
    }
}

pub fn read_status(paths: &StatePaths) -> Option<DaemonStatus> {
    serde_json::from_slice(&fs::read(paths.daemon_status()).ok()?).ok()
}
