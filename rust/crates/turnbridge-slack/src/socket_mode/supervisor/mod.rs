//! Decides when to open a socket and when to close one. It does no I/O: the caller passes changes
//! and the time, and takes the returned steps.
//!
//! There is one socket, or for a moment two: at a refresh the new one is opened first, and the old
//! one is read until a little after the new one has received hello. It retries after every error,
//! except one that lasts until the user acts.

use std::collections::VecDeque;
use std::time::{Duration, Instant, SystemTime};

use super::event::{SocketEvent, SocketLoss, SocketWarning};
use super::timing::Timing;
use crate::call_error::{CallError, ConnectObstacle};

pub(crate) type SocketId = u64;

/// A time by both clocks. The wall clock advances while the machine sleeps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClockReading {
    pub at: Instant,
    pub wall: SystemTime,
}

impl ClockReading {
    pub fn now() -> ClockReading {
        ClockReading { at: Instant::now(), wall: SystemTime::now() }
    }

    /// Returns the time since `earlier`, by the clock that advanced more.
    pub fn since(self, earlier: ClockReading) -> Duration {
        let by_wall = self.wall.duration_since(earlier.wall).unwrap_or_default();
        self.at.saturating_duration_since(earlier.at).max(by_wall)
    }

    /// Returns whether the machine was asleep in between.
    pub fn has_slept_since(self, earlier: ClockReading, gap: Duration) -> bool {
        let by_wall = self.wall.duration_since(earlier.wall).unwrap_or_default();
        by_wall.saturating_sub(self.at.saturating_duration_since(earlier.at)) > gap
    }
}

/// A change that the caller passes to `handle`.
#[derive(Debug)]
pub(crate) enum SocketChange {
    Hello {
        id: SocketId,
        num_connections: u32,
        app_id: Option<String>,
    },
    Disconnect {
        id: SocketId,
        reason: String,
    },
    /// No socket by this id will be opened.
    Failed {
        id: SocketId,
        error: CallError,
    },
    /// The socket was connected and has ended; `heard` is the time of its last byte.
    Ended {
        id: SocketId,
        loss: SocketLoss,
        heard: ClockReading,
    },
    Retry,
}

/// A step that the caller takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SocketStep {
    Open(SocketId),
    /// Closes with a handshake. Messages that arrive before it are still acked.
    Close(SocketId),
    Report(SocketEvent),
}

struct LiveSocket {
    id: SocketId,
    /// The time at which it is closed, because it has a successor.
    retire_at: Option<Instant>,
    is_closing: bool,
}

pub(crate) struct Supervisor {
    timing: Timing,
    live: Vec<LiveSocket>,
    pending: Option<SocketId>,
    open_at: Option<Instant>,
    not_before: Option<Instant>,
    /// The end of a wait that Slack asked for. No retry of the caller shortens it.
    limited_until: Option<Instant>,
    failures: u32,
    is_stuck: bool,
    last_id: SocketId,
    up_until: Option<ClockReading>,
    /// The time at which the addresses requested so far would have been requested at the allowed
    /// pace.
    paced_until: Option<Instant>,
    /// The end times of sockets that Slack may still count.
    ghosts: VecDeque<Instant>,
}

impl Supervisor {
    pub fn new(timing: Timing, now: Instant) -> Supervisor {
        Supervisor {
            timing,
            live: Vec::new(),
            pending: None,
            open_at: Some(now),
            not_before: None,
            limited_until: None,
            failures: 0,
            is_stuck: false,
            last_id: 0,
            up_until: None,
            paced_until: None,
            ghosts: VecDeque::new(),
        }
    }

    /// Returns the time at which to call `tick` at the latest.
    pub fn next_wake(&self) -> Option<Instant> {
        let retirements = self.live.iter().filter(|live| !live.is_closing);
        retirements.filter_map(|live| live.retire_at).chain(self.open_at).min()
    }

    /// Returns the steps that are due by now.
    pub fn tick(&mut self, now: Instant) -> Vec<SocketStep> {
        let mut steps = Vec::new();
        for live in &mut self.live {
            if !live.is_closing && live.retire_at.is_some_and(|at| at <= now) {
                live.is_closing = true;
                steps.push(SocketStep::Close(live.id));
            }
        }
        if self.open_at.is_some_and(|at| at <= now) {
            match self.take_place(now) {
                Err(later) => self.open_at = Some(later),
                Ok(()) => {
                    self.open_at = None;
                    self.last_id += 1;
                    self.pending = Some(self.last_id);
                    steps.push(SocketStep::Open(self.last_id));
                }
            }
        }
        steps
    }

    /// Handles a change, and returns the steps that follow. `jitter` is between 0 and 1.
    pub fn handle(
        &mut self,
        change: SocketChange,
        now: ClockReading,
        jitter: f64,
    ) -> Vec<SocketStep> {
        let mut steps = match change {
            SocketChange::Hello { id, num_connections, app_id } => {
                self.greeted(id, num_connections, app_id, now)
            }
            SocketChange::Disconnect { id, reason } => {
                self.disconnect_requested(id, &reason, now.at)
            }
            SocketChange::Failed { id, error } if self.pending == Some(id) => {
                self.pending = None;
                self.failed(error, now.at, jitter)
            }
            SocketChange::Failed { .. } => Vec::new(),
            SocketChange::Ended { id, loss, heard } => self.ended(id, loss, heard, now.at, jitter),
            SocketChange::Retry => {
                self.is_stuck = false;
                self.failures = 0;
                self.not_before = None;
                if self.pending.is_none() && self.current().is_none() {
                    self.open_at = Some(self.limited_until.map_or(now.at, |at| at.max(now.at)));
                }
                Vec::new()
            }
        };
        steps.extend(self.tick(now.at));
        steps
    }

    fn greeted(
        &mut self,
        id: SocketId,
        num_connections: u32,
        app_id: Option<String>,
        now: ClockReading,
    ) -> Vec<SocketStep> {
        if self.pending != Some(id) {
            return vec![SocketStep::Close(id)];
        }
        self.pending = None;
        self.failures = 0;
        self.not_before = None;
        let gap = match self.live.iter().any(|live| !live.is_closing) {
            true => Some(Duration::ZERO),
            false => self.up_until.map(|before| now.since(before)),
        };
        for old in &mut self.live {
            old.retire_at.get_or_insert(now.at + self.timing.linger);
        }
        self.live.push(LiveSocket { id, retire_at: None, is_closing: false });
        let mut steps =
            vec![SocketStep::Report(SocketEvent::Connected { num_connections, app_id, gap })];
        self.ghosts.retain(|ended| *ended + self.timing.ghost > now.at);
        let ours = self.live.len() as u32;
        if num_connections as usize > self.live.len() + self.ghosts.len() {
            let warning = SocketWarning::OtherConnections { num_connections, ours };
            steps.push(SocketStep::Report(SocketEvent::Warning(warning)));
        }
        steps
    }

    fn disconnect_requested(
        &mut self,
        id: SocketId,
        reason: &str,
        now: Instant,
    ) -> Vec<SocketStep> {
        let (wait, warning) = match reason {
            "too_many_websockets" => (self.timing.too_many_wait, SocketWarning::TooManyConnections),
            "link_disabled" => (self.timing.link_disabled_wait, SocketWarning::SocketModeOff),
            // `warning`, `refresh_requested`, or a new reason. If it is repeated, it opens no
            // second socket.
            _ => {
                let is_free = self.pending.is_none() && self.open_at.is_none() && !self.is_stuck;
                if self.current() == Some(id) && is_free {
                    self.open_at = Some(now);
                }
                return Vec::new();
            }
        };
        self.not_before = Some(now + wait);
        self.open_at = self.open_at.map(|at| at.max(now + wait));
        let mut steps = vec![SocketStep::Report(SocketEvent::Warning(warning))];
        if let Some(live) = self.live.iter_mut().find(|live| live.id == id && !live.is_closing) {
            // The client closes it, because a server may forget to, and no event would come any
            // more.
            live.is_closing = true;
            steps.push(SocketStep::Close(id));
        }
        steps
    }

    fn ended(
        &mut self,
        id: SocketId,
        loss: SocketLoss,
        heard: ClockReading,
        now: Instant,
        jitter: f64,
    ) -> Vec<SocketStep> {
        self.ghosts.push_back(now);
        if self.pending == Some(id) {
            self.pending = None;
            let cause = ConnectObstacle::Connection(loss.to_string());
            return self.failed(CallError::NotSent { cause }, now, jitter);
        }
        let Some(index) = self.live.iter().position(|live| live.id == id) else {
            return Vec::new();
        };
        let ended = self.live.remove(index);
        if !self.live.iter().any(|live| !live.is_closing) {
            self.up_until = Some(heard);
        }
        let is_successor_up = ended.retire_at.is_some();
        if self.current().is_none() {
            // A socket that is left stays until there is a new one.
            self.live
                .iter_mut()
                .filter(|live| !live.is_closing)
                .for_each(|live| live.retire_at = None);
            if self.pending.is_none() && self.open_at.is_none() && !self.is_stuck {
                self.open_at = Some(self.not_before.map_or(now, |at| at.max(now)));
            }
        }
        if is_successor_up || ended.is_closing {
            return Vec::new();
        }
        vec![SocketStep::Report(SocketEvent::Lost { reason: loss })]
    }

    fn failed(&mut self, error: CallError, now: Instant, jitter: f64) -> Vec<SocketStep> {
        if error.is_permanent() {
            self.is_stuck = true;
            self.open_at = None;
            let hint = error.hint();
            return vec![SocketStep::Report(SocketEvent::Fatal { error, hint })];
        }
        let doubled = self.timing.back_off_first.saturating_mul(1 << self.failures.min(20));
        let back_off = doubled.min(self.timing.back_off_most).mul_f64(jitter.clamp(0.0, 1.0));
        self.failures = self.failures.saturating_add(1);
        let wait = match error {
            CallError::RateLimited { after } => {
                self.limited_until = Some(now + after);
                after + back_off
            }
            _ => back_off,
        };
        let wait = self.not_before.map_or(wait, |at| wait.max(at.saturating_duration_since(now)));
        self.open_at = Some(now + wait);
        vec![SocketStep::Report(SocketEvent::Retrying { error, after: wait })]
    }

    /// Returns the socket that has no successor.
    fn current(&self) -> Option<SocketId> {
        let current = self.live.iter().find(|live| live.retire_at.is_none() && !live.is_closing);
        current.map(|live| live.id)
    }

    /// Reserves a place in the pace of opening, or returns the time of the next place. Sockets that
    /// end right after hello would otherwise be opened without a pause.
    fn take_place(&mut self, now: Instant) -> Result<(), Instant> {
        let paced_until = self.paced_until.map_or(now, |until| until.max(now));
        let ahead = self.timing.open_every * self.timing.open_burst.saturating_sub(1);
        if paced_until > now + ahead {
            return Err(paced_until - ahead);
        }
        self.paced_until = Some(paced_until + self.timing.open_every);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
