//! Scans a terminal's output for the state of its shell: the folder, a returned prompt, a title;
//! and for the end of output (KT-82). It serves hosts that own the terminal.
//!
//! A state machine over bytes, fed with chunks of any size. It passes no bytes on and stores little
//! for any input: a sequence longer than any real one is skipped. The time is an argument, with the
//! bytes.

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

/// An observation in the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
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
pub struct Scanner {
    state: State,
    /// The text of the current sequence.
    text: Vec<u8>,
    cwd: Option<(String, Option<String>)>,
    quiet: Duration,
    output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
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
enum Output {
    None,
    Flowing { last_at: Timestamp },
    Stopped,
}

impl Scanner {
    /// Builds a scanner. `quiet` is the time after which output counts as stopped.
    pub fn new(quiet: Duration) -> Scanner {
        let (state, output) = (State::Ground, Output::None);
        Scanner { state, text: Vec::new(), cwd: None, quiet, output }
    }

    /// Takes the next bytes of the stream, which arrived at `now`.
    pub fn feed(&mut self, bytes: &[u8], now: Timestamp) -> Vec<Seen> {
        let mut seen = Vec::new();
        if bytes.is_empty() {
            return seen;
        }
        if self.output == Output::Stopped {
            seen.push(Seen::OutputResumed);
        }
        self.output = Output::Flowing { last_at: now };
        for byte in bytes {
            self.take(*byte, &mut seen);
        }
        seen
    }

    /// Returns an observation if the time without output is long enough.
    pub fn tick(&mut self, now: Timestamp) -> Option<Seen> {
        let Output::Flowing { last_at } = self.output else { return None };
        if now.since(last_at) < self.quiet {
            return None;
        }
        self.output = Output::Stopped;
        Some(Seen::OutputStopped { last_at })
    }

    /// Returns how long from `now` until a `tick` may return an observation without further output.
    pub fn next_tick(&self, now: Timestamp) -> Option<Duration> {
        match self.output {
            Output::Flowing { last_at } => Some(self.quiet.saturating_sub(now.since(last_at))),
            Output::None | Output::Stopped => None,
        }
    }

    fn take(&mut self, byte: u8, seen: &mut Vec<Seen>) {
        self.state = match (self.state, byte) {
            // These end any sequence.
            (_, CANCEL | SUBSTITUTE) => State::Ground,
            (State::Osc | State::OscC1, ESCAPE) => State::OscEscape,
            (_, ESCAPE) if self.state != State::OscEscape => State::Escape,
            (State::Ground, C1) => State::GroundC1,
            (State::Ground, _) => State::Ground,
            (State::GroundC1, C1) => State::GroundC1,
            (State::Escape, b']') | (State::GroundC1 | State::OscC1 | State::SkippedC1, C1_OSC) => {
                self.text.clear();
                State::Osc
            }
            (State::GroundC1, _) => State::Ground,
            (State::Escape, C1) => State::GroundC1,
            (State::Escape, _) => State::Ground,
            (State::Osc, BEL) | (State::OscC1, C1_STRING_END) | (State::OscEscape, b'\\') => {
                self.finish(seen);
                State::Ground
            }
            (State::Osc, C1) => State::OscC1,
            // No such sequence contains a line end or another control: it was none.
            (State::Osc, 0..0x20) => State::Ground,
            (State::Osc, _) => self.collect(&[byte]),
            (State::OscC1, _) => match self.collect(&[C1]) {
                State::Osc => {
                    self.state = State::Osc;
                    return self.take(byte, seen);
                }
                other => other,
            },
            // The sequence was cut off; the next byte begins a new one.
            (State::OscEscape, _) => {
                self.state = State::Escape;
                return self.take(byte, seen);
            }
            (State::Skipped, BEL | b'\n') | (State::SkippedC1, C1_STRING_END | BEL | b'\n') => {
                State::Ground
            }
            (State::Skipped | State::SkippedC1, C1) => State::SkippedC1,
            (State::Skipped | State::SkippedC1, _) => State::Skipped,
        };
    }

    fn collect(&mut self, bytes: &[u8]) -> State {
        if self.text.len() + bytes.len() > LONGEST {
            self.text = Vec::new();
            return State::Skipped;
        }
        self.text.extend_from_slice(bytes);
        State::Osc
    }

    fn finish(&mut self, seen: &mut Vec<Seen>) {
        for told in meaning::of_sequence(&std::mem::take(&mut self.text)) {
            if let Seen::Cwd { path, host } = &told {
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
