//! Scans a terminal's output for the state of its shell (the folder, a returned prompt, a title),
//! and detects when output stops and resumes (KT-82). It serves host applications that own the
//! terminal.
//!
//! It is a state machine over bytes, fed with chunks of any size. It stores little for any input: a
//! sequence longer than any real one is skipped. The caller passes the time with the bytes.

mod meaning;

use std::time::Duration;

use crate::timestamp::Timestamp;

/// The limit of a sequence. No path and no readable title is longer.
const LONGEST: usize = 8 << 10;

const BEL: u8 = 0x07;
const CANCEL: u8 = 0x18;
const SUBSTITUTE: u8 = 0x1a;
const ESCAPE: u8 = 0x1b;
/// The first byte of the C1 controls in UTF-8; no other character has it as its second byte.
const C1: u8 = 0xc2;
const C1_STRING_END: u8 = 0x9c;
const C1_OSC: u8 = 0x9d;

/// An observation in a terminal's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OscEvent {
    /// The shell is in another folder.
    Cwd {
        path: String,
        host: Option<String>,
    },
    /// The shell waits for a command: its prompt is marked, or it has reported its folder (KT-44).
    PromptReturned,
    Title(String),
    /// The terminal has had no output for a while.
    OutputStopped {
        last_at: Timestamp,
    },
    OutputResumed,
}

#[derive(Debug, Clone)]
pub struct OscScanner {
    state: ScanState,
    /// The text of the current sequence.
    text: Vec<u8>,
    cwd: Option<(String, Option<String>)>,
    quiet: Duration,
    output: OutputFlow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScanState {
    Ground,
    /// After the first byte of a C1 control.
    GroundC1,
    Escape,
    Osc,
    OscC1,
    OscEscape,
    /// A sequence that is too long, up to its end.
    Skipped,
    SkippedC1,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputFlow {
    None,
    Flowing { last_at: Timestamp },
    Stopped,
}

impl OscScanner {
    /// Returns a scanner. `quiet` is the time after which output counts as stopped.
    pub fn new(quiet: Duration) -> OscScanner {
        let (state, output) = (ScanState::Ground, OutputFlow::None);
        OscScanner { state, text: Vec::new(), cwd: None, quiet, output }
    }

    /// Takes the next bytes of the stream, which arrived at `now`, and returns the observations in
    /// them.
    pub fn feed(&mut self, bytes: &[u8], now: Timestamp) -> Vec<OscEvent> {
        let mut seen = Vec::new();
        if bytes.is_empty() {
            return seen;
        }
        if self.output == OutputFlow::Stopped {
            seen.push(OscEvent::OutputResumed);
        }
        self.output = OutputFlow::Flowing { last_at: now };
        for byte in bytes {
            self.read_byte(*byte, &mut seen);
        }
        seen
    }

    /// Returns `OutputStopped`, once, if the time without output is long enough.
    pub fn tick(&mut self, now: Timestamp) -> Option<OscEvent> {
        let OutputFlow::Flowing { last_at } = self.output else { return None };
        if now.since(last_at) < self.quiet {
            return None;
        }
        self.output = OutputFlow::Stopped;
        Some(OscEvent::OutputStopped { last_at })
    }

    /// Returns how long from `now` until a `tick` may return an observation without further output.
    pub fn next_tick(&self, now: Timestamp) -> Option<Duration> {
        match self.output {
            OutputFlow::Flowing { last_at } => Some(self.quiet.saturating_sub(now.since(last_at))),
            OutputFlow::None | OutputFlow::Stopped => None,
        }
    }

    fn read_byte(&mut self, byte: u8, seen: &mut Vec<OscEvent>) {
        self.state = match (self.state, byte) {
            // These end any sequence.
            (_, CANCEL | SUBSTITUTE) => ScanState::Ground,
            (ScanState::Osc | ScanState::OscC1, ESCAPE) => ScanState::OscEscape,
            (_, ESCAPE) if self.state != ScanState::OscEscape => ScanState::Escape,
            (ScanState::Ground, C1) => ScanState::GroundC1,
            (ScanState::Ground, _) => ScanState::Ground,
            (ScanState::GroundC1, C1) => ScanState::GroundC1,
            (ScanState::Escape, b']')
            | (ScanState::GroundC1 | ScanState::OscC1 | ScanState::SkippedC1, C1_OSC) => {
                self.text.clear();
                ScanState::Osc
            }
            (ScanState::GroundC1, _) => ScanState::Ground,
            (ScanState::Escape, C1) => ScanState::GroundC1,
            (ScanState::Escape, _) => ScanState::Ground,
            (ScanState::Osc, BEL)
            | (ScanState::OscC1, C1_STRING_END)
            | (ScanState::OscEscape, b'\\') => {
                self.finish(seen);
                ScanState::Ground
            }
            (ScanState::Osc, C1) => ScanState::OscC1,
            // No such sequence contains a line end or another control: it was none.
            (ScanState::Osc, 0..0x20) => ScanState::Ground,
            (ScanState::Osc, _) => self.collect(&[byte]),
            (ScanState::OscC1, _) => match self.collect(&[C1]) {
                ScanState::Osc => {
                    self.state = ScanState::Osc;
                    return self.read_byte(byte, seen);
                }
                other => other,
            },
            // The sequence was cut off; the next byte begins a new one.
            (ScanState::OscEscape, _) => {
                self.state = ScanState::Escape;
                return self.read_byte(byte, seen);
            }
            (ScanState::Skipped, BEL | b'\n')
            | (ScanState::SkippedC1, C1_STRING_END | BEL | b'\n') => ScanState::Ground,
            (ScanState::Skipped | ScanState::SkippedC1, C1) => ScanState::SkippedC1,
            (ScanState::Skipped | ScanState::SkippedC1, _) => ScanState::Skipped,
        };
    }

    fn collect(&mut self, bytes: &[u8]) -> ScanState {
        if self.text.len() + bytes.len() > LONGEST {
            self.text = Vec::new();
            return ScanState::Skipped;
        }
        self.text.extend_from_slice(bytes);
        ScanState::Osc
    }

    fn finish(&mut self, seen: &mut Vec<OscEvent>) {
        for told in meaning::of_sequence(&std::mem::take(&mut self.text)) {
            if let OscEvent::Cwd { path, host } = &told {
                let cwd = Some((path.clone(), host.clone()));
                if self.cwd == cwd {
                    continue;
                }
                self.cwd = cwd;
            }
            seen.push(told);
        }
    }
}

#[cfg(test)]
mod tests;
