//! `turnbridge daemon`: starts the daemon, shows its status, stops it. With `--foreground` this
//! process is the daemon.

use std::io::Write;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::json;
use turnbridge_core::ids::ChannelName;
use turnbridge_core::system::daemon_wire::{ListenerStatus, RepliesStatus};
use turnbridge_daemon::daemon::{self, StartRefusal};
use turnbridge_store::paths::StatePaths;
use turnbridge_system::daemon_control::{
    self, MUTE_HINT, already_running, how_to_let_go_on, is_suspended, launch, not_served,
    read_status, wait_for_status,
};

use crate::failure::{hinted, note};
use crate::output;

/// Run what brings replies to your agents and sees what no hook sees
///
/// Without `--foreground` it goes on in the background. There is one for each user.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct DaemonArgs {
    #[command(subcommand)]
    command: Option<DaemonAction>,
    /// Stay in this terminal, or under the service manager that runs it
    #[arg(long)]
    foreground: bool,
}

#[derive(Debug, Subcommand)]
enum DaemonAction {
    /// Show whether it runs, and how it is connected
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// End it; what is under way is finished first
    Stop,
}

pub fn run(arguments: &DaemonArgs) -> Result<()> {
    let paths = super::state_paths()?;
    match &arguments.command {
        None if arguments.foreground => daemon::run(paths).map_err(explain),
        None => start(&paths),
        Some(DaemonAction::Status { json }) => status(&paths, *json),
        Some(DaemonAction::Stop) => stop(&paths),
    }
}

fn explain(refusal: StartRefusal) -> anyhow::Error {
    match refusal {
        StartRefusal::Running => already_running(),
        StartRefusal::Untrusted(untrusted) => hinted(untrusted.to_string(), untrusted.hint()),
        StartRefusal::Files(error) => hinted(
            format!("the state folder cannot be used: {error}"),
            "look at its permissions, and at the space on its disk",
        ),
        StartRefusal::Threads(error) => hinted(
            format!("no thread could be started: {error}"),
            "too many processes may be running",
        ),
    }
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

fn status(paths: &StatePaths, as_json: bool) -> Result<()> {
    let (is_running, status) = wait_for_status(paths);
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
            writeln!(out, "hint: {MUTE_HINT}")?;
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
    let slack = status.channels.get(&ChannelName::SLACK);
    let replies = slack.and_then(|slack| slack.replies.as_ref());
    let too_many = replies.filter(|replies| replies.too_many_listeners);
    match slack.map(|slack| &slack.listener) {
        None => {}
        Some(ListenerStatus::Connecting) if too_many.is_some() => writeln!(
            out,
            "replies from Slack: not connected, the app has too many listeners (Slack allows 10)"
        )?,
        Some(ListenerStatus::Off { reason }) => {
            writeln!(out, "replies from Slack: off ({reason})")?;
        }
        Some(ListenerStatus::Connecting) => writeln!(out, "replies from Slack: connecting")?,
        Some(ListenerStatus::Connected { since, .. }) => {
            writeln!(out, "replies from Slack: connected since {since}")?;
        }
        Some(ListenerStatus::Refused { error, hint, is_local }) => {
            match is_local {
                false => {
                    writeln!(out, "replies from Slack: refused ({error})")?;
                    writeln!(out, "it is tried again every five minutes")?;
                }
                true => {
                    writeln!(out, "replies from Slack: not heard ({error})")?;
                    writeln!(out, "it is tried again every 30 seconds")?;
                }
            }
            if let Some(hint) = hint {
                writeln!(out, "hint: {hint}")?;
            }
        }
    }
    if let Some(replies) = replies {
        show_replies(&mut out, replies)?;
    }
    if let Some(board) = daemon_control::read_board(paths).filter(|board| board.is_ipv6_taken) {
        writeln!(out, "board: another program listens at [::1]:{}, its port", board.port)?;
        writeln!(out, "hint: open {} only, not `localhost`", board.plain_url())?;
    }
    if let Some((what, hint)) = status.board.as_ref().and_then(not_served) {
        writeln!(out, "{what}")?;
        writeln!(out, "hint: {hint}")?;
    }
    Ok(())
}

/// Prints the other users of the app, their effect on replies, and the current problem.
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
        writeln!(out, "received and not processed yet: {}", replies.unjudged)?;
    }
    Ok(())
}

pub fn stop(paths: &StatePaths) -> Result<()> {
    let text = match daemon_control::stop(paths)? {
        true => "the daemon has stopped",
        false => "no daemon runs",
    };
    writeln!(output::stdout(), "{text}")?;
    Ok(())
}
