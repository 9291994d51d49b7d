//! A reply on its way to an agent: what was said (`inbox/<id>.json`), who runs it (`<id>.run`,
//! `<id>.agent`), what came of it (`<id>.result`), and how Slack reports one.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{Agent, SessionId, is_safe_component, is_uuid};
use crate::notices::notice_wire::Route;
use crate::slack::slack_ts::SlackTs;
use crate::timestamp::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    pub version: u32,
    /// Also the name of its files: from Slack the same for the same message, however often it comes.
    pub id: String,
    pub source: ReplySource,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_ts: Option<String>,
    /// Slack's; of a reply from the board, when it came, written the same way. Orders replies.
    pub ts: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// As the person typed it.
    pub text: String,
    pub received_at: String,
    /// These three only when the thread is known (SLV-48).
    #[serde(rename = "tool", default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// The session that a reply on the board is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyTo {
    pub agent: Agent,
    pub id: SessionId,
    pub cwd: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplySource {
    Slack,
    Board,
}

impl Reply {
    /// `route` is `None` when the thread is not known: then the person is told (SLV-85), nothing else.
    pub fn from_slack(message: SlackMessage, route: Option<&Route>, received_at: String) -> Reply {
        Reply {
            version: 1,
            id: slack_reply_id(&message.channel, &message.ts),
            source: ReplySource::Slack,
            event_id: message.event_id,
            channel: Some(message.channel),
            thread_ts: Some(message.thread_ts),
            ts: message.ts,
            user: Some(message.user),
            text: message.text,
            received_at,
            agent: route.map(|route| route.agent.clone()),
            session_id: route.map(|route| route.session_id.clone()),
            cwd: route.and_then(|route| route.cwd.clone()),
        }
    }

    /// When it was written, by Slack's clock. Returns `None` if it did not come from Slack.
    pub fn written(&self) -> Option<SlackTs> {
        (self.source == ReplySource::Slack).then(|| SlackTs::parse(&self.ts)).flatten()
    }

    /// `id` is a UUID that the page has made, so that a reply that is sent twice is one.
    pub fn from_board(id: String, text: String, session: ReplyTo, now: Timestamp) -> Reply {
        let micros = now.as_micros().max(0);
        Reply {
            version: 1,
            id,
            source: ReplySource::Board,
            event_id: None,
            channel: None,
            thread_ts: None,
            ts: format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000),
            user: None,
            text,
            received_at: now.to_string(),
            agent: Some(session.agent.to_string()),
            session_id: Some(session.id.to_string()),
            cwd: session.cwd,
        }
    }

    /// The session that it is for. Checked again by whoever reads the file: it becomes an argument.
    pub fn session(&self) -> Option<(Agent, SessionId)> {
        let agent = Agent::parse(self.agent.as_deref()?)?;
        let id = self.session_id.as_deref().filter(|id| is_uuid(id))?;
        Some((agent, SessionId::parse(id)?))
    }

    /// Orders replies: by Slack's time.
    pub fn order(&self) -> (Option<SlackTs>, &str) {
        (SlackTs::parse(&self.ts), &self.id)
    }
}

/// Both parts have been checked to be a name.
pub fn slack_reply_id(channel: &str, ts: &str) -> String {
    format!("slack-{channel}-{ts}")
}

/// An id becomes the name of a file, and reaches hooks by the environment.
pub fn is_reply_id(id: &str) -> bool {
    is_safe_component(id)
}

pub fn is_slack_ts(ts: &str) -> bool {
    SlackTs::parse(ts).is_some()
}

/// Who runs a reply, from the claim on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    /// With the pid a name for the process; 0 when it is not known.
    pub start: u64,
    pub at: String,
    /// Which start of the machine it was, where the start time counts from that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// Of the process that works on a reply: what kind it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way: Option<Way>,
}

/// What the runner has started for a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// The agent, which runs the reply.
    Agent,
    /// `codex queue`, which gives the reply to a Codex that has the thread open.
    Queue,
}

/// What came of a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunResult {
    pub version: u32,
    pub outcome: Outcome,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The exit code or the signal's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
    #[serde(default)]
    pub stdout_bytes: u64,
    #[serde(default)]
    pub stderr_bytes: u64,
    /// What the agent printed, when no turn of its own will tell (slash commands).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    pub ended_at: String,
}

impl RunResult {
    pub fn new(outcome: Outcome, ended_at: String) -> RunResult {
        RunResult {
            version: 1,
            outcome,
            reason: None,
            code: None,
            stdout_bytes: 0,
            stderr_bytes: 0,
            output: None,
            ended_at,
        }
    }

    pub fn failed(reason: Reason, code: Option<i64>, ended_at: String) -> RunResult {
        RunResult { reason: Some(reason), code, ..RunResult::new(Outcome::Failed, ended_at) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Done,
    /// The agent that has the session open has it, and runs it itself.
    HandedOver,
    /// It stands in the queue of the Codex that has the thread open, and was not seen to begin.
    NotBegun,
    Failed,
    Stopped,
    /// It has reached the agent, and whoever ran it died before the end of its turn.
    Interrupted,
    /// It was claimed, and nobody can tell how far it came.
    Uncertain,
    /// The user did not want it any more (`turnbridge inbox drop`).
    Dropped,
}

impl Outcome {
    pub const fn as_str(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::HandedOver => "handed_over",
            Outcome::NotBegun => "not_begun",
            Outcome::Failed => "failed",
            Outcome::Stopped => "stopped",
            Outcome::Interrupted => "interrupted",
            Outcome::Uncertain => "uncertain",
            Outcome::Dropped => "dropped",
        }
    }
}

/// Why a reply did not run to its end. The sentences are in `texts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The agent's program is not there.
    ProgramMissing,
    /// It is there, and could not be started.
    NotStarted,
    /// The session's folder is gone.
    FolderMissing,
    /// The reply names no session that can be resumed.
    SessionInvalid,
    /// The agent does not know the session any more.
    SessionUnknown,
    /// Longer than what can be handed over.
    TooLong,
    /// A command that would end or empty the session.
    CommandRefused,
    ExitCode,
    Signal,
    /// The model's API has ended the turn, as the agent's own record says.
    TurnFailed,
}

impl Reason {
    pub const ALL: [Reason; 10] = [
        Reason::ProgramMissing,
        Reason::NotStarted,
        Reason::FolderMissing,
        Reason::SessionInvalid,
        Reason::SessionUnknown,
        Reason::TooLong,
        Reason::CommandRefused,
        Reason::ExitCode,
        Reason::Signal,
        Reason::TurnFailed,
    ];

    /// For the log.
    pub const fn as_str(self) -> &'static str {
        match self {
            Reason::ProgramMissing => "program_missing",
            Reason::NotStarted => "not_started",
            Reason::FolderMissing => "folder_missing",
            Reason::SessionInvalid => "session_invalid",
            Reason::SessionUnknown => "session_unknown",
            Reason::TooLong => "too_long",
            Reason::CommandRefused => "command_refused",
            Reason::ExitCode => "exit_code",
            Reason::Signal => "signal",
            Reason::TurnFailed => "turn_failed",
        }
    }
}

/// A message as Slack reports it, as far as it matters here. A field of the wrong type is absent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Reported {
    pub event_id: Option<String>,
    /// The workspace that the event is of; what is fetched has none, and is of the one that was asked.
    pub team_id: Option<String>,
    pub enterprise_id: Option<String>,
    pub is_message: bool,
    pub is_by_bot: bool,
    pub subtype: Option<String>,
    pub user: Option<String>,
    pub channel: Option<String>,
    pub channel_type: Option<String>,
    pub thread_ts: Option<String>,
    pub ts: Option<String>,
    /// Still encoded.
    pub text: Option<String>,
}

/// `heard/<id>.json`: an event that could not be judged yet when it was heard. Written before its
/// ack, and there until it is in the inbox or is dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    pub version: u32,
    pub received_at: String,
    pub reported: Reported,
}

/// A message that has passed every check but the route's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlackMessage {
    pub event_id: Option<String>,
    pub channel: String,
    pub thread_ts: String,
    pub ts: String,
    pub user: String,
    /// Decoded.
    pub text: String,
}

/// The `payload` of an `events_api` envelope. `None` when it is no JSON object with an `event`.
pub fn read_event(payload: &[u8]) -> Option<Reported> {
    let payload: Value = serde_json::from_slice(payload).ok()?;
    let event = payload.get("event").filter(|event| event.is_object())?;
    let authorized = payload.pointer("/authorizations/0").unwrap_or(&Value::Null);
    let enterprise_id = text(&payload, "enterprise_id")
        .or_else(|| text(&payload, "context_enterprise_id"))
        .or_else(|| text(authorized, "enterprise_id"));
    Some(Reported {
        event_id: text(&payload, "event_id"),
        team_id: text(&payload, "team_id"),
        enterprise_id,
        ..read_message(event)
    })
}

/// A message as `conversations.replies` gives it: without its channel, which the caller knows.
pub fn read_fetched(message: &[u8], channel: &str) -> Option<Reported> {
    let message: Value = serde_json::from_slice(message).ok()?;
    message.is_object().then_some(())?;
    let channel = Some(channel.to_owned());
    Some(Reported { channel, channel_type: Some("im".to_owned()), ..read_message(&message) })
}

fn read_message(event: &Value) -> Reported {
    let is_there = |key: &str| event.get(key).is_some_and(|value| !value.is_null());
    Reported {
        event_id: None,
        team_id: None,
        enterprise_id: None,
        is_message: event.get("type").and_then(Value::as_str) == Some("message"),
        is_by_bot: ["bot_id", "bot_profile", "app_id"].into_iter().any(is_there),
        // Of whatever type: a subtype that cannot be read is one that is not allowed.
        subtype: event
            .get("subtype")
            .filter(|value| !value.is_null())
            .map(|subtype| subtype.as_str().map_or_else(|| subtype.to_string(), str::to_owned)),
        user: text(event, "user"),
        channel: text(event, "channel"),
        channel_type: text(event, "channel_type"),
        thread_ts: text(event, "thread_ts"),
        ts: text(event, "ts"),
        text: text(event, "text"),
    }
}

fn text(object: &Value, key: &str) -> Option<String> {
    object.get(key).and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_ordered_by_slacks_time_as_a_number() {
        let reply = |ts: &str| {
            let message = SlackMessage {
                event_id: None,
                channel: "D1".into(),
                thread_ts: "1.0".into(),
                ts: ts.into(),
                user: "U1".into(),
                text: "x".into(),
            };
            Reply::from_slack(message, None, String::new())
        };
        let mut replies = ["1700000010.000001", "999999999.5", "1700000002.000100", "1700000002.9"];
        replies.sort_by(|a, b| reply(a).order().cmp(&reply(b).order()));
        assert_eq!(
            replies,
            ["999999999.5", "1700000002.000100", "1700000002.9", "1700000010.000001"]
        );
        let to = || ReplyTo {
            agent: Agent::Codex,
            id: SessionId::parse("825c8529-ee09-4cb8-8902-dd785b12ca0a").unwrap(),
            cwd: None,
        };
        let now = Timestamp::from_micros(1_700_000_002_000_200);
        let board = Reply::from_board("b".into(), "x".into(), to(), now);
        assert!(board.order() > reply("1700000002.000100").order(), "{board:?}");
        assert!(board.order() < reply("1700000002.9").order(), "{board:?}");
        assert_eq!(board.session().unwrap(), (to().agent, to().id));
        assert!(is_slack_ts("1700000000.000100"));
        for bad in ["", "1", ".1", "1.", "-1.0", "1.0.0", "../x.1", "1.0000000001"] {
            assert!(!is_slack_ts(bad), "{bad}");
        }
    }

    #[test]
    fn a_session_that_is_no_uuid_or_of_no_known_tool_is_none() {
        let session = |agent: &str, id: &str| {
            let route = Route {
                ts: String::new(),
                channel: "D1".into(),
                thread_ts: "1.0".into(),
                agent: agent.into(),
                session_id: id.into(),
                turn_id: None,
                cwd: None,
                machine: None,
            };
            let message = SlackMessage {
                event_id: None,
                channel: "D1".into(),
                thread_ts: "1.0".into(),
                ts: "2.0".into(),
                user: "U1".into(),
                text: "x".into(),
            };
            Reply::from_slack(message, Some(&route), String::new()).session()
        };
        let id = "825c8529-ee09-4cb8-8902-dd785b12ca0a";
        assert_eq!(session("claude", id).unwrap().0, Agent::Claude);
        assert_eq!(session("codex", id).unwrap().1.as_str(), id);
        assert!(session("rm", id).is_none());
        assert!(session("codex", "../../x").is_none());
        assert!(session("claude", "last").is_none());
    }
}
