//! A loopback Anthropic Messages API that says what a test tells it to say and keeps what it was asked.
//! It understands no prompt: a reply is chosen by the conversation a request belongs to, never by its meaning.
//!
//! Agents also ask the model on the side (titles, summaries). Those requests carry no tools; they get a fixed
//! text and take nothing from the script.

use std::io::{self, BufReader, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};

use crate::http_wire::{self, Request};
use crate::message_wire;
use crate::reply::{Body, Reply, Script};
use crate::wait::wait_until;

/// The server; stopped when dropped.
pub struct MessagesApi {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    script: Script,
    requests: Vec<Value>,
    connections: Vec<TcpStream>,
    stopped: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic in one connection's thread must not hide the test's own message behind a poisoned lock.
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl MessagesApi {
    #[track_caller]
    pub fn start(script: impl Into<Script>) -> MessagesApi {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind a loopback port");
        let address = listener.local_addr().expect("address of the loopback port");
        let shared = Arc::new(Shared::default());
        shared.lock().script = script.into();
        let acceptor = thread::Builder::new()
            .name("messages-api".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || accept_connections(&listener, &shared)
            })
            .expect("start the thread of the loopback model API");
        MessagesApi { address, shared, acceptor: Some(acceptor) }
    }

    /// What `ANTHROPIC_BASE_URL` must be.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Queues an answer for the main conversation.
    pub fn push(&self, reply: Reply) {
        self.shared.lock().script.push(reply);
    }

    /// Queues answers for the conversation whose first user message contains `marker`; see [`Script::on`].
    pub fn on(&self, marker: &str, replies: Vec<Reply>) {
        self.shared.lock().script.push_on(marker, replies);
    }

    /// The bodies of all requests so far that carried tools, in the order they came in.
    pub fn requests(&self) -> Vec<Value> {
        self.shared.lock().requests.clone()
    }

    /// Waits until `count` such requests have come in and returns them. The last one may not be answered yet.
    #[track_caller]
    pub fn wait_for_requests(&self, count: usize, timeout: Duration) -> Vec<Value> {
        wait_until(timeout, &format!("model request number {count}"), || {
            let requests = self.requests();
            (requests.len() >= count).then_some(requests)
        })
    }
}

impl Drop for MessagesApi {
    fn drop(&mut self) {
        let connections = {
            let mut state = self.shared.lock();
            state.stopped = true;
            std::mem::take(&mut state.connections)
        };
        for connection in connections {
            let _ = connection.shutdown(Shutdown::Both);
        }
        // `accept` cannot be interrupted by anything but a connection.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

fn accept_connections(listener: &TcpListener, shared: &Arc<Shared>) {
    for connection in listener.incoming().flatten() {
        let mut state = shared.lock();
        if state.stopped {
            return;
        }
        let Ok(kept) = connection.try_clone() else { continue };
        state.connections.push(kept);
        drop(state);
        let shared = Arc::clone(shared);
        // A connection ends by the client leaving (Esc, a kill) as often as by its own end: neither is a fault.
        thread::spawn(move || serve_connection(connection, &shared));
    }
}

fn serve_connection(mut connection: TcpStream, shared: &Shared) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut reader = BufReader::new(connection.try_clone()?);
    while let Some(request) = http_wire::read_request(&mut reader)? {
        answer(&mut connection, &request, shared)?;
        if !request.keep_alive {
            break;
        }
    }
    connection.shutdown(Shutdown::Both)
}

fn answer(writer: &mut impl Write, request: &Request, shared: &Shared) -> io::Result<()> {
    match (request.method.as_str(), request.path.as_str()) {
        ("POST", "/v1/messages") => match serde_json::from_slice(&request.body) {
            Ok(body) => answer_messages(writer, body, shared),
            Err(error) => {
                let body = message_wire::error("invalid_request_error", &error.to_string());
                http_wire::write_response(writer, 400, body.to_string().as_bytes())
            }
        },
        ("POST", "/v1/messages/count_tokens") => http_wire::write_response(
            writer,
            200,
            json!({"input_tokens": 1}).to_string().as_bytes(),
        ),
        _ => http_wire::write_response(writer, 404, b""),
    }
}

fn answer_messages(writer: &mut impl Write, body: Value, shared: &Shared) -> io::Result<()> {
    let model = body["model"].as_str().unwrap_or("unknown").to_owned();
    let streams = body["stream"] == true;
    let reply = choose_reply(body, shared);
    thread::sleep(reply.before_first_byte);
    match &reply.body {
        Body::Error { status, kind, message } => http_wire::write_response(
            writer,
            *status,
            message_wire::error(kind, message).to_string().as_bytes(),
        ),
        Body::Message(blocks) if streams => {
            http_wire::begin_events(writer)?;
            for event in message_wire::events(&model, blocks) {
                let name = event.data["type"].as_str().unwrap_or_default();
                http_wire::write_event(writer, name, &event.data.to_string())?;
                if event.is_first_text {
                    thread::sleep(reply.after_first_text);
                }
            }
            http_wire::end_events(writer)
        }
        Body::Message(blocks) => http_wire::write_response(
            writer,
            200,
            message_wire::message(&model, blocks).to_string().as_bytes(),
        ),
    }
}

fn choose_reply(body: Value, shared: &Shared) -> Reply {
    let has_tools = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    if !has_tools {
        return Reply::text("Test session");
    }
    // One lock for both: the order of `requests()` is the order in which the replies were handed out.
    let mut state = shared.lock();
    let reply = state.script.next(&message_wire::first_user_text(&body));
    state.requests.push(body);
    reply
}
