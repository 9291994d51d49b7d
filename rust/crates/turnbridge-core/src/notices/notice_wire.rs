//! A notice on its way: what is to be told (`outbox/<id>.json`, written once), and how far it has
//! come (`outbox/<id>.progress`, replaced before and after every call).

use serde::{Deserialize, Serialize};

use crate::ids::{Agent, is_safe_component, is_uuid};
use crate::session::event::{Event, EventKind};
use crate::session::turn_wire::TurnRecord;

/// One turn for one destination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    pub version: u32,
    /// The same for the same event, whoever reports it.
    pub id: String,
    pub kind: NoticeKind,
    pub created_at: String,
    #[serde(rename = "tool")]
    pub agent: String,
    pub session_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Where to look for what the hook was not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript_path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<String>,
    /// Where it is said, when it begins no thread of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadPlace>,
    /// The kind of API error, the tool whose dialog is open, or the cause of a problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}

/// A thread, and the message in it that is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadPlace {
    pub channel: String,
    pub thread_ts: String,
    /// What is answered: nothing of ours is older.
    pub after_ts: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeKind {
    /// A turn has ended.
    Turn,
    /// An API error has ended it.
    Failed,
    /// A dialog is open for the user.
    Waiting,
    /// What Turnbridge itself has to say in a thread: a reply was received, a run has failed.
    Word,
    /// A report could not be dealt with, for a reason that the user can mend (X28).
    Problem,
}

impl Notice {
    pub fn of_turn(id: String, record: &TurnRecord, transcript_path: Option<String>) -> Notice {
        let answers = record.earlier_answers.iter().chain(&record.answer).cloned();
        Notice {
            version: 1,
            id,
            kind: if record.error.is_some() { NoticeKind::Failed } else { NoticeKind::Turn },
            created_at: record.ended_at.clone(),
            agent: record.agent.clone(),
            session_id: record.session_id.clone(),
            turn_id: record.turn_id.clone(),
            cwd: record.cwd.clone(),
            transcript_path,
            prompt: record.prompt.clone(),
            answers: answers.filter(|answer| !answer.trim().is_empty()).collect(),
            subject: record.error.clone(),
            thread: None,
        }
    }
}

/// The id of a finished turn of Codex: the same by whichever road it is reported (its Stop hook, its
/// `notify` program, its rollout). `None` for versions that do not name their turns.
pub fn codex_turn_id(thread_id: &str, turn_id: Option<&str>) -> Option<String> {
    let turn_id = turn_id.filter(|id| is_uuid(id) && is_uuid(thread_id))?;
    Some(format!("{}-{thread_id}-{turn_id}", Agent::Codex))
}

/// The id of the notice that `event` makes; `payload` is its hash. Its second report makes the same
/// id, and no second notice.
pub fn notice_id(event: &Event, payload: u64) -> String {
    codex_event_id(event).unwrap_or_else(|| format!("{}-{payload:016x}", event.agent))
}

/// The id that needs no payload: of a Codex turn that has ended and has a name.
pub fn codex_event_id(event: &Event) -> Option<String> {
    let ends_turn =
        matches!(event.kind, EventKind::TurnEnded { .. } | EventKind::TurnFailed { .. });
    let turn =
        event.facts.prompt_id.as_deref().filter(|_| event.agent == Agent::Codex && ends_turn);
    codex_turn_id(event.session_id.as_str(), turn)
}

/// What keeps reports of Codex from becoming notices, and the user can mend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Whatever calls `turnbridge notify --tool codex`, it is not Codex.
    ReportUnreadable,
    /// The rollout is there, but not for us.
    RolloutUnreadable,
    /// The `notify` program that the user had before could not be started.
    ChainFailed,
}

impl Cause {
    pub const ALL: [Cause; 3] =
        [Cause::ReportUnreadable, Cause::RolloutUnreadable, Cause::ChainFailed];

    pub const fn as_str(self) -> &'static str {
        match self {
            Cause::ReportUnreadable => "report_unreadable",
            Cause::RolloutUnreadable => "rollout_unreadable",
            Cause::ChainFailed => "chain_failed",
        }
    }

    pub fn parse(text: &str) -> Option<Cause> {
        Cause::ALL.into_iter().find(|cause| cause.as_str() == text)
    }
}

/// An id becomes the name of a file.
pub fn is_notice_id(id: &str) -> bool {
    is_safe_component(id)
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Progress {
    pub version: u32,
    /// What is sent, fixed at the first attempt: another version of Turnbridge may split a text
    /// elsewhere. The first is the parent.
    #[serde(default)]
    pub messages: Vec<Message>,
    #[serde(default)]
    pub channel: Option<String>,
    /// Slack's ts of what was newest in the channel before: nothing of ours is older.
    #[serde(default)]
    pub after_ts: Option<String>,
    /// Slack's ts of each message that has arrived, in order.
    #[serde(default)]
    pub posted: Vec<String>,
    /// A call is under way: the next message may have arrived already.
    #[serde(default)]
    pub intent: bool,
    #[serde(default)]
    pub route_saved: bool,
    #[serde(default)]
    pub attempts: u32,
    /// Not before; absent: at once.
    #[serde(default)]
    pub next_attempt_at: Option<String>,
    /// The pause that was planned after the last attempt.
    #[serde(default)]
    pub pause_seconds: u64,
    /// All pauses between attempts so far.
    #[serde(default)]
    pub waited_seconds: u64,
    /// What went wrong last.
    #[serde(default)]
    pub last_error: Option<String>,
    /// It waits for the user: what is wrong does not go away by itself.
    #[serde(default)]
    pub held: bool,
}

impl Progress {
    /// The user wants it tried at once, and as long as if it were new.
    pub fn retry_now(&mut self) {
        self.held = false;
        self.next_attempt_at = None;
        (self.pause_seconds, self.waited_seconds) = (0, 0);
    }
}

/// When a notice was made, from the first bytes of its file: what people and models said comes
/// after it. Returns `None` if they do not tell.
pub fn created_at_in(head: &[u8]) -> Option<&str> {
    const KEY: &[u8] = b"\"created_at\":\"";
    let start = head.windows(KEY.len()).position(|window| window == KEY)? + KEY.len();
    let length = head[start..].iter().position(|byte| *byte == b'"')?;
    std::str::from_utf8(&head[start..start + length]).ok()
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Escaped, as sent.
    pub text: String,
    /// The same for the `markdown` block; absent when Slack has refused the block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub markdown: Option<String>,
}

/// One line of `routes.jsonl` (SLV-22): which session a thread belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// When it was written.
    pub ts: String,
    pub channel: String,
    pub thread_ts: String,
    #[serde(rename = "tool")]
    pub agent: String,
    pub session_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Whose session it is; absent: this machine's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
}
