//! Serves one WebSocket from its upgrade to its end, in its connection's thread: it sends `hello`,
//! reads the client's messages and records acks and violations. `sockets.rs` writes the events.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use tungstenite::error::ProtocolError;
use tungstenite::{Error, Message};

use super::deliveries::Deliveries;
use super::events;
use super::server::{SlackServerShared, SlackServerState};
use super::socket_wire::{SocketWire, accept_upgrade};
use super::sockets::{Cut, Greeting, SlackSocket, SocketEntry, SocketState, Sockets};
use super::tls::SocketConnection;
use crate::http_wire::HttpRequest;

/// The limit of connections that Slack allows one app.
const MOST_SOCKETS: usize = 10;

/// Serves a WebSocket to its end. Returns the connection if it must be reset.
pub(super) fn serve_socket(
    mut connection: SocketConnection,
    read_ahead: Vec<u8>,
    request: &HttpRequest,
    shared: &SlackServerShared,
) -> io::Result<Option<SocketConnection>> {
    let ticket = request.query.split('&').find_map(|pair| pair.strip_prefix("ticket="));
    let answer = accept_upgrade(request);
    let greeting = {
        let mut state = shared.lock();
        let is_known = ticket.is_some_and(|ticket| state.workspace.take_ticket(ticket));
        match (is_known, &answer) {
            (false, _) => {
                state
                    .sockets
                    .violations
                    .push("came with a ticket that was used or never given".into());
                Greeting::Status(401)
            }
            (_, None) => {
                state.sockets.violations.push("asked for no proper WebSocket".into());
                Greeting::Status(400)
            }
            (true, Some(_)) => state.sockets.greetings.pop_front().unwrap_or(Greeting::Hello),
        }
    };
    if let Greeting::Status(status) = greeting {
        let response = format!("HTTP/1.1 {status} -\r\ncontent-length: 0\r\n\r\n");
        connection.write_all(response.as_bytes())?;
        connection.finish();
        return Ok(None);
    }
    connection.write_all(answer.unwrap_or_default().as_bytes())?;
    connection.flush()?;
    let line = Arc::new(SocketWire::new(connection, read_ahead)?);
    let id = register(shared, &line);
    greet(shared, &line, id, greeting);
    receive_to_the_end(shared, &line, id)
}

fn register(shared: &SlackServerShared, line: &Arc<SocketWire>) -> u64 {
    let mut state = shared.lock();
    let now = Instant::now();
    let id = state.sockets.entries.len() as u64 + 1;
    let socket = SlackSocket {
        id,
        state: SocketState::New,
        told: None,
        envelopes: 0,
        acks: 0,
        pings: 0,
        pongs: 0,
        opened_at: now,
        ended_at: None,
    };
    let entry = SocketEntry {
        socket,
        line: Some(Arc::clone(line)),
        cut: None,
        next_ping: now + state.workspace.setup.ping_every,
        pings_sent: 0,
        unanswered: None,
        close_at: None,
    };
    state.sockets.entries.insert(id, entry);
    id
}

fn greet(shared: &SlackServerShared, line: &SocketWire, id: u64, greeting: Greeting) {
    match greeting {
        Greeting::Never | Greeting::Status(_) => return,
        Greeting::End => return line.finish_writing(),
        Greeting::Late(pause) => shared.pause(pause),
        Greeting::Hello => {}
    }
    // It is open before the client can know. The writer sees that, and must wait for the line.
    line.send_made(|| {
        let mut state = shared.lock();
        let connections = state.sockets.count_open();
        let SlackServerState { workspace, sockets, .. } = &mut *state;
        let entry = sockets.entries.get_mut(&id)?;
        if entry.socket.state != SocketState::New {
            return None;
        }
        let text = if connections > MOST_SOCKETS {
            entry.socket.told = Some("too_many_websockets".to_owned());
            entry.close_at = Some(Instant::now());
            events::disconnect("too_many_websockets")
        } else {
            events::hello(&workspace.setup, connections)
        };
        entry.socket.state = SocketState::Open;
        Some(Message::text(text.to_string()))
    });
    shared.notify();
}

fn receive_to_the_end(
    shared: &SlackServerShared,
    line: &Arc<SocketWire>,
    id: u64,
) -> io::Result<Option<SocketConnection>> {
    loop {
        line.wait();
        let cut = shared.lock().sockets.entries.get(&id).and_then(|entry| entry.cut);
        match cut {
            Some(Cut::HalfOpen) => {
                shared.wait_while(SlackServerState::is_up);
                return Ok(end(shared, line, id, SocketState::Cut));
            }
            Some(Cut::Reset) => return Ok(end(shared, line, id, SocketState::Cut)),
            Some(Cut::Fin | Cut::Close(_)) | None => {}
        }
        let received = line.receive();
        let mut closed_by_client = false;
        let mut state = shared.lock();
        for message in received.messages {
            closed_by_client |= message.is_close();
            handle(&mut state.sockets, id, &message);
        }
        let is_cut = state.sockets.entries.get(&id).is_some_and(|entry| entry.cut.is_some());
        if let (Some(Error::Protocol(error)), false) = (&received.end, is_cut)
            && *error != ProtocolError::ResetWithoutClosingHandshake
        {
            state.sockets.violations.push(format!("socket {id}: {error}"));
        }
        drop(state);
        shared.notify();
        if let Some(error) = received.end {
            let is_closed = closed_by_client || matches!(error, Error::ConnectionClosed);
            let end_state = if is_closed { SocketState::Closed } else { SocketState::Dropped };
            end(shared, line, id, end_state);
            return Ok(None);
        }
    }
}

/// Records the end. Returns the connection if it must be reset.
fn end(
    shared: &SlackServerShared,
    line: &SocketWire,
    id: u64,
    end_state: SocketState,
) -> Option<SocketConnection> {
    let mut state = shared.lock();
    let now = Instant::now();
    let is_up = state.is_up();
    let SlackServerState { workspace, sockets, .. } = &mut *state;
    let entry = sockets.entries.get_mut(&id)?;
    entry.socket.state = if entry.cut.is_some() || !is_up { SocketState::Cut } else { end_state };
    entry.socket.ended_at = Some(now);
    entry.line = None;
    let is_reset = entry.cut == Some(Cut::Reset);
    sockets.deliveries.socket_ended(&workspace.setup, id, now);
    drop(state);
    shared.notify();
    line.take_connection().filter(|_| is_reset)
}

fn handle(sockets: &mut Sockets, id: u64, message: &Message) {
    let now = Instant::now();
    let Some(entry) = sockets.entries.get_mut(&id) else { return };
    let problem = match message {
        Message::Text(text) => match serde_json::from_str::<Value>(text) {
            Ok(value) => {
                entry.socket.acks += 1;
                take_ack(&mut sockets.deliveries, id, &value, now).err()
            }
            Err(_) => Some("sent a text that is no JSON"),
        },
        Message::Binary(_) => Some("sent a binary message"),
        Message::Ping(_) => {
            entry.socket.pings += 1;
            None
        }
        Message::Pong(payload) => {
            // The newest pong suffices: it answers all earlier pings.
            if payload == format!("loopback {}", entry.pings_sent).as_bytes() {
                entry.unanswered = None;
            }
            entry.socket.pongs += 1;
            None
        }
        Message::Close(_) | Message::Frame(_) => None,
    };
    if let Some(problem) = problem {
        sockets.violations.push(format!("socket {id}: {problem}"));
    }
}

fn take_ack(
    deliveries: &mut Deliveries,
    socket: u64,
    ack: &Value,
    now: Instant,
) -> Result<(), &'static str> {
    let envelope_id = ack["envelope_id"].as_str().ok_or("sent a text without an envelope id")?;
    // The official client always adds an empty one.
    let has_payload = match &ack["payload"] {
        Value::Null => false,
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    };
    deliveries.ack(envelope_id, socket, has_payload, now)
}
