//! Runs a loopback OpenAI Responses API for the real Codex: it sends scripted replies and records
//! its requests. It does not interpret prompts: it selects a reply by the first text of the
//! conversation.
//!
//! A tool call of a [`ModelReply`] has the form that Codex's model uses. An object as input makes
//! it a `function_call` (`exec_command`), a string makes it a `custom_tool_call` (`functions.exec`
//! with JavaScript). The part before a dot in the name is the namespace. A [`ModelReply::error`]
//! with status 200 fails in the stream, like a long context.

use std::io;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::http_wire::{self, HttpRequest};
use crate::model_server::{ModelServer, ModelServerShared};
use crate::reply::{ModelReply, ReplyBody, Script};
use crate::response_wire;

/// A running loopback Responses API. A drop stops it.
pub struct ResponsesApi {
    server: ModelServer,
}

impl ResponsesApi {
    /// Starts the server on a free loopback port.
    #[track_caller]
    pub fn start(script: impl Into<Script>) -> ResponsesApi {
        ResponsesApi { server: ModelServer::start("responses-api", script.into(), answer) }
    }

    /// Returns the server's address without a path.
    pub fn origin(&self) -> String {
        format!("http://{}", self.server.address)
    }

    /// Returns the value for `base_url` of a model provider.
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.origin())
    }

    /// Queues a reply for the main conversation.
    pub fn push(&self, reply: ModelReply) {
        self.server.shared.lock().script.push(reply);
    }

    /// Queues replies for the conversation whose first text contains `marker`: a prompt, a
    /// sub-agent's task, or the request for a title. Without a queue, a title request gets a title
    /// and uses no scripted reply.
    pub fn on(&self, marker: &str, replies: Vec<ModelReply>) {
        self.server.shared.lock().script.push_on(marker, replies);
    }

    /// Returns the bodies of all requests so far except those for a title, in the order of receipt.
    pub fn requests(&self) -> Vec<Value> {
        self.server.requests()
    }

    /// Waits until there are `count` such requests, and returns all of them. The last one may have
    /// no response yet.
    #[track_caller]
    pub fn wait_for_requests(&self, count: usize, timeout: Duration) -> Vec<Value> {
        self.server.wait_for_requests(count, timeout)
    }

    /// Returns the method and path of all refused requests: for example `GET /v1/models`, or
    /// `CONNECT chatgpt.com:443` by a client that has this server as proxy.
    pub fn strays(&self) -> Vec<String> {
        self.server.shared.lock().strays.clone()
    }
}

fn answer(
    writer: &mut TcpStream,
    request: &HttpRequest,
    shared: &ModelServerShared,
) -> io::Result<()> {
    match (request.method.as_str(), request.path.as_str()) {
        ("POST", "/v1/responses") => match serde_json::from_slice(&request.body) {
            Ok(body) => answer_responses(writer, body, shared),
            Err(error) => {
                let body = response_wire::error("invalid_request_error", &error.to_string());
                http_wire::write_response(writer, 400, body.to_string().as_bytes())
            }
        },
        _ => shared.refuse(writer, request),
    }
}

fn answer_responses(
    writer: &mut TcpStream,
    body: Value,
    shared: &ModelServerShared,
) -> io::Result<()> {
    let model = body["model"].as_str().unwrap_or("unknown").to_owned();
    let reply = choose_reply(body, shared);
    thread::sleep(reply.before_first_byte);
    match &reply.body {
        ReplyBody::Error { status: 200, kind, message } => {
            http_wire::begin_events(writer)?;
            for data in response_wire::failed_events(kind, message) {
                write_event(writer, &data)?;
            }
            http_wire::end_events(writer)
        }
        ReplyBody::Error { status, kind, message } => http_wire::write_response(
            writer,
            *status,
            response_wire::error(kind, message).to_string().as_bytes(),
        ),
        ReplyBody::Message(blocks) => {
            http_wire::begin_events(writer)?;
            for event in response_wire::events(&model, blocks) {
                write_event(writer, &event.data)?;
                if event.is_first_text {
                    thread::sleep(reply.after_first_text);
                }
            }
            http_wire::end_events(writer)
        }
    }
}

fn write_event(writer: &mut TcpStream, data: &Value) -> io::Result<()> {
    let name = data["type"].as_str().unwrap_or_default();
    http_wire::write_event(writer, name, &data.to_string())
}

fn choose_reply(body: Value, shared: &ModelServerShared) -> ModelReply {
    let opening_text = response_wire::opening_text(&body);
    // One lock for both: the order of `requests()` equals the order of the replies.
    let mut state = shared.lock();
    if response_wire::asks_for_a_title(&opening_text) {
        let title = || ModelReply::text(&json!({"title": "Test session"}).to_string());
        // Only a part of the text: it quotes the prompt, which contains the conversation's marker.
        return state.script.next_marked(response_wire::TITLE_PROMPT).unwrap_or_else(title);
    }
    let reply = state.script.next(&opening_text);
    state.requests.push(body);
    reply
}
