//! Parses a line of a Codex rollout file into a record; `rollout` interprets the record.
//!
//! Two dialects exist, and a resumed thread keeps its first one: `item_completed` (paginated, since
//! about 0.150) and `user_message`/`agent_message` before. A line can be tens of megabytes of tool
//! output, so it is scanned while it streams in, and only the wanted fields are kept. Unknown
//! records are skipped. Recorded from Codex 0.98, 0.140, 0.166 and 0.169:
//! `testdata/codex/rollouts`.

mod injected;
mod reader;

use crate::scan::json_scan::{
    Capture, CaptureMode, Captures, FoundValue, PathStep, WantedField, wanted_fields,
};
use crate::timestamp::Timestamp;

pub use reader::{RolloutReader, parse_line};

use PathStep::{Each, Key};

/// The limit of a text. No typed text or model's answer is longer; a longer one is cut.
const LONG: CaptureMode = CaptureMode::Scalar(16 << 20);
const PATH: CaptureMode = CaptureMode::Scalar(32 << 10);
const SHORT: CaptureMode = CaptureMode::Scalar(512);

const PAYLOAD: PathStep = Key("payload");
const ITEM: PathStep = Key("item");
const ERROR_INFO: PathStep = Key("codex_error_info");

wanted_fields! {
    Timestamp: SHORT, [Key("timestamp")];
    Type: SHORT, [Key("type")];
    PayloadType: SHORT, [PAYLOAD, Key("type")];
    SessionId: SHORT, [PAYLOAD, Key("session_id")];
    Id: SHORT, [PAYLOAD, Key("id")];
    ParentThreadId: SHORT, [PAYLOAD, Key("parent_thread_id")];
    Cwd: PATH, [PAYLOAD, Key("cwd")];
    CliVersion: SHORT, [PAYLOAD, Key("cli_version")];
    Source: SHORT, [PAYLOAD, Key("source")];
    SubAgent: SHORT, [PAYLOAD, Key("source"), Key("subagent")];
    ParentOfSpawn: SHORT,
        [PAYLOAD, Key("source"), Key("subagent"), Key("thread_spawn"), Key("parent_thread_id")];
    ThreadSource: SHORT, [PAYLOAD, Key("thread_source")];
    HistoryMode: SHORT, [PAYLOAD, Key("history_mode")];
    Model: SHORT, [PAYLOAD, Key("model")];
    TurnId: SHORT, [PAYLOAD, Key("turn_id")];
    TurnTrigger: SHORT, [PAYLOAD, Key("turn_attribution"), Key("turn_trigger")];
    Reviewer: SHORT, [PAYLOAD, Key("approvals_reviewer")];
    ThreadReviewer: SHORT, [PAYLOAD, Key("thread_settings"), Key("approvals_reviewer")];
    LastAgentMessage: LONG, [PAYLOAD, Key("last_agent_message")];
    Error: SHORT, [PAYLOAD, Key("error")];
    ErrorMessage: PATH, [PAYLOAD, Key("error"), Key("message")];
    ErrorInfo: SHORT, [PAYLOAD, Key("error"), ERROR_INFO];
    ConnectionFailed: SHORT, [PAYLOAD, Key("error"), ERROR_INFO, Key("http_connection_failed")];
    StreamFailed: SHORT,
        [PAYLOAD, Key("error"), ERROR_INFO, Key("response_stream_connection_failed")];
    StreamDisconnected: SHORT,
        [PAYLOAD, Key("error"), ERROR_INFO, Key("response_stream_disconnected")];
    TooManyAttempts: SHORT,
        [PAYLOAD, Key("error"), ERROR_INFO, Key("response_too_many_failed_attempts")];
    Message: LONG, [PAYLOAD, Key("message")];
    Role: SHORT, [PAYLOAD, Key("role")];
    Phase: SHORT, [PAYLOAD, Key("phase")];
    ContentText: LONG, [PAYLOAD, Key("content"), Each, Key("text")];
    ContentKind: SHORT, [
        PAYLOAD,
        Key("internal_chat_message_metadata_passthrough"),
        Key("content_item_kinds"),
        Each
    ];
    CallName: SHORT, [PAYLOAD, Key("name")];
    CallNamespace: SHORT, [PAYLOAD, Key("namespace")];
    CallId: SHORT, [PAYLOAD, Key("call_id")];
    ItemType: SHORT, [PAYLOAD, ITEM, Key("type")];
    ItemPhase: SHORT, [PAYLOAD, ITEM, Key("phase")];
    ItemText: LONG, [PAYLOAD, ITEM, Key("content"), Each, Key("text")];
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolloutLine {
    pub at: Option<Timestamp>,
    /// The record's own name: `task_complete`, `item_completed`, `session_meta`.
    pub name: String,
    pub record: RolloutRecord,
}

/// The records that Turnbridge uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RolloutRecord {
    SessionMeta(ThreadMeta),
    TurnContext {
        cwd: Option<String>,
        model: Option<String>,
        turn_id: Option<String>,
        /// Who decides about the agent's requests: `user`, `auto_review`.
        reviewer: Option<String>,
    },
    /// The thread's settings, for the turns that follow.
    SettingsApplied {
        reviewer: Option<String>,
    },
    TaskStarted {
        turn_id: Option<String>,
        /// What started it: `user`, `exec`, `queue`, or a client's own word.
        trigger: Option<String>,
    },
    TaskComplete {
        turn_id: Option<String>,
        answer: TaskAnswer,
        error: Option<TaskError>,
    },
    TurnAborted,
    /// The text that the user typed, from the thread's own events.
    UserText {
        text: String,
        /// Only the paginated dialect has it.
        turn_id: Option<String>,
        dialect: Dialect,
    },
    AgentText {
        text: String,
        phase: Phase,
        dialect: Dialect,
    },
    /// The text that the model received as the user's, without Codex's insertions.
    UserMessage {
        text: String,
    },
    AssistantMessage {
        text: String,
        phase: Phase,
    },
    CallBegan {
        tool: String,
        call_id: Option<String>,
    },
    CallEnded {
        call_id: Option<String>,
    },
    /// A message without an author: instructions, surroundings.
    InjectedMessage,
    /// Other items of a paginated thread.
    OtherItem,
    Other,
    Blank,
    /// No JSON: half a line, or noise.
    Unreadable,
}

/// The form in which a thread records its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    Paginated,
    Legacy,
}

/// The position of an agent's text in its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// A text before a tool is used.
    Commentary,
    /// The answer, or a text of a model that does not name the phase.
    Answer,
}

/// The answer in `task_complete`: a text, explicitly none, or not recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskAnswer {
    Text(String),
    Nothing,
    Unknown,
}

/// The error that ended a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskError {
    /// Codex's own word: `usage_limit_exceeded`, `internal_server_error`, `other`.
    pub kind: String,
    pub message: Option<String>,
}

/// The facts in the first record of a rollout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadMeta {
    pub id: Option<String>,
    /// The thread that the user sees: this one, or the one that it works for.
    pub root_id: Option<String>,
    pub parent_id: Option<String>,
    pub cwd: Option<String>,
    pub cli_version: Option<String>,
    pub kind: ThreadKind,
    /// `codex exec` began it, so no terminal shows it.
    pub is_exec: bool,
    pub dialect: Dialect,
}

/// The kind of work for which a thread was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadKind {
    User,
    SubAgent,
    Review,
}

impl ThreadKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            ThreadKind::User => "user",
            ThreadKind::SubAgent => "subagent",
            ThreadKind::Review => "review",
        }
    }
}

fn interpret(captures: &Captures) -> RolloutLine {
    let kind = captures.text(Wanted::Type).unwrap_or_default();
    let payload = captures.text(Wanted::PayloadType).unwrap_or_default();
    let record = match (kind, payload) {
        ("session_meta", _) => RolloutRecord::SessionMeta(thread_meta(captures)),
        ("turn_context", _) => RolloutRecord::TurnContext {
            cwd: owned(captures, Wanted::Cwd),
            model: owned(captures, Wanted::Model),
            turn_id: owned(captures, Wanted::TurnId),
            reviewer: owned(captures, Wanted::Reviewer),
        },
        ("event_msg", _) => event_message(payload, captures),
        ("response_item", _) => response_item(payload, captures),
        _ => RolloutRecord::Other,
    };
    let is_wrapper = matches!(kind, "event_msg" | "response_item") && !payload.is_empty();
    RolloutLine {
        at: captures.text(Wanted::Timestamp).and_then(Timestamp::parse),
        name: if is_wrapper { payload } else { kind }.to_owned(),
        record,
    }
}

fn event_message(payload: &str, captures: &Captures) -> RolloutRecord {
    match payload {
        // Later versions of Codex's own protocol call them `turn_…`.
        "task_started" | "turn_started" => RolloutRecord::TaskStarted {
            turn_id: owned(captures, Wanted::TurnId),
            trigger: owned(captures, Wanted::TurnTrigger),
        },
        "thread_settings_applied" => {
            RolloutRecord::SettingsApplied { reviewer: owned(captures, Wanted::ThreadReviewer) }
        }
        "task_complete" | "turn_complete" => RolloutRecord::TaskComplete {
            turn_id: owned(captures, Wanted::TurnId),
            answer: answer(captures),
            error: task_error(captures),
        },
        "turn_aborted" => RolloutRecord::TurnAborted,
        "user_message" => match captures.text(Wanted::Message) {
            Some(text) if !injected::is_surroundings(text) => RolloutRecord::UserText {
                text: text.to_owned(),
                turn_id: None,
                dialect: Dialect::Legacy,
            },
            _ => RolloutRecord::InjectedMessage,
        },
        "agent_message" => RolloutRecord::AgentText {
            text: owned(captures, Wanted::Message).unwrap_or_default(),
            phase: phase(captures, Wanted::Phase),
            dialect: Dialect::Legacy,
        },
        "item_completed" => match captures.text(Wanted::ItemType) {
            Some("UserMessage") => RolloutRecord::UserText {
                text: joined(captures, Wanted::ItemText),
                turn_id: owned(captures, Wanted::TurnId),
                dialect: Dialect::Paginated,
            },
            Some("AgentMessage") => RolloutRecord::AgentText {
                text: joined(captures, Wanted::ItemText),
                phase: phase(captures, Wanted::ItemPhase),
                dialect: Dialect::Paginated,
            },
            _ => RolloutRecord::OtherItem,
        },
        _ => RolloutRecord::Other,
    }
}

fn response_item(payload: &str, captures: &Captures) -> RolloutRecord {
    match payload {
        "message" => message(captures),
        "function_call" | "custom_tool_call" | "local_shell_call" => RolloutRecord::CallBegan {
            tool: tool_name(payload, captures),
            call_id: owned(captures, Wanted::CallId),
        },
        "function_call_output" | "custom_tool_call_output" => {
            RolloutRecord::CallEnded { call_id: owned(captures, Wanted::CallId) }
        }
        _ => RolloutRecord::Other,
    }
}

fn message(captures: &Captures) -> RolloutRecord {
    match captures.text(Wanted::Role) {
        Some("assistant") => RolloutRecord::AssistantMessage {
            text: joined(captures, Wanted::ContentText),
            phase: phase(captures, Wanted::Phase),
        },
        Some("user") => {
            let kinds: Vec<_> = captures.texts(Wanted::ContentKind).map(|(_, kind)| kind).collect();
            let parts = captures.texts(Wanted::ContentText).map(|(_, text)| text);
            match injected::without_injected(parts, &kinds) {
                Some(text) => RolloutRecord::UserMessage { text },
                None => RolloutRecord::InjectedMessage,
            }
        }
        _ => RolloutRecord::InjectedMessage,
    }
}

/// Returns the bare name of Codex's own tools, and the name after that of its server for others.
fn tool_name(payload: &str, captures: &Captures) -> String {
    let name = captures.text(Wanted::CallName).unwrap_or(payload);
    match captures.text(Wanted::CallNamespace) {
        None | Some("" | "functions") => name.to_owned(),
        Some(namespace) => format!("{namespace}.{name}"),
    }
}

fn thread_meta(captures: &Captures) -> ThreadMeta {
    let id = owned(captures, Wanted::Id);
    let spawner = || owned(captures, Wanted::ParentOfSpawn);
    let is_subagent = captures.found(Wanted::SubAgent).next().is_some()
        || captures.text(Wanted::ThreadSource) == Some("subagent");
    let kind = match captures.text(Wanted::SubAgent) {
        Some("review") => ThreadKind::Review,
        _ if is_subagent => ThreadKind::SubAgent,
        _ => ThreadKind::User,
    };
    ThreadMeta {
        // Before 0.150 or so there was only `id`.
        root_id: owned(captures, Wanted::SessionId).or_else(|| id.clone()),
        id,
        parent_id: owned(captures, Wanted::ParentThreadId).or_else(spawner),
        cwd: owned(captures, Wanted::Cwd),
        cli_version: owned(captures, Wanted::CliVersion),
        kind,
        is_exec: captures.text(Wanted::Source) == Some("exec"),
        dialect: match captures.text(Wanted::HistoryMode) {
            Some("paginated") => Dialect::Paginated,
            _ => Dialect::Legacy,
        },
    }
}

fn answer(captures: &Captures) -> TaskAnswer {
    match last(captures, Wanted::LastAgentMessage) {
        Some(FoundValue::Text { text, .. }) => TaskAnswer::Text(text.clone()),
        Some(_) => TaskAnswer::Nothing,
        None => TaskAnswer::Unknown,
    }
}

fn task_error(captures: &Captures) -> Option<TaskError> {
    let said = match last(captures, Wanted::Error)? {
        FoundValue::Null | FoundValue::Bool(false) => return None,
        FoundValue::Text { text, .. } => Some(text.clone()),
        _ => None,
    };
    let with_details = [
        (Wanted::ConnectionFailed, "http_connection_failed"),
        (Wanted::StreamFailed, "response_stream_connection_failed"),
        (Wanted::StreamDisconnected, "response_stream_disconnected"),
        (Wanted::TooManyAttempts, "response_too_many_failed_attempts"),
    ];
    let detailed = with_details.iter().find(|(wanted, _)| last(captures, *wanted).is_some());
    let kind = captures.text(Wanted::ErrorInfo).or(detailed.map(|(_, name)| *name));
    Some(TaskError {
        kind: kind.unwrap_or("other").to_owned(),
        message: owned(captures, Wanted::ErrorMessage).or(said),
    })
}

fn phase(captures: &Captures, wanted: Wanted) -> Phase {
    match captures.text(wanted) {
        Some("commentary") => Phase::Commentary,
        _ => Phase::Answer,
    }
}

fn last(captures: &Captures, wanted: Wanted) -> Option<&FoundValue> {
    captures.found(wanted).last().map(|Capture { found, .. }| found)
}

fn owned(captures: &Captures, wanted: Wanted) -> Option<String> {
    captures.text(wanted).map(str::to_owned)
}

fn joined(captures: &Captures, wanted: Wanted) -> String {
    captures.texts(wanted).map(|(_, text)| text).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
