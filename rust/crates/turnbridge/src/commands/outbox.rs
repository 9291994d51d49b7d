//! `turnbridge outbox`: lists, shows, retries or drops notices that have not arrived yet.

use std::io::Write;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use turnbridge_core::ids::ChannelName;
use turnbridge_core::notices::notice_wire::{message_json, notice_json};
use turnbridge_core::notices::progress::NoticeProgress;
use turnbridge_core::text::one_line::one_line;
use turnbridge_core::timestamp::time_text;
use turnbridge_daemon::delivery::retry;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::outbox::{self, OutboxEntry};
use turnbridge_system::waiting::{find_notice, find_notice_id};

use crate::failure::{hinted, note};
use crate::output;

/// Show, retry or drop notices that have not arrived yet
///
/// Without a command: `list`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct OutboxArgs {
    #[command(subcommand)]
    action: Option<OutboxAction>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum OutboxAction {
    /// List what waits, oldest first
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one notice with its messages
    Show {
        /// Its id, or the beginning of it
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Deliver now, also what was given up
    Retry {
        /// Only this one
        id: Option<String>,
    },
    /// Forget a notice; it is not sent any more
    Drop { id: String },
}

pub fn run(arguments: &OutboxArgs) -> Result<()> {
    let paths = super::state_paths()?;
    match &arguments.action {
        None => list(&paths, arguments.json),
        Some(OutboxAction::List { json }) => list(&paths, *json),
        Some(OutboxAction::Show { id, json }) => show(&find_notice(&paths, id)?, *json),
        Some(OutboxAction::Retry { id }) => retry(&paths, id.as_deref()),
        Some(OutboxAction::Drop { id }) => {
            let id = find_notice_id(&paths, id)?;
            outbox::finish(&paths, &id).context("could not drop it")?;
            print(&format!("dropped {id}"))
        }
    }
}

/// Reads the entries one at a time, oldest first.
fn entries(paths: &StatePaths) -> Result<impl Iterator<Item = OutboxEntry>> {
    let folder = paths.outbox_dir();
    outbox::oldest_first(paths).with_context(|| format!("could not read `{}`", folder.display()))
}

fn list(paths: &StatePaths, as_json: bool) -> Result<()> {
    let entries = entries(paths)?;
    let unreadable = outbox::unreadable(paths).context("could not read the outbox")?;
    if as_json {
        let all: Vec<_> = entries.map(|entry| to_json(&entry)).collect();
        let unreadable: Vec<_> = unreadable.iter().map(|path| path.display().to_string()).collect();
        let shown = json!({"version": 1, "notices": all, "unreadable": unreadable});
        return print(&shown.to_string());
    }
    let mut is_empty = unreadable.is_empty();
    for OutboxEntry { notice, channel, progress } in entries {
        is_empty = false;
        let on = match channel == ChannelName::SLACK && notice.channels().count() == 1 {
            true => String::new(),
            false => format!("{channel}: "),
        };
        let prompt = notice.prompt.as_deref().map(one_line).unwrap_or_default();
        let prompt: String = prompt.chars().take(40).collect();
        let created_at = time_text(notice.created_at);
        print(&format!("{} {created_at} {on}{} {prompt}", notice.id, state(&progress)))?;
        if let Some(error) = &progress.last_error {
            print(&format!("  {}", one_line(error)))?;
        }
    }
    for path in unreadable {
        print(&format!("`{}` cannot be read, and its notice waits for you", path.display()))?;
    }
    if is_empty { print("nothing waits to be delivered") } else { Ok(()) }
}

fn state(progress: &NoticeProgress) -> String {
    let posted = progress.posted.len();
    match (progress.held, progress.next_attempt_at) {
        (true, _) => "given up".to_owned(),
        (false, Some(at)) => format!("again at {at}"),
        (false, None) if posted > 0 => format!("{posted} of {}", progress.messages.len()),
        (false, None) => "waiting".to_owned(),
    }
}

fn to_json(entry: &OutboxEntry) -> Value {
    let OutboxEntry { notice, channel, progress } = entry;
    json!({
        "id": notice.id,
        "channel": channel.as_str(),
        "kind": notice.kind.as_str(),
        "tool": notice.session.agent_text(),
        "session_id": notice.session.id_text(),
        "created_at": time_text(notice.created_at),
        "posted": progress.posted.len(),
        "parts": progress.messages.len(),
        "attempts": progress.attempts,
        "next_attempt_at": progress.next_attempt_at.map(|at| at.to_string()),
        "held": progress.held,
        "last_error": progress.last_error,
    })
}

fn show(entry: &OutboxEntry, as_json: bool) -> Result<()> {
    let mut shown = to_json(entry);
    shown["version"] = json!(1);
    shown["notice"] = json!(notice_json(&entry.notice));
    let messages: Vec<_> = entry.progress.messages.iter().map(message_json).collect();
    shown["messages"] = json!(messages);
    if as_json {
        return print(&shown.to_string());
    }
    print(&serde_json::to_string_pretty(&shown)?)
}

fn retry(paths: &StatePaths, id: Option<&str>) -> Result<()> {
    let chosen = match id {
        Some(id) => vec![find_notice_id(paths, id)?],
        None => outbox::ids(paths).context("could not read the outbox")?,
    };
    if chosen.is_empty() {
        return print("nothing waits to be delivered");
    }
    let drained =
        retry::retry(paths, &chosen).map_err(|problem| hinted(problem.text, problem.hint))?;
    if drained.is_busy {
        note("another process delivers already; it takes these too");
    }
    print(&format!("{} arrived, {} did not", drained.arrived, drained.failed))
}

fn print(line: &str) -> Result<()> {
    writeln!(output::stdout(), "{line}")?;
    Ok(())
}
