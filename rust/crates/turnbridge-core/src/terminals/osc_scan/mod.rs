//! What a terminal's output says of the shell behind it: the folder, a prompt that is back, a
//! title; and that the output has stopped (KT-82). For hosts that own the terminal.
//!
//! A state machine over bytes, fed with any pieces. It passes nothing on and remembers little,
//! whatever comes in: a sequence that is longer than any real one is skipped. Time comes in with
//! the bytes.

mod meaning;

use std::time::Duration;

use crate::timestamp::Timestamp;

/// No path, and no title that anybody reads, is longer.
const LONGEST: usize = 8 << 10;

const BEL: u8 = 0x07;
const CANCEL: u8 = 0x18;
const SUBSTITUTE: u8 = 0x1a;
const ESCAPE: u8 = 0x1b;
/// The first byte of the C1 controls in UTF-8; no other character's second byte is this one.
const C1: u8 = 0xc2;
const C1_STRING_END: u8 = 0x9c;
const C1_OSC: u8 = 0x9d;

/// What the output told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// The shell is in another folder.
    Cwd {
        path: String,
        host: Option<String>,
    },
    /// The shell waits for a command: its prompt is marked, or it has told its folder (KT-44).
    PromptReturned,
    Title(String),
    /// Nothing has been written for a while.
    OutputStopped {
        last_at: Timestamp,
    },
    OutputResumed,
}

#[derive(Debug, Clone)]
pub struct Scanner {
    state: State,
    /// Of the sequence that is being read.
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
    /// `quiet` is how long nothing has to come before the output counts as stopped.
    pub fn new(quiet: Duration) -> Scanner {
        let (state, output) = (State::Ground, Output::None);
        Scanner { state, text: Vec::new(), cwd: None, quiet, output }
    }

    /// The next bytes of the stream, which came at `now`.
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

    /// Time has passed.
    pub fn tick(&mut self, now: Timestamp) -> Option<Seen> {
        let Output::Flowing { last_at } = self.output else { return None };
        if now.since(last_at) < self.quiet {
            return None;
        }
        self.output = Output::Stopped;
        Some(Seen::OutputStopped { last_at })
    }

    /// How long from `now` until a `tick` may tell something, if nothing comes before.
    pub fn next_tick(&self, now: Timestamp) -> Option<Duration> {
        match self.output {
            Output::Flowing { last_at } => Some(self.quiet.saturating_sub(now.since(last_at))),
            Output::None | Output::Stopped => None,
        }
    }

    fn take(&mut self, byte: u8, seen: &mut Vec<Seen>) {
        self.state = match (self.state, byte) {
            // Whatever was under way, these end it.
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
            // No such sequence has a line end or another control in it: it was none.
            (State::Osc, 0..0x20) => State::Ground,
            (State::Osc, _) => self.collect(&[byte]),
            (State::OscC1, _) => match self.collect(&[C1]) {
                State::Osc => {
                    self.state = State::Osc;
                    return self.take(byte, seen);
                }
                other => other,
            },
            // It was cut off; what follows stands for itself.
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
