//! Keeps the state of all Socket Mode sockets, their queue of frames, and the clients' violations.
//! One thread here writes events, pings and `disconnect`; `socket_session.rs` sends `hello` and
//! reads.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tungstenite::Message;

use super::deliveries::{Deliveries, EnvelopeShape};
use super::events;
use super::server::{SlackServerShared, SlackServerState};
use super::socket_wire::{SocketWire, shaped};
use super::workspace::AppEvent;

/// The server's behaviour at the start of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    Hello,
    /// `hello` comes after this delay.
    Late(Duration),
    /// Connected, without `hello`.
    Never,
    /// The stream ends before `hello`.
    End,
    /// No WebSocket: this HTTP status.
    Status(u16),
}

/// The way in which the server breaks a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    Reset,
    /// The end of the stream without a close frame.
    Fin,
    /// A close frame with this code.
    Close(u16),
    /// No more reads and writes, without any signal. Slack counts it as open.
    HalfOpen,
}

/// The state of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketState {
    /// Connected, before `hello`.
    New,
    Open,
    HalfOpen,
    /// Ended by the server.
    Cut,
    /// Ended by the client with a close frame.
    Closed,
    /// Ended by the client without one.
    Dropped,
}

/// One WebSocket, open or ended.
#[derive(Clone, Debug)]
pub struct SlackSocket {
    pub id: u64,
    pub state: SocketState,
    /// The reason of the `disconnect` that it was sent.
    pub told: Option<String>,
    /// The envelopes sent to it, and the acks received from it.
    pub envelopes: usize,
    pub acks: usize,
    /// The pings and pongs of the client.
    pub pings: usize,
    pub pongs: usize,
    pub opened_at: Instant,
    pub ended_at: Option<Instant>,
}

impl SlackSocket {
    /// Returns whether Slack counts it as open.
    pub fn is_open(&self) -> bool {
        matches!(self.state, SocketState::New | SocketState::Open | SocketState::HalfOpen)
    }
}

/// A socket, with the data that the server needs to serve it.
pub(super) struct SocketEntry {
    pub(super) socket: SlackSocket,
    /// The connection, or `None` after its end.
    pub(super) line: Option<Arc<SocketWire>>,
    pub(super) cut: Option<Cut>,
    pub(super) next_ping: Instant,
    pub(super) pings_sent: u32,
    /// The time of the oldest ping without a pong.
    pub(super) unanswered: Option<Instant>,
    pub(super) close_at: Option<Instant>,
}

/// All sockets and their queue, and the behaviour that tests have requested.
#[derive(Default)]
pub(super) struct Sockets {
    pub(super) deliveries: Deliveries,
    pub(super) violations: Vec<String>,
    pub(super) greetings: VecDeque<Greeting>,
    pub(super) shapes: VecDeque<EnvelopeShape>,
    pub(super) entries: BTreeMap<u64, SocketEntry>,
    queue: VecDeque<(u64, Vec<Message>)>,
}

impl Sockets {
    /// Returns every socket so far, in order.
    pub(super) fn all(&self) -> Vec<SlackSocket> {
        self.entries.values().map(|entry| entry.socket.clone()).collect()
    }

    /// Returns the number of sockets that Slack counts as open.
    pub(super) fn count_open(&self) -> usize {
        self.entries.values().filter(|entry| entry.socket.is_open()).count()
    }

    /// Queues frames for every socket that has got its `hello`. Returns their number.
    pub(super) fn broadcast(&mut self, messages: &[Message]) -> usize {
        let is_heard = |entry: &&SocketEntry| entry.socket.state == SocketState::Open;
        let ids: Vec<u64> =
            self.entries.values().filter(is_heard).map(|entry| entry.socket.id).collect();
        for id in &ids {
            self.queue.push_back((*id, messages.to_vec()));
        }
        ids.len()
    }

    /// Queues `disconnect` for every open socket that did not get it yet. Returns their number.
    pub(super) fn tell(&mut self, reason: &str, close_at: Instant) -> usize {
        let mut count = 0;
        for entry in self.entries.values_mut() {
            if entry.socket.state == SocketState::Open && entry.socket.told.is_none() {
                entry.socket.told = Some(reason.to_owned());
                entry.close_at = Some(close_at);
                let text = events::disconnect(reason).to_string();
                self.queue.push_back((entry.socket.id, vec![Message::text(text)]));
                count += 1;
            }
        }
        count
    }

    /// Marks the open sockets as cut and returns their connections. The caller cuts these, because
    /// it then holds no lock.
    pub(super) fn cut(&mut self, cut: Cut) -> Vec<Arc<SocketWire>> {
        let mut lines = Vec::new();
        for entry in self.entries.values_mut() {
            if matches!(entry.socket.state, SocketState::New | SocketState::Open) {
                entry.cut = Some(cut);
                entry.socket.state = match cut {
                    Cut::HalfOpen => SocketState::HalfOpen,
                    _ => SocketState::Cut,
                };
                lines.extend(entry.line.clone());
            }
        }
        lines
    }

    /// Returns the candidates for the next event: sockets that got a `disconnect` only if there are
    /// no others, and half-open ones last.
    fn choices(&self) -> Vec<u64> {
        let ranks: [fn(&SlackSocket) -> bool; 3] = [
            |socket| socket.state == SocketState::Open && socket.told.is_none(),
            |socket| socket.state == SocketState::Open,
            |socket| socket.state == SocketState::HalfOpen,
        ];
        let of_rank = |rank: fn(&SlackSocket) -> bool| {
            let sockets = self.entries.values().map(|entry| &entry.socket);
            sockets.filter(|socket| rank(socket)).map(|socket| socket.id).collect::<Vec<_>>()
        };
        ranks.into_iter().map(of_rank).find(|ids| !ids.is_empty()).unwrap_or_default()
    }
}

/// The work of one round of the writer.
enum WriterTask {
    Send(Arc<SocketWire>, Vec<Message>),
    Close(Arc<SocketWire>),
}

/// Writes to all sockets until the server stops. It runs in its own thread.
pub(super) fn write_to_sockets(shared: &SlackServerShared) {
    let mut state = shared.lock();
    while !state.is_stopped() {
        let now = Instant::now();
        let work = next_work(&mut state, now);
        if work.is_empty() {
            let next = state.sockets.next_change(now + Duration::from_secs(60));
            state = shared.wait_until(state, next);
            continue;
        }
        drop(state);
        for step in work {
            match step {
                WriterTask::Send(line, messages) => line.send(messages),
                WriterTask::Close(line) => line.close(1000),
            }
        }
        state = shared.lock();
    }
}

fn next_work(state: &mut SlackServerState, now: Instant) -> Vec<WriterTask> {
    let SlackServerState { workspace, sockets, .. } = state;
    let setup = &workspace.setup;
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    for raised in std::mem::take(&mut workspace.raised) {
        match raised {
            AppEvent::Event(event) => sockets.deliveries.raise(setup, event, since_1970, now),
            AppEvent::Other { kind, payload } => {
                sockets.deliveries.raise_other(&kind, payload, now);
            }
        }
    }
    sockets.deliveries.expire(setup, now);
    let mut work = Vec::new();
    let Sockets { entries, queue, violations, .. } = sockets;
    for (id, messages) in queue.drain(..) {
        let entry = entries.get(&id).filter(|entry| entry.socket.state == SocketState::Open);
        work.extend(
            entry.and_then(|entry| entry.line.clone()).map(|line| WriterTask::Send(line, messages)),
        );
    }
    for entry in entries.values_mut() {
        let Some(line) = entry.line.clone() else { continue };
        if !matches!(entry.socket.state, SocketState::New | SocketState::Open) {
            continue;
        }
        if entry.unanswered.is_some_and(|since| now >= since + setup.pong_within) {
            violations.push(format!("socket {}: answered no ping", entry.socket.id));
            entry.unanswered = None;
        }
        if now >= entry.next_ping {
            entry.next_ping = now + setup.ping_every;
            entry.pings_sent += 1;
            entry.unanswered.get_or_insert(now);
            let payload = format!("loopback {}", entry.pings_sent);
            work.push(WriterTask::Send(Arc::clone(&line), vec![Message::Ping(payload.into())]));
        }
        if entry.close_at.is_some_and(|at| now >= at) {
            entry.cut = Some(Cut::Close(1000));
            entry.socket.state = SocketState::Cut;
            work.push(WriterTask::Close(line));
        }
    }
    loop {
        let choices = sockets.choices();
        let shape = sockets.shapes.front().copied().unwrap_or(EnvelopeShape::Whole);
        let Some(due) = sockets.deliveries.next_due(setup, &choices, shape, now) else { break };
        let Some(outgoing) = due else { continue };
        sockets.shapes.pop_front();
        let Some(entry) = sockets.entries.get_mut(&outgoing.socket) else { continue };
        entry.socket.envelopes += 1;
        // A half-open socket gets nothing, although Slack counts the envelope as sent.
        if let (SocketState::Open, Some(line)) = (entry.socket.state, &entry.line) {
            work.push(WriterTask::Send(Arc::clone(line), shaped(outgoing.text, shape)));
        }
    }
    work
}

impl Sockets {
    fn next_change(&self, at_latest: Instant) -> Instant {
        let of_entries = self
            .entries
            .values()
            .filter(|entry| matches!(entry.socket.state, SocketState::New | SocketState::Open));
        let of_entries = of_entries
            .flat_map(|entry| [Some(entry.next_ping), entry.close_at].into_iter().flatten());
        of_entries.chain(self.deliveries.next_change()).fold(at_latest, Instant::min)
    }
}
