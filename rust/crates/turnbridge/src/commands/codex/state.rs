//! `turnbridge codex state`: the state of a thread, from its rollout file. The tool for reports
//! of a wrong state: `--trace` shows which line made it.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use serde_json::{Value, json};
use turnbridge_core::agents::codex::rollout::{RolloutThread, ThreadState};
use turnbridge_core::agents::codex::rollout_wire::{Line, RolloutReader};
use turnbridge_core::ids::{Agent, SessionId, SessionKey, is_uuid};
use turnbridge_core::session::advance::advance;
use turnbridge_core::session::event::ProcessKey;
use turnbridge_core::session::{Detail, Session};
use turnbridge_core::text::visible_text::visible_line;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::foreign::codex_lock::{self, Writer};
use turnbridge_store::foreign::codex_rollouts;
use turnbridge_store::paths::codex_home;

use crate::failure::hinted;
use crate::output;

/// Lines can be of any length; they are never held as a whole.
const CHUNK: usize = 256 << 10;

/// Print the state of a Codex thread
///
/// One of `working`, `waiting_user`, `completed`, `failed`, `aborted`, or `none` while nothing
/// has happened. An approval on the screen leaves no trace in the file: that is `working`. A turn
/// that a killed Codex has left open is `stopped` once another Codex has the thread open.
#[derive(Debug, Args)]
pub struct Arguments {
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

pub fn run(arguments: &Arguments) -> Result<()> {
    let path = find_rollout(&arguments.thread)?;
    let mut out = output::buffered_stdout();
    let mut reading = Reading::new();
    read(&path, |line| {
        let name = line.name.clone();
        let state = reading.take(line);
        if !arguments.trace {
            return Ok(());
        }
        let number = reading.lines;
        if arguments.json {
            writeln!(out, "{}", json!({"line": number, "record": name, "state": state.as_str()}))?;
        } else {
            writeln!(out, "{number}\t{}\t{}", visible_line(&name), state.as_str())?;
        }
        Ok(())
    })?;
    let id = reading.thread.meta().and_then(|meta| meta.id.clone());
    reading.is_left = id.is_some_and(|id| codex_rollouts::is_turn_left(&path, &id));
    if arguments.json {
        let live = is_live(&path, reading.thread.meta().and_then(|meta| meta.id.as_deref()));
        writeln!(out, "{}", reading.to_json(live))?;
    } else {
        writeln!(out, "{}", reading.state().as_str())?;
    }
    out.flush()?;
    Ok(())
}

struct Reading {
    thread: RolloutThread,
    session: Session,
    lines: u64,
    /// Another Codex has the thread open than the one that began its last turn.
    is_left: bool,
}

impl Reading {
    fn new() -> Reading {
        let id = SessionId::parse("thread").expect("a valid id");
        Reading {
            thread: RolloutThread::default(),
            session: Session::new(SessionKey::new(Agent::Codex, id), Timestamp::default()),
            lines: 0,
            is_left: false,
        }
    }

    fn take(&mut self, line: Line) -> ThreadState {
        self.lines += 1;
        for event in self.thread.take(line) {
            let event = self.thread.event(event, self.session.key.id.clone(), ProcessKey::UNKNOWN);
            let empty =
                Session::new(SessionKey::new(Agent::Codex, event.session.id.clone()), event.at);
            let session = std::mem::replace(&mut self.session, empty);
            self.session = advance(session, &event).0;
        }
        self.state()
    }

    fn state(&self) -> ThreadState {
        if self.is_left { ThreadState::Stopped } else { ThreadState::of(&self.session) }
    }

    fn to_json(&self, live: Option<bool>) -> Value {
        let meta = self.thread.meta();
        json!({
            "version": 1,
            "state": self.state().as_str(),
            "live": live,
            "error": self.session.detail().and_then(Detail::error),
            "thread_id": meta.and_then(|meta| meta.id.as_deref()),
            "root_id": meta.and_then(|meta| meta.root_id.as_deref()),
            "kind": meta.map(|meta| meta.kind.as_str()),
            "cli_version": meta.and_then(|meta| meta.cli_version.as_deref()),
            "cwd": self.thread.cwd(),
            "turn_id": self.thread.turn_id(),
            "prompt": self.thread.prompt(),
            "answer": self.thread.answer(),
        })
    }
}

fn read(path: &Path, mut each: impl FnMut(Line) -> Result<()>) -> Result<()> {
    let failed = || format!("could not read `{}`", path.display());
    let mut file = File::open(path).with_context(failed)?;
    let mut reader = RolloutReader::default();
    let mut chunk = vec![0; CHUNK];
    let mut result = Ok(());
    loop {
        let length = file.read(&mut chunk).with_context(failed)?;
        if length == 0 {
            break;
        }
        reader.feed(&chunk[..length], |line| {
            if result.is_ok() {
                result = each(line);
            }
        });
        std::mem::replace(&mut result, Ok(()))?;
    }
    reader.finish().map_or(Ok(()), each)
}

/// `None` when it cannot be told, as for a file outside of Codex's own folders.
fn is_live(rollout: &Path, thread_id: Option<&str>) -> Option<bool> {
    match codex_lock::writer(&codex_rollouts::home_of(rollout)?, thread_id?) {
        Writer::Held => Some(true),
        Writer::Free => Some(false),
        Writer::Unknown => None,
    }
}

/// What is there as a file is a file; else it must be an id.
fn find_rollout(thread: &Path) -> Result<PathBuf> {
    if thread.exists() {
        return Ok(thread.to_owned());
    }
    let shown = thread.display();
    let id = thread.to_str().filter(|text| is_uuid(text)).ok_or_else(|| {
        hinted(
            format!("there is no file `{shown}`, and it is no thread id"),
            "a thread id is a UUID; the name of a rollout file ends in it",
        )
    })?;
    let home = codex_home()
        .ok_or_else(|| hinted("could not find Codex's folder", "set HOME or CODEX_HOME"))?;
    codex_rollouts::find(&home, id).ok_or_else(|| {
        hinted(
            format!("no rollout of thread `{shown}` below `{}`", home.display()),
            "set CODEX_HOME if Codex keeps its sessions elsewhere, or give the file",
        )
    })
}
