//! Reads the state of a Codex thread from its rollout, line by line, for `turnbridge codex state`.
//! The file may be outside of Codex's folder; then it is unknown whether a Codex has the thread
//! open.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use turnbridge_core::agents::codex::rollout::{RolloutThread, ThreadState};
use turnbridge_core::agents::codex::rollout_wire::{RolloutLine, RolloutReader};
use turnbridge_core::ids::{Agent, SessionId, SessionKey, is_uuid};
use turnbridge_core::session::advance::advance;
use turnbridge_core::session::event::ProcessKey;
use turnbridge_core::session::{Detail, Session};
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::foreign::codex_lock::{self, ThreadWriter};
use turnbridge_store::foreign::codex_rollouts;
use turnbridge_store::paths::codex_home;

use crate::failure::hinted;

/// The size of one read. Lines can be of any length, and are never in memory as a whole.
const CHUNK: usize = 256 << 10;

/// A thread, with the state that its rollout shows.
pub struct CodexThread {
    path: PathBuf,
    thread: RolloutThread,
    session: Session,
    lines: u64,
    /// Whether a Codex was killed in the last turn, and another one has the thread open.
    is_left: bool,
}

/// The state of the thread after one line of its rollout.
pub struct AfterLine<'a> {
    pub number: u64,
    pub record: &'a str,
    pub state: ThreadState,
}

impl CodexThread {
    /// Reads the whole rollout, and calls `tell` with the state after each line.
    pub fn read(
        path: PathBuf,
        mut tell: impl FnMut(AfterLine<'_>) -> Result<()>,
    ) -> Result<CodexThread> {
        let id = SessionId::parse("thread").expect("a valid id");
        let mut reading = CodexThread {
            path: path.clone(),
            thread: RolloutThread::default(),
            session: Session::new(SessionKey::new(Agent::Codex, id), Timestamp::default()),
            lines: 0,
            is_left: false,
        };
        each_line(&path, |line| {
            let record = line.name.clone();
            let state = reading.read_line(line);
            tell(AfterLine { number: reading.lines, record: &record, state })
        })?;
        reading.is_left = reading.id().is_some_and(|id| codex_rollouts::is_turn_left(&path, id));
        Ok(reading)
    }

    fn read_line(&mut self, line: RolloutLine) -> ThreadState {
        self.lines += 1;
        for event in self.thread.read_line(line) {
            let event = self.thread.event(event, self.session.key.id.clone(), ProcessKey::UNKNOWN);
            let empty =
                Session::new(SessionKey::new(Agent::Codex, event.session.id.clone()), event.at);
            let session = std::mem::replace(&mut self.session, empty);
            self.session = advance(session, &event).0;
        }
        self.state()
    }

    fn id(&self) -> Option<&str> {
        self.thread.meta().and_then(|meta| meta.id.as_deref())
    }

    /// Returns the state after the last line. A turn that a killed Codex has left counts as
    /// stopped.
    pub fn state(&self) -> ThreadState {
        if self.is_left { ThreadState::Stopped } else { ThreadState::of(&self.session) }
    }

    /// Returns `None` if this is unknown, as for a file outside of Codex's own folders.
    fn is_live(&self) -> Option<bool> {
        match codex_lock::writer(&codex_rollouts::home_of(&self.path)?, self.id()?) {
            ThreadWriter::Held => Some(true),
            ThreadWriter::Free => Some(false),
            ThreadWriter::Unknown => None,
        }
    }

    /// Returns the output of `turnbridge codex state --json`.
    pub fn to_json(&self) -> Value {
        let meta = self.thread.meta();
        json!({
            "version": 1,
            "state": self.state().as_str(),
            "live": self.is_live(),
            "error": self.session.detail().and_then(Detail::error),
            "thread_id": self.id(),
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

fn each_line(path: &Path, mut each: impl FnMut(RolloutLine) -> Result<()>) -> Result<()> {
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

/// Returns the path itself if it exists, else the rollout of the thread with this id.
pub fn find_rollout(thread: &Path) -> Result<PathBuf> {
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
