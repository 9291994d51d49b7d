//! Finds events in the output of a pane's programs, for a host that owns the terminal and passes
//! the output on: a prompt has returned, output has stopped or resumed, a folder, a title. A
//! separate thread reads the bytes, so that missing output is noticed too.

use std::io::{ErrorKind, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use anyhow::{Context, Result};
use turnbridge_core::session::event::PaneEnd;
use turnbridge_core::terminals::osc_scan::{OscEvent, OscScanner};
use turnbridge_core::terminals::pane_id::PaneId;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::clock;
use turnbridge_store::state::pane_store;

use super::Registry;

/// Passes on the events in the output until it ends. After `quiet` without a byte the output counts
/// as stopped. With a pane, the events there are also recorded.
pub fn follow_output(
    output: impl Read + Send + 'static,
    quiet: Duration,
    acting: Option<(Registry<'_>, &PaneId)>,
    mut tell: impl FnMut(&OscEvent, Timestamp) -> Result<()>,
) -> Result<()> {
    let mut actor = acting.map(|(registry, pane)| Actor { registry, pane, has_stopped: false });
    let mut scanner = OscScanner::new(quiet);
    let chunks = read(output);
    loop {
        let chunk = next_chunk(&chunks, scanner.next_tick(clock::now()));
        let now = clock::now();
        let seen: Vec<OscEvent> = match &chunk {
            Chunk::Bytes(bytes) => scanner.feed(bytes, now),
            Chunk::Quiet => scanner.tick(now).into_iter().collect(),
            Chunk::End => break,
        };
        for event in &seen {
            tell(event, now)?;
            if let Some(actor) = &mut actor {
                actor.act(event)?;
            }
        }
    }
    actor.map_or(Ok(()), |actor| actor.registry.leave(actor.pane, PaneEnd::Closed))
}

enum Chunk {
    Bytes(Vec<u8>),
    /// No byte came before the timeout.
    Quiet,
    End,
}

/// Reads the output in a thread. A few chunks are buffered; then the writer blocks, as it would for
/// a screen.
fn read(mut output: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = sync_channel(4);
    std::thread::spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        loop {
            match output.read(&mut buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
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

fn next_chunk(chunks: &Receiver<Vec<u8>>, timeout: Option<Duration>) -> Chunk {
    let Some(timeout) = timeout else {
        return chunks.recv().map_or(Chunk::End, Chunk::Bytes);
    };
    match chunks.recv_timeout(timeout) {
        Ok(bytes) => Chunk::Bytes(bytes),
        Err(RecvTimeoutError::Timeout) => Chunk::Quiet,
        Err(RecvTimeoutError::Disconnected) => Chunk::End,
    }
}

/// Records the events of a pane.
struct Actor<'a> {
    registry: Registry<'a>,
    pane: &'a PaneId,
    has_stopped: bool,
}

impl Actor<'_> {
    fn act(&mut self, seen: &OscEvent) -> Result<()> {
        match seen {
            OscEvent::PromptReturned => {
                self.registry.leave(self.pane, PaneEnd::PromptReturned)?;
                self.has_stopped = false;
            }
            OscEvent::OutputStopped { last_at } => {
                self.has_stopped = self.note_output(Some(*last_at));
            }
            OscEvent::OutputResumed if self.has_stopped => {
                self.has_stopped = false;
                self.note_output(None);
            }
            OscEvent::OutputResumed | OscEvent::Cwd { .. } | OscEvent::Title(_) => {}
        }
        Ok(())
    }

    /// Records whether the output has stopped, if an agent was launched in the pane. Returns
    /// `false` if nothing was written.
    fn note_output(&self, stopped_at: Option<Timestamp>) -> bool {
        let Registry { paths, remark, .. } = self.registry;
        if !pane_store::read(paths).launches.contains_key(self.pane) {
            return false;
        }
        let noted = pane_store::update(paths, |panes| {
            if let Some(launched) = panes.launches.get_mut(self.pane) {
                launched.output_stopped_at = stopped_at;
            }
        });
        if let Err(error) = noted.context("could not note whether the output has stopped") {
            remark(&format!("{error:#}"));
        }
        true
    }
}
