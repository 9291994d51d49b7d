//! `turnbridge inbox`: shows waiting and running replies, and the results of the last week. It also
//! drops waiting replies.

use std::io::Write;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use turnbridge_core::replies::reply::Reply;
use turnbridge_core::replies::reply_plan::ReplyProgress;
use turnbridge_core::replies::run_result::{Reason, RunResult};
use turnbridge_core::replies::thread_message::ThreadMessage;
use turnbridge_core::text::one_line::one_line;
use turnbridge_core::timestamp::time_text;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::inbox;
use turnbridge_system::waiting::drop_reply;

use crate::output;

/// Show or drop replies on their way to an agent
///
/// Without a command: `list`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct InboxArgs {
    #[command(subcommand)]
    action: Option<InboxAction>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum InboxAction {
    /// List what waits, what runs, and what was finished within a week
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Forget a reply that waits; it is not run any more
    Drop {
        /// Its id, or the beginning of it
        id: String,
    },
}

pub fn run(arguments: &InboxArgs) -> Result<()> {
    let paths = super::state_paths()?;
    match &arguments.action {
        None => list(&paths, arguments.json),
        Some(InboxAction::List { json }) => list(&paths, *json),
        Some(InboxAction::Drop { id }) => print(&format!("dropped {}", drop_reply(&paths, id)?)),
    }
}

/// One line of the list.
struct InboxRow {
    reply: Reply,
    state: &'static str,
    told: Vec<ThreadMessage>,
    result: Option<RunResult>,
}

fn shown(paths: &StatePaths) -> Result<Vec<InboxRow>> {
    let folder = || format!("could not read `{}`", paths.inbox_dir().display());
    let finished = inbox::finished(paths).with_context(folder)?;
    let mut shown: Vec<_> = finished
        .into_iter()
        .map(|(reply, result)| InboxRow { reply, state: "finished", told: Vec::new(), result })
        .collect();
    for entry in inbox::entries(paths).with_context(folder)? {
        let (state, result) = match entry.progress {
            ReplyProgress::Waiting => ("waiting", None),
            ReplyProgress::Running | ReplyProgress::Unstopped => ("running", None),
            ReplyProgress::Lost => ("lost", None),
            ReplyProgress::Ended(result) => ("ended", Some(result)),
        };
        shown.push(InboxRow { reply: entry.reply, state, told: entry.told, result });
    }
    Ok(shown)
}

fn list(paths: &StatePaths, as_json: bool) -> Result<()> {
    let shown = shown(paths)?;
    if as_json {
        let all: Vec<_> = shown.iter().map(to_json).collect();
        return print(&json!({"version": 1, "replies": all}).to_string());
    }
    if shown.is_empty() {
        return print("no replies");
    }
    for InboxRow { reply, state, result, .. } in &shown {
        let text = beginning(&reply.text);
        let outcome = result.as_ref().map(|result| format!(" {}", result.outcome.as_str()));
        let reason = result.as_ref().and_then(|result| result.reason);
        let reason = reason.map(|reason| format!(" {}", reason.as_str())).unwrap_or_default();
        let state = format!("{state}{}{reason}", outcome.unwrap_or_default());
        print(&format!("{} {} {state} {text}", reply.id, time_text(reply.received_at)))?;
    }
    Ok(())
}

/// Returns the start of the text, which suffices to recognise it.
fn beginning(text: &str) -> String {
    one_line(text).chars().take(40).collect::<String>().trim_end().to_owned()
}

fn to_json(shown: &InboxRow) -> Value {
    let InboxRow { reply, state, told, result } = shown;
    let [agent, session_id] = reply.to.words();
    json!({
        "id": reply.id,
        "source": reply.source.as_str(),
        "state": state,
        "tool": agent,
        "session_id": session_id,
        "thread_ts": reply.thread.as_ref().map(|thread| &thread.thread_ts),
        "received_at": time_text(reply.received_at),
        "text": beginning(&reply.text),
        "told": told.iter().map(|told| told.as_str()).collect::<Vec<_>>(),
        "result": result.as_ref().map(|result| json!({
            "outcome": result.outcome.as_str(),
            "reason": result.reason.map(Reason::as_str),
            "code": result.code,
            "stdout_bytes": result.stdout_bytes,
            "stderr_bytes": result.stderr_bytes,
            "ended_at": time_text(result.ended_at),
        })),
    })
}

fn print(line: &str) -> Result<()> {
    writeln!(output::stdout(), "{line}")?;
    Ok(())
}
