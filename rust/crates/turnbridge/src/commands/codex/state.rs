//! `turnbridge codex state`: prints the state of a thread, computed from its rollout file.
//! `--trace` shows which line led to it, for reports of a wrong state.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use turnbridge_core::text::visible_text::visible_line;
use turnbridge_system::observe::codex_thread::{CodexThread, find_rollout};

use crate::output;

/// Print the state of a Codex thread
///
/// One of `working`, `waiting_user`, `completed`, `failed`, `aborted`, or `none` while nothing
/// has happened. An approval on the screen leaves no trace in the file: that is `working`. A turn
/// that a killed Codex has left open is `stopped` once another Codex has the thread open.
#[derive(Debug, Args)]
pub struct CodexStateArgs {
    /// A rollout file, or a thread's id
    #[arg(value_name = "FILE|THREAD-ID")]
    thread: PathBuf,
    /// Print JSON; its `live` says whether a Codex has the thread open
    #[arg(long)]
    json: bool,
    /// Print the state after each line too
    #[arg(long)]
    trace: bool,
}

pub fn run(arguments: &CodexStateArgs) -> Result<()> {
    let path = find_rollout(&arguments.thread)?;
    let mut out = output::buffered_stdout();
    let thread = CodexThread::read(path, |line| {
        let (number, state) = (line.number, line.state.as_str());
        if arguments.trace && arguments.json {
            writeln!(out, "{}", json!({"line": number, "record": line.record, "state": state}))?;
        } else if arguments.trace {
            writeln!(out, "{number}\t{}\t{state}", visible_line(line.record))?;
        }
        Ok(())
    })?;
    match arguments.json {
        true => writeln!(out, "{}", thread.to_json())?,
        false => writeln!(out, "{}", thread.state().as_str())?,
    }
    Ok(out.flush()?)
}
