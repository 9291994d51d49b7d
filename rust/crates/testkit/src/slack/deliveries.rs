//! Decides which open socket gets which event, and records each delivery and its ack. It writes to
//! no connection.
//!
//! An event without an ack is sent again: immediately, after a minute and after five (here with
//! shorter delays); then it is lost. An event raised while no socket is open counts as not acked,
//! so it arrives only as a retry. Button clicks and slash commands are not sent again.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::events;
use super::faults::FaultRng;
use super::setup::SlackSetup;

/// One attempt to deliver an event to the app.
#[derive(Clone, Debug)]
pub struct EventDelivery {
    /// The event's id, which is the same in all its deliveries. Empty if it is no event, like a
    /// button click.
    pub event_id: String,
    pub envelope_id: String,
    /// The `ts` of the event, by which a test identifies it.
    pub ts: Option<String>,
    /// The socket, or `None` if none was open.
    pub socket: Option<u64>,
    pub retry_attempt: u32,
    pub at: Instant,
    pub acked_at: Option<Instant>,
}

/// The result of an event's deliveries so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFate {
    pub event_id: String,
    pub ts: Option<String>,
    pub deliveries: u32,
    /// The `retry_attempt` of the delivery whose ack came first.
    pub acked_attempt: Option<u32>,
    /// Whether Slack has given up: no attempt was acked.
    pub lost: bool,
}

/// One ack by a client.
#[derive(Clone, Debug)]
pub struct Ack {
    pub envelope_id: String,
    pub event_id: String,
    pub socket: u64,
    pub at: Instant,
}

/// The way in which an envelope is split into frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnvelopeShape {
    /// In one frame.
    Whole,
    /// In this many frames.
    Fragments(usize),
    /// Two times with the same envelope id, which Slack has been observed to do.
    Twice,
}

enum EventProgress {
    /// The time of the next delivery.
    Due(Instant),
    /// Sent; the time at which it counts as lost.
    Sent(Instant),
    Acked(u32),
    Lost,
}

struct QueuedEvent {
    id: String,
    kind: String,
    ts: Option<String>,
    payload: Value,
    attempts: u32,
    progress: EventProgress,
}

struct Sent {
    event: usize,
    delivery: usize,
    /// How often it was sent, and acked.
    times: u32,
    acks: u32,
}

/// The queue of events, and the records of deliveries and acks.
#[derive(Default)]
pub(super) struct Deliveries {
    events: Vec<QueuedEvent>,
    log: Vec<EventDelivery>,
    envelopes: BTreeMap<String, Sent>,
    acks: Vec<Ack>,
    random: FaultRng,
}

/// An envelope that must be written to a socket.
pub(super) struct Outgoing {
    pub(super) socket: u64,
    pub(super) text: String,
}

impl Deliveries {
    /// Queues an event for delivery. `event` is the inner one.
    pub(super) fn raise(
        &mut self,
        setup: &SlackSetup,
        event: Value,
        since_1970: Duration,
        now: Instant,
    ) {
        let id = format!("Ev0LOOPBACK{:05}", self.events.len() + 1);
        let ts = event["ts"].as_str().map(str::to_owned);
        let payload = events::callback(setup, &id, since_1970.as_secs(), event);
        self.push(id, "events_api", ts, payload, now);
    }

    /// Queues a payload that is no event, such as a button click. It is not retried.
    pub(super) fn raise_other(&mut self, kind: &str, payload: Value, now: Instant) {
        self.push(String::new(), kind, None, payload, now);
    }

    fn push(&mut self, id: String, kind: &str, ts: Option<String>, payload: Value, now: Instant) {
        let progress = EventProgress::Due(now);
        self.events.push(QueuedEvent {
            id,
            kind: kind.to_owned(),
            ts,
            payload,
            attempts: 0,
            progress,
        });
    }

    /// Begins the next due delivery, to a random one of the sockets in `choices`. Returns `None` if
    /// no event is due, and `Some(None)` if there was no socket.
    pub(super) fn next_due(
        &mut self,
        setup: &SlackSetup,
        choices: &[u64],
        shape: EnvelopeShape,
        now: Instant,
    ) -> Option<Option<Outgoing>> {
        let is_due =
            |event: &QueuedEvent| matches!(event.progress, EventProgress::Due(at) if at <= now);
        let index = self.events.iter().position(is_due)?;
        let envelope_id = self.random.next_uuid();
        let socket = match choices {
            [] => None,
            _ => Some(choices[(self.random.next_fraction() * choices.len() as f64) as usize]),
        };
        let event = &mut self.events[index];
        let attempt = event.attempts;
        event.attempts += 1;
        self.log.push(EventDelivery {
            event_id: event.id.clone(),
            envelope_id: envelope_id.clone(),
            ts: event.ts.clone(),
            socket,
            retry_attempt: attempt,
            at: now,
            acked_at: None,
        });
        let Some(socket) = socket else {
            event.fail(setup, now);
            return Some(None);
        };
        event.progress = EventProgress::Sent(now + setup.ack_within);
        let text = events::envelope(&envelope_id, &event.kind, &event.payload, attempt).to_string();
        let times = if shape == EnvelopeShape::Twice { 2 } else { 1 };
        let sent = Sent { event: index, delivery: self.log.len() - 1, times, acks: 0 };
        self.envelopes.insert(envelope_id, sent);
        Some(Some(Outgoing { socket, text }))
    }

    /// Schedules a retry of each event whose ack did not come before the timeout.
    pub(super) fn expire(&mut self, setup: &SlackSetup, now: Instant) {
        for event in &mut self.events {
            if let EventProgress::Sent(until) = event.progress
                && until <= now
            {
                event.fail(setup, until);
            }
        }
    }

    /// Schedules a retry of each event that was sent to this socket and not acked.
    pub(super) fn socket_ended(&mut self, setup: &SlackSetup, socket: u64, now: Instant) {
        for sent in self.envelopes.values().filter(|sent| sent.acks == 0) {
            let delivery = &self.log[sent.delivery];
            let event = &mut self.events[sent.event];
            let is_last = delivery.retry_attempt + 1 == event.attempts;
            if delivery.socket == Some(socket)
                && is_last
                && matches!(event.progress, EventProgress::Sent(_))
            {
                event.fail(setup, now);
            }
        }
    }

    /// Records an ack. Returns an error if the ack violates Slack's rules.
    pub(super) fn ack(
        &mut self,
        envelope_id: &str,
        socket: u64,
        has_payload: bool,
        now: Instant,
    ) -> Result<(), &'static str> {
        let Some(sent) = self.envelopes.get_mut(envelope_id) else {
            return Err("acked an envelope that nobody sent");
        };
        let event = &mut self.events[sent.event];
        let delivery = &mut self.log[sent.delivery];
        if delivery.socket != Some(socket) {
            return Err("acked an envelope of another socket");
        }
        if sent.acks == sent.times {
            return Err("acked an envelope again");
        }
        sent.acks += 1;
        if has_payload && event.kind != "slash_commands" {
            return Err("answered an envelope that takes no answer");
        }
        delivery.acked_at.get_or_insert(now);
        let event_id = event.id.clone();
        self.acks.push(Ack { envelope_id: envelope_id.to_owned(), event_id, socket, at: now });
        if !matches!(event.progress, EventProgress::Acked(_)) {
            event.progress = EventProgress::Acked(delivery.retry_attempt);
        }
        Ok(())
    }

    /// Returns the time of the next delivery or timeout.
    pub(super) fn next_change(&self) -> Option<Instant> {
        let changes = self.events.iter().filter_map(|event| match event.progress {
            EventProgress::Due(at) | EventProgress::Sent(at) => Some(at),
            EventProgress::Acked(_) | EventProgress::Lost => None,
        });
        changes.min()
    }

    pub(super) fn log(&self) -> Vec<EventDelivery> {
        self.log.clone()
    }

    pub(super) fn acks(&self) -> Vec<Ack> {
        self.acks.clone()
    }

    /// Returns the result of every event so far, without other payloads.
    pub(super) fn fates(&self) -> Vec<EventFate> {
        let events = self.events.iter().filter(|event| !event.id.is_empty());
        let fate = |event: &QueuedEvent| EventFate {
            event_id: event.id.clone(),
            ts: event.ts.clone(),
            deliveries: event.attempts,
            acked_attempt: match event.progress {
                EventProgress::Acked(attempt) => Some(attempt),
                _ => None,
            },
            lost: matches!(event.progress, EventProgress::Lost),
        };
        events.map(fate).collect()
    }
}

impl QueuedEvent {
    /// Records a failed attempt.
    fn fail(&mut self, setup: &SlackSetup, now: Instant) {
        let retries = if self.kind == "events_api" { &setup.retry_after[..] } else { &[] };
        self.progress = match retries.get(self.attempts as usize - 1) {
            Some(wait) => EventProgress::Due(now + *wait),
            None => EventProgress::Lost,
        };
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct DeliveryTest {
        deliveries: Deliveries,
        setup: SlackSetup,
        start: Instant,
    }

    impl DeliveryTest {
        fn new() -> DeliveryTest {
            let setup = SlackSetup {
                ack_within: Duration::from_secs(3),
                retry_after: [0, 60, 300].map(Duration::from_secs),
                ..SlackSetup::default()
            };
            let mut books =
                DeliveryTest { deliveries: Deliveries::default(), setup, start: Instant::now() };
            let event = json!({"type": "message", "ts": "1.000001"});
            books.deliveries.raise(&books.setup, event, Duration::ZERO, books.start);
            books
        }

        fn at(&self, seconds: u64) -> Instant {
            self.start + Duration::from_secs(seconds)
        }

        /// Returns the parsed envelope that is sent at that second.
        fn sent(&mut self, seconds: u64, sockets: &[u64]) -> Option<Value> {
            let now = self.at(seconds);
            self.deliveries.expire(&self.setup, now);
            let due =
                self.deliveries.next_due(&self.setup, sockets, EnvelopeShape::Whole, now)??;
            Some(serde_json::from_str(&due.text).unwrap())
        }

        fn ack(&mut self, envelope: &Value, socket: u64) -> Result<(), &'static str> {
            let id = envelope["envelope_id"].as_str().unwrap();
            let now = self.at(0);
            self.deliveries.ack(id, socket, false, now)
        }

        fn fate(&self) -> (u32, Option<u32>, bool) {
            let fate = &self.deliveries.fates()[0];
            (fate.deliveries, fate.acked_attempt, fate.lost)
        }
    }

    #[test]
    fn what_is_not_acked_comes_again_at_once_then_after_one_and_five_minutes() {
        let mut books = DeliveryTest::new();
        let first = books.sent(0, &[1]).unwrap();
        assert_eq!((&first["retry_attempt"], &first["retry_reason"]), (&json!(0), &json!("")));
        assert!(books.sent(2, &[1]).is_none());
        for (attempt, second) in [(1, 3), (2, 66), (3, 369)] {
            assert!(books.sent(second - 1, &[1]).is_none(), "{second}");
            let again = books.sent(second, &[1]).unwrap();
            assert_eq!(again["retry_attempt"], attempt);
            assert_eq!(again["retry_reason"], "timeout");
            assert_eq!(again["payload"], first["payload"]);
            assert_ne!(again["envelope_id"], first["envelope_id"]);
        }
        assert!(books.sent(10_000, &[1]).is_none());
        assert_eq!(books.fate(), (4, None, true));
    }

    #[test]
    fn an_event_without_a_socket_arrives_as_a_retry() {
        let mut books = DeliveryTest::new();
        assert!(books.sent(0, &[]).is_none());
        assert_eq!(books.sent(0, &[7]).unwrap()["retry_attempt"], 1);
        assert_eq!(books.deliveries.log()[0].socket, None);
    }

    #[test]
    fn an_ack_ends_the_retries_whichever_delivery_it_is_for() {
        let mut books = DeliveryTest::new();
        let first = books.sent(0, &[1]).unwrap();
        books.sent(3, &[2]).unwrap();
        assert_eq!(books.ack(&first, 1), Ok(()));
        assert!(books.sent(100, &[1]).is_none());
        assert_eq!(books.fate(), (2, Some(0), false));
    }

    #[test]
    fn what_was_on_its_way_to_a_socket_that_ends_comes_again() {
        let mut books = DeliveryTest::new();
        books.sent(0, &[1]).unwrap();
        let now = books.at(1);
        books.deliveries.socket_ended(&books.setup, 2, now);
        assert!(books.sent(1, &[3]).is_none());
        books.deliveries.socket_ended(&books.setup, 1, now);
        assert_eq!(books.sent(1, &[3]).unwrap()["retry_attempt"], 1);
    }

    #[test]
    fn a_wrong_ack_is_seen() {
        let mut books = DeliveryTest::new();
        let sent = books.sent(0, &[1]).unwrap();
        assert_eq!(books.ack(&sent, 2), Err("acked an envelope of another socket"));
        assert_eq!(books.ack(&sent, 1), Ok(()));
        assert_eq!(books.ack(&sent, 1), Err("acked an envelope again"));
        let unknown = json!({"envelope_id": "x"});
        assert_eq!(books.ack(&unknown, 1), Err("acked an envelope that nobody sent"));
    }
}
