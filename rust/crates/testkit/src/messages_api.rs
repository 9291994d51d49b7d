//! Runs a loopback Anthropic Messages API that sends scripted replies and records its requests.
//! The first user message of a conversation selects the queue of replies; prompts are not
//! interpreted otherwise.
//!
//! Agents also make side requests to the model (titles, summaries), which carry no tools. Those get
//! a fixed text, use no scripted reply and are not recorded.

use std::io;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::http_wire::{self, HttpRequest};
use crate::message_wire;
use crate::model_server::{ModelServer, ModelServerShared};
use crate::reply::{ModelReply, ReplyBody, Script};

/// A running loopback Messages API. A drop stops it.
pub struct MessagesApi {
    server: ModelServer,
}

impl MessagesApi {
    /// Starts the server on a free loopback port.
    #[track_caller]
    pub fn start(script: impl Into<Script>) -> MessagesApi {
        MessagesApi { server: ModelServer::start("messages-api", script.into(), answer) }
    }

    /// Returns the value for `ANTHROPIC_BASE_URL`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    /// Queues a reply for the main conversation.
    pub fn push(&self, reply: ModelReply) {
        self.server.shared.lock().script.push(reply);
    }

    /// Queues replies for the conversation whose first user message contains `marker`; see
    /// [`Script::on`].
    pub fn on(&self, marker: &str, replies: Vec<ModelReply>) {
        self.server.shared.lock().script.push_on(marker, replies);
    }

    /// Returns the bodies of all requests with tools so far, in the order of receipt.
    pub fn requests(&self) -> Vec<Value> {
        self.server.requests()
    }

    /// Waits until there are `count` such requests, and returns all of them. The last one may have
    /// no response yet.
    #[track_caller]
    pub fn wait_for_requests(&self, count: usize, timeout: Duration) -> Vec<Value> {
        self.server.wait_for_requests(count, timeout)
    }
}

fn answer(
    writer: &mut TcpStream,
    request: &HttpRequest,
    shared: &ModelServerShared,
) -> io::Result<()> {
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
        _ => shared.refuse(writer, request),
    }
}

fn answer_messages(
    writer: &mut TcpStream,
    body: Value,
    shared: &ModelServerShared,
) -> io::Result<()> {
    let model = body["model"].as_str().unwrap_or("unknown").to_owned();
    let streams = body["stream"] == true;
    let reply = choose_reply(body, shared);
    thread::sleep(reply.before_first_byte);
    match &reply.body {
        ReplyBody::Error { status, kind, message } => http_wire::write_response(
            writer,
            *status,
            message_wire::error(kind, message).to_string().as_bytes(),
        ),
        ReplyBody::Message(blocks) if streams => {
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
        ReplyBody::Message(blocks) => http_wire::write_response(
            writer,
            200,
            message_wire::message(&model, blocks).to_string().as_bytes(),
        ),
    }
}

fn choose_reply(body: Value, shared: &ModelServerShared) -> ModelReply {
    let has_tools = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    if !has_tools {
        return ModelReply::text("Test session");
    }
    // One lock for both: the order of `requests()` equals the order of the replies.
    let mut state = shared.lock();
    let reply = state.script.next(&message_wire::first_user_text(&body));
    state.requests.push(body);
    reply
}
