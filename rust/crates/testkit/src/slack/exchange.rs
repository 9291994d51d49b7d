//! Handles one request to the Web API and records the call. A deliberate fault (`faults.rs`)
//! decides whether the method is executed, and which response the client gets. `server.rs` reads
//! the request and writes the response.

use std::time::SystemTime;

use serde_json::{Value, json};

use super::arguments::ApiCall;
use super::faults::{FaultMoment, SlackFault};
use super::methods::{self, CallToken, MethodError, MethodResult};
use super::server::{SlackServerShared, SlackServerState};
use crate::http_wire::HttpRequest;

/// One call of the Web API as the server received it.
#[derive(Clone, Debug)]
pub struct SlackCall {
    pub method: String,
    /// `GET` or `POST`.
    pub http_method: String,
    /// The arguments without the token. Those of a form are text, nested ones too.
    pub arguments: Value,
    pub token: CallToken,
    pub content_type: Option<String>,
    pub fault: SlackFault,
    /// Whether Slack executed the call, whatever response the client got.
    pub applied: bool,
    pub outcome: CallOutcome,
    /// The value of the header `x-slack-req-id`.
    pub request_id: String,
    /// The time of receipt.
    pub at: SystemTime,
}

/// The response that the client got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    Ok,
    /// `ok: false` with this error.
    Error(String),
    /// A bare HTTP status.
    Status(u16),
    /// Bytes that are no complete JSON.
    Unreadable,
    Reset,
    Hung,
}

/// The way in which the server ends a request on its connection.
pub(super) enum Ending {
    Respond(Vec<u8>),
    /// These bytes, then the end of the connection.
    Cut(Vec<u8>),
    Reset,
    Hang,
}

struct RecordedResponse {
    status: u16,
    content_type: &'static str,
    headers: Vec<(&'static str, String)>,
    body: String,
}

const JSON: &str = "application/json; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

/// Handles a request and records the call. Returns what the server must do with the connection.
pub(super) fn exchange(shared: &SlackServerShared, request: &HttpRequest) -> Ending {
    let Some(call) = ApiCall::read(request) else {
        return Ending::Respond(page(404, "Not Found").into_bytes());
    };
    let at = SystemTime::now();
    let has = |argument: &str, value: &str| {
        let given = call.arguments.0.get(argument).and_then(Value::as_str);
        given.is_some_and(|given| value == "*" || given == value)
    };
    let fault = shared.lock().faults.next_of(&call.method, has);
    if let SlackFault::Delay(FaultMoment::Before, pause) = fault {
        shared.pause(pause);
    }
    // One lock for the execution and the log, so that their orders agree.
    let ending = {
        let mut state = shared.lock();
        // Once the port goes down no call is executed, however far the request had come.
        if !state.is_up() {
            return Ending::Reset;
        }
        answer(&mut state, &shared.socket_base, &call, &fault, request, at)
    };
    // A post is an event too.
    shared.notify();
    if let SlackFault::Delay(FaultMoment::After, pause) = fault {
        shared.pause(pause);
        if !shared.lock().is_up() {
            return Ending::Reset;
        }
    }
    ending
}

fn answer(
    state: &mut SlackServerState,
    socket_base: &str,
    call: &ApiCall,
    fault: &SlackFault,
    request: &HttpRequest,
    at: SystemTime,
) -> Ending {
    let answer = lets_run(fault).then(|| methods::run(&mut state.workspace, call));
    let applied = matches!(answer, Some(Ok(_)));
    let request_id = format!("loopback-{}", state.calls.len() + 1);
    let token = methods::token_kind(&state.workspace, call);
    let scopes = match token {
        CallToken::Bot => Some(state.workspace.setup.bot_scopes.join(",")),
        CallToken::App => Some(state.workspace.setup.app_scopes.join(",")),
        CallToken::Unknown | CallToken::Missing => None,
    };
    let (outcome, ending) = strike(fault, || {
        let (outcome, mut response) = respond(answer, call, socket_base);
        response.headers.push(("x-slack-req-id", request_id.clone()));
        response.headers.extend(scopes.map(|scopes| ("x-oauth-scopes", scopes)));
        (outcome, response)
    });
    state.calls.push(SlackCall {
        method: call.method.clone(),
        http_method: request.method.clone(),
        arguments: Value::Object(call.arguments.0.clone()),
        token,
        content_type: call.content_type.clone(),
        fault: fault.clone(),
        applied,
        outcome,
        request_id,
        at,
    });
    ending
}

fn lets_run(fault: &SlackFault) -> bool {
    match fault {
        SlackFault::Pass | SlackFault::Delay(..) | SlackFault::CutBody | SlackFault::BrokenJson => {
            true
        }
        SlackFault::Reset(when) | SlackFault::Hang(when) => *when == FaultMoment::After,
        SlackFault::Status(when, _) => *when == FaultMoment::After,
        SlackFault::Error(when, _) => *when == FaultMoment::After,
        SlackFault::RateLimited(_) | SlackFault::Html | SlackFault::Refuse => false,
    }
}

fn strike(
    fault: &SlackFault,
    respond: impl FnOnce() -> (CallOutcome, RecordedResponse),
) -> (CallOutcome, Ending) {
    match fault {
        SlackFault::Pass | SlackFault::Delay(..) => {
            let (outcome, response) = respond();
            (outcome, Ending::Respond(response.into_bytes()))
        }
        SlackFault::Reset(_) | SlackFault::Refuse => (CallOutcome::Reset, Ending::Reset),
        SlackFault::Hang(_) => (CallOutcome::Hung, Ending::Hang),
        SlackFault::Status(_, status) => {
            let bytes = page(*status, "upstream connect error").into_bytes();
            (CallOutcome::Status(*status), Ending::Respond(bytes))
        }
        SlackFault::Error(_, error) => {
            let response = refusal_response(MethodError::new(error));
            (CallOutcome::Error(error.clone()), Ending::Respond(response.into_bytes()))
        }
        SlackFault::RateLimited(seconds) => {
            let refusal = MethodError::rate_limited(*seconds);
            let outcome = CallOutcome::Error(refusal.error.clone());
            (outcome, Ending::Respond(refusal_response(refusal).into_bytes()))
        }
        SlackFault::CutBody => {
            let response = respond().1;
            let body_left = response.body.len() / 2;
            let mut bytes = response.into_bytes();
            bytes.truncate(bytes.len() - body_left);
            (CallOutcome::Unreadable, Ending::Cut(bytes))
        }
        SlackFault::BrokenJson => {
            let mut response = respond().1;
            let half = response.body.len() / 2;
            let end = (half..).find(|index| response.body.is_char_boundary(*index)).unwrap_or(0);
            response.body.truncate(end);
            (CallOutcome::Unreadable, Ending::Respond(response.into_bytes()))
        }
        SlackFault::Html => {
            let bytes = page(200, "Please sign in to the network").into_bytes();
            (CallOutcome::Unreadable, Ending::Respond(bytes))
        }
    }
}

fn respond(
    answer: Option<MethodResult>,
    call: &ApiCall,
    socket_base: &str,
) -> (CallOutcome, RecordedResponse) {
    match answer.unwrap_or_else(|| Err(MethodError::new("internal_error"))) {
        Err(refusal) => (CallOutcome::Error(refusal.error.clone()), refusal_response(refusal)),
        Ok(success) => {
            let mut body = Value::Object(success.fields);
            body["ok"] = true.into();
            if let Some(path) = body["url"].as_str().filter(|url| url.starts_with('/')) {
                body["url"] = format!("{socket_base}{path}").into();
            }
            let warnings: Vec<&str> = call.warning.into_iter().chain(success.warnings).collect();
            if !warnings.is_empty() {
                body["warning"] = warnings.join(",").into();
                body["response_metadata"]["warnings"] = json!(warnings);
            }
            let body = body.to_string();
            let response =
                RecordedResponse { status: 200, content_type: JSON, headers: Vec::new(), body };
            (CallOutcome::Ok, response)
        }
    }
}

fn refusal_response(refusal: MethodError) -> RecordedResponse {
    let mut body = Value::Object(refusal.fields);
    body["ok"] = false.into();
    body["error"] = refusal.error.into();
    let mut response = RecordedResponse {
        status: 200,
        content_type: JSON,
        headers: Vec::new(),
        body: body.to_string(),
    };
    if let Some(seconds) = refusal.retry_after_seconds {
        response.status = 429;
        response.headers.push(("retry-after", seconds.to_string()));
    }
    response
}

fn page(status: u16, text: &str) -> RecordedResponse {
    let body = format!("<!DOCTYPE html><html><body>{text}</body></html>");
    RecordedResponse { status, content_type: HTML, headers: Vec::new(), body }
}

impl RecordedResponse {
    fn into_bytes(self) -> Vec<u8> {
        // The grammar requires the reason phrase, and no client reads it.
        let mut head = format!(
            "HTTP/1.1 {} -\r\ncontent-type: {}\r\ncontent-length: {}\r\n",
            self.status,
            self.content_type,
            self.body.len()
        );
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        format!("{head}\r\n{}", self.body).into_bytes()
    }
}
