//! `turnbridge pane scan`: what a terminal's output tells, for a host that owns the terminal and
//! hands the output over on stdin. The bytes are read by a thread of their own, so that it is seen
//! when none come.

use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::{Value, json};
use turnbridge_core::session::event::PaneEnd;
use turnbridge_core::terminals::osc_scan::{Scanner, Seen};
use turnbridge_core::terminals::pane_id::PaneId;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::clock;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::pane_store;

use super::PaneArgument;
use crate::failure::note;
use crate::output;

/// Tell what a terminal's output says, one line of JSON for each event
///
/// Reads the output of the pane's programs, as it goes to the screen, from stdin: `cwd` (OSC 7,
/// 9;9), `prompt` (OSC 133;A, or a folder that was told), `title`, `output_stopped` and
/// `output_resumed`.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    pane: PaneArgument,
    /// Print JSON, as it does without this
    #[arg(long)]
    json: bool,
    /// Also do what `pane prompt` does when a prompt is seen, and `pane close` at the end of stdin;
    /// and note when the output stops
    #[arg(long)]
    act: bool,
    /// How long nothing must come before the output counts as stopped
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0, value_parser = seconds)]
    quiet: f64,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds is wanted".to_owned())?;
    let is_sound = (0.01..=86_400.0).contains(&seconds);
    is_sound.then_some(seconds).ok_or_else(|| "between 0.01 and 86400 seconds".to_owned())
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let paths = super::super::state_paths()?;
    let pane = match arguments.pane.resolve(&paths, &super::surroundings()) {
        Ok(pane) => Some(pane),
        // A name is needed only for doing something.
        Err(_) if !arguments.act && arguments.pane.pane.is_none() => None,
        Err(error) => return Err(error),
    };
    let acting = pane.clone().filter(|_| arguments.act);
    let mut host = Acting { paths, pane: acting, has_stopped: false };
    let mut scanner = Scanner::new(Duration::from_secs_f64(arguments.quiet));
    let chunks = read_stdin();
    loop {
        let chunk = next_chunk(&chunks, scanner.next_tick(clock::now()));
        let now = clock::now();
        let seen: Vec<Seen> = match &chunk {
            Chunk::Bytes(bytes) => scanner.feed(bytes, now),
            Chunk::Quiet => scanner.tick(now).into_iter().collect(),
            Chunk::End => break,
        };
        for event in &seen {
            print(event, pane.as_ref(), now)?;
            host.act(event)?;
        }
    }
    match &host.pane {
        Some(pane) => super::leave_pane(&host.paths, pane, PaneEnd::Closed),
        None => Ok(()),
    }
}

enum Chunk {
    Bytes(Vec<u8>),
    /// None came for as long as was waited.
    Quiet,
    End,
}

/// A few pieces may lie ready; then whoever writes waits, as it would for a screen.
fn read_stdin() -> Receiver<Vec<u8>> {
    let (sender, receiver) = sync_channel(4);
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        let mut buffer = vec![0; 64 << 10];
        loop {
            match stdin.read(&mut buffer) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Ok(length) if length > 0 => {
                    if sender.send(buffer[..length].to_vec()).is_err() {
                        return;
                    }
                }
                _ => return,
            }
        }
    });
    receiver
}

fn next_chunk(chunks: &Receiver<Vec<u8>>, patience: Option<Duration>) -> Chunk {
    let Some(patience) = patience else {
        return chunks.recv().map_or(Chunk::End, Chunk::Bytes);
    };
    match chunks.recv_timeout(patience) {
        Ok(bytes) => Chunk::Bytes(bytes),
        Err(RecvTimeoutError::Timeout) => Chunk::Quiet,
        Err(RecvTimeoutError::Disconnected) => Chunk::End,
    }
}

fn print(seen: &Seen, pane: Option<&PaneId>, now: Timestamp) -> Result<()> {
    let mut line = match seen {
        Seen::Cwd { path, host } => json!({"event": "cwd", "path": path, "host": host}),
        Seen::PromptReturned => json!({"event": "prompt"}),
        Seen::Title(title) => json!({"event": "title", "title": title}),
        Seen::OutputStopped { last_at } => {
            json!({"event": "output_stopped", "last_output_at": last_at.to_string()})
        }
        Seen::OutputResumed => json!({"event": "output_resumed"}),
    };
    line["version"] = json!(1);
    line["at"] = Value::String(now.to_string());
    line["pane"] = json!(pane.map(PaneId::as_str));
    let mut out = output::stdout();
    writeln!(out, "{line}")?;
    out.flush()?;
    Ok(())
}

struct Acting {
    paths: StatePaths,
    /// `None`: only to be told.
    pane: Option<PaneId>,
    has_stopped: bool,
}

impl Acting {
    fn act(&mut self, seen: &Seen) -> Result<()> {
        let Some(pane) = &self.pane else { return Ok(()) };
        match seen {
            Seen::PromptReturned => {
                super::leave_pane(&self.paths, pane, PaneEnd::PromptReturned)?;
                self.has_stopped = false;
            }
            Seen::OutputStopped { last_at } => {
                self.has_stopped = self.note_output(Some(*last_at));
            }
            Seen::OutputResumed if self.has_stopped => {
                self.has_stopped = false;
                self.note_output(None);
            }
            Seen::OutputResumed | Seen::Cwd { .. } | Seen::Title(_) => {}
        }
        Ok(())
    }

    /// Only where an agent was launched: elsewhere nobody asks. `false`: nothing is written.
    fn note_output(&self, stopped_at: Option<Timestamp>) -> bool {
        let Some(pane) = &self.pane else { return false };
        if !pane_store::read(&self.paths).launches.contains_key(pane) {
            return false;
        }
        let noted = pane_store::update(&self.paths, |panes| {
            if let Some(launched) = panes.launches.get_mut(pane) {
                launched.output_stopped_at = stopped_at;
            }
        });
        if let Err(error) = noted.context("could not note whether the output has stopped") {
            note(&format!("{error:#}"));
        }
        true
    }
}
