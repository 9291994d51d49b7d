//! Reads and writes the files of a reply: its text (`inbox/<id>.json`), its processes (`<id>.run`,
//! `<id>.agent`) and its result (`<id>.result`). It also parses a message as Slack reports it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::NamedSession;
use crate::replies::holder::{Holder, StartedProgram};
use crate::replies::reply::{Reply, ReplySource};
use crate::replies::run_result::{Reason, RunOutcome, RunResult};
use crate::slack::thread_marks::ThreadKey;
use crate::timestamp::{Timestamp, time_text};
use crate::version_wire::VERSION;

#[derive(Debug, Serialize, Deserialize)]
struct ReplyFile {
    version: u32,
    id: String,
    source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    event_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    channel: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    thread_ts: Option<String>,
    ts: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    text: String,
    received_at: String,
    #[serde(rename = "tool", default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct HolderFile {
    pid: u32,
    start: u64,
    at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boot: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    way: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ResultFile {
    version: u32,
    outcome: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<i64>,
    #[serde(default)]
    stdout_bytes: u64,
    #[serde(default)]
    stderr_bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    ended_at: String,
}

/// Reads a reply. Returns `None` if it is no reply, or a newer version wrote it.
pub fn read_reply(bytes: &[u8]) -> Option<Reply> {
    let file: ReplyFile = serde_json::from_slice(bytes).ok()?;
    (file.version <= VERSION).then(|| from_wire(file)).flatten()
}

/// Reads a finished reply, which is only shown, so a newer version may have written it.
pub fn read_finished(bytes: &[u8]) -> Option<Reply> {
    from_wire(serde_json::from_slice(bytes).ok()?)
}

fn from_wire(file: ReplyFile) -> Option<Reply> {
    let named = |name: &Option<String>| name.clone().unwrap_or_default();
    Some(Reply {
        source: ReplySource::parse(&file.source)?,
        to: NamedSession::of(&named(&file.agent), &named(&file.session_id)),
        id: file.id,
        event_id: file.event_id,
        thread: file
            .channel
            .zip(file.thread_ts)
            .map(|(channel, thread_ts)| ThreadKey { channel, thread_ts }),
        ts: file.ts,
        user: file.user,
        text: file.text,
        received_at: Timestamp::parse(&file.received_at),
        cwd: file.cwd,
    })
}

pub fn write_reply(reply: &Reply) -> Vec<u8> {
    let [agent, session_id] = reply.to.words().map(|word| word.map(str::to_owned));
    let Reply { id, event_id, thread, ts, user, text, cwd, .. } = reply.clone();
    let (channel, thread_ts) = thread.map(|thread| (thread.channel, thread.thread_ts)).unzip();
    to_json(&ReplyFile {
        version: VERSION,
        id,
        source: reply.source.as_str().to_owned(),
        event_id,
        channel,
        thread_ts,
        ts,
        user,
        text,
        received_at: time_text(reply.received_at),
        agent,
        session_id,
        cwd,
    })
}

/// Reads a process. Returns `None` if the bytes are not whole, or contain an unknown word.
pub fn read_holder(bytes: &[u8]) -> Option<Holder> {
    let file: HolderFile = serde_json::from_slice(bytes).ok()?;
    let HolderFile { pid, start, at, boot, way } = file;
    let way = known(way, StartedProgram::parse)?;
    Some(Holder { pid, start, at: Timestamp::parse(&at), boot, way })
}

pub fn write_holder(holder: &Holder) -> Vec<u8> {
    let Holder { pid, start, at, boot, way } = holder.clone();
    let way = way.map(|way| way.as_str().to_owned());
    to_json(&HolderFile { pid, start, at: time_text(at), boot, way })
}

/// Reads a result. Returns `None` if it is not whole, or contains an unknown word.
pub fn read_result(bytes: &[u8]) -> Option<RunResult> {
    let file: ResultFile = serde_json::from_slice(bytes).ok()?;
    Some(RunResult {
        outcome: RunOutcome::parse(&file.outcome)?,
        reason: known(file.reason, Reason::parse)?,
        code: file.code,
        stdout_bytes: file.stdout_bytes,
        stderr_bytes: file.stderr_bytes,
        output: file.output,
        ended_at: Timestamp::parse(&file.ended_at),
    })
}

pub fn write_result(result: &RunResult) -> Vec<u8> {
    to_json(&ResultFile {
        version: VERSION,
        outcome: result.outcome.as_str().to_owned(),
        reason: result.reason.map(|reason| reason.as_str().to_owned()),
        code: result.code,
        stdout_bytes: result.stdout_bytes,
        stderr_bytes: result.stderr_bytes,
        output: result.output.clone(),
        ended_at: time_text(result.ended_at),
    })
}

/// Parses an optional word; an unknown one makes the whole file unreadable.
fn known<T>(word: Option<String>, parse: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    word.map_or(Some(None), |word| parse(&word).map(Some))
}

/// Serialises a struct, which always succeeds; an empty file would read as absent.
fn to_json(file: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(file).unwrap_or_default()
}

/// A message as Slack reports it, with the fields used here. A field of the wrong type is absent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Reported {
    pub event_id: Option<String>,
    /// The workspace of the event. A fetched message has none: its workspace is that of the call.
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

/// The file format of `heard/<id>.json`: an event that could not be judged on arrival. It is
/// written before its acknowledgement, and removed when the reply is in the inbox or is dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnjudgedEvent {
    pub version: u32,
    pub received_at: String,
    pub reported: Reported,
}

/// Reads the `payload` of an `events_api` envelope; `None` if it is no JSON object with an `event`.
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

/// Reads a message from `conversations.replies`: without its channel, which the caller knows.
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
        // Of any type: an unreadable subtype is not allowed.
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
    use crate::ids::SessionKey;
    use crate::replies::reply::ReplyTo;

    const OF_0_1_0: &str = include_str!(
        "../../../turnbridge/testdata/state-0.1.0/inbox/8f6b4c7e-55a0-4f0c-9c53-0d7c1e2f9a11.json"
    );
    /// A reply from Slack with an unknown thread, as 0.1.0 wrote it.
    const WITHOUT_ROUTE: &str = r#"{"version":1,"id":"slack-D1-1700000001.000200","source":"slack","event_id":"Ev1","channel":"D1","thread_ts":"1.0","ts":"1700000001.000200","user":"U1","text":"go","received_at":"2026-11-17T20:52:00.000000Z"}"#;
    const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

    fn read(text: &str) -> Reply {
        read_reply(text.as_bytes()).unwrap()
    }

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    fn written(reply: &Reply) -> String {
        text(write_reply(reply))
    }

    #[test]
    fn a_reply_of_0_1_0_is_read_and_written_to_the_letter() {
        for file in [OF_0_1_0.trim_end(), WITHOUT_ROUTE] {
            assert_eq!(written(&read(file)), file);
        }
        assert_eq!(read(WITHOUT_ROUTE).to, NamedSession::nobody());
    }

    #[test]
    fn a_reply_reads_back_as_the_same_reply() {
        let thread = ThreadKey::new("D1", "1.0");
        let said = Reply::from_slack(thread, "2.5".into(), "U1".into(), "a\n\u{1b}b".into());
        let said = Reply { event_id: Some("Ev1".into()), ..said };
        let key = SessionKey::of("codex", "01a1e18e-2062-79f1-b187-979e8f997b9c").unwrap();
        let to = ReplyTo { key, cwd: Some("/w".into()) };
        for reply in
            [said.addressed(None, NOW), Reply::from_board("b".into(), "go".into(), to, NOW)]
        {
            assert_eq!(read(&written(&reply)), reply);
        }
    }

    /// Its thread receives `NoRoute`, and the reply is shown unchanged.
    #[test]
    fn a_reply_for_no_session_that_can_be_resumed_is_kept_and_leads_nowhere() {
        let (agent, id) = ("\"claude\"", "\"825c8529-ee09-4cb8-8902-dd785b12ca0a\"");
        for (old, new) in [(agent, "\"gemini\""), (id, "\"../x\""), (id, "\"last\"")] {
            let file = OF_0_1_0.trim_end().replace(old, new);
            let reply = read(&file);
            assert_eq!(reply.session(), None, "{file}");
            assert_eq!(written(&reply), file);
        }
    }

    #[test]
    fn a_time_that_is_none_loses_no_reply() {
        let reply = read(&OF_0_1_0.replace("2026-11-17T20:52:00.000000Z", "now"));
        assert_eq!(reply, Reply { received_at: None, ..read(OF_0_1_0) });
        assert_eq!(read(&written(&reply)), reply);
    }

    #[test]
    fn half_a_reply_is_none_and_a_newer_versions_is_only_shown_when_it_is_finished() {
        let half = OF_0_1_0.trim_end().as_bytes();
        assert_eq!(read_reply(&half[..half.len() - 1]), None);
        let newer = OF_0_1_0.replace("\"version\":1", "\"version\":2");
        assert_eq!(read_reply(newer.as_bytes()), None);
        assert_eq!(read_finished(newer.as_bytes()), Some(read(OF_0_1_0)));
        let from_elsewhere = OF_0_1_0.replace("board", "mail");
        assert_eq!(read_reply(from_elsewhere.as_bytes()), None);
    }

    #[test]
    fn a_result_is_read_and_written_to_the_letter() {
        for file in [
            r#"{"version":1,"outcome":"done","code":0,"stdout_bytes":4,"stderr_bytes":0,"output":"x","ended_at":"2026-11-17T20:52:00.000000Z"}"#,
            r#"{"version":1,"outcome":"failed","reason":"exit_code","code":-1,"stdout_bytes":0,"stderr_bytes":9,"ended_at":"2026-11-17T20:52:00.000000Z"}"#,
        ] {
            let result = read_result(file.as_bytes()).unwrap();
            assert_eq!(text(write_result(&result)), file);
        }
        let short = br#"{"version":1,"outcome":"stopped","ended_at":"soon"}"#;
        let stopped = RunResult { ended_at: None, ..RunResult::new(RunOutcome::Stopped, NOW) };
        assert_eq!(read_result(short), Some(stopped));
    }

    #[test]
    fn every_word_of_a_result_is_read_back_and_another_makes_it_unreadable() {
        for outcome in RunOutcome::ALL {
            let result = RunResult::new(outcome, NOW);
            assert_eq!(read_result(&write_result(&result)), Some(result));
        }
        for reason in Reason::ALL {
            let result = RunResult::failed(reason, Some(1), NOW);
            assert_eq!(read_result(&write_result(&result)), Some(result));
        }
        let failed = text(write_result(&RunResult::failed(Reason::Signal, None, NOW)));
        for (old, new) in [("\"failed\"", "\"melted\""), ("\"signal\"", "\"sunspots\"")] {
            assert_eq!(read_result(failed.replace(old, new).as_bytes()), None);
        }
    }

    #[test]
    fn a_holder_is_read_and_written_to_the_letter() {
        for file in [
            r#"{"pid":7,"start":99,"at":"2026-11-17T20:52:00.000000Z"}"#,
            r#"{"pid":7,"start":0,"at":"2026-11-17T20:52:00.000000Z","boot":"b","way":"agent"}"#,
            r#"{"pid":7,"start":0,"at":"2026-11-17T20:52:00.000000Z","way":"queue"}"#,
        ] {
            let holder = read_holder(file.as_bytes()).unwrap();
            assert_eq!(text(write_holder(&holder)), file);
        }
        let undated = read_holder(br#"{"pid":7,"start":1,"at":""}"#).unwrap();
        assert_eq!(undated.at, None);
        assert_eq!(read_holder(&write_holder(&undated)), Some(undated));
        assert_eq!(read_holder(br#"{"pid":7,"start":1,"at":"","way":"magic"}"#), None);
    }
}
