//! Reads and writes the files of delivery: the notice (`outbox/<id>.json`) and its progress on one
//! channel (`outbox/<id>.<channel>.progress`).

use serde::{Deserialize, Serialize};

use crate::ids::{ChannelName, NamedSession};
use crate::notices::notice::{Destination, Notice, NoticeKind, ThreadPlace, is_notice_id};
use crate::notices::progress::{NoticeMessage, NoticeProgress};
use crate::timestamp::{Timestamp, time_text};
use crate::version_wire::VERSION;

#[derive(Debug, Serialize, Deserialize)]
struct NoticeFile {
    version: u32,
    id: String,
    kind: String,
    created_at: String,
    /// Absent: Slack, the only channel of 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    channels: Option<Vec<String>>,
    #[serde(rename = "tool")]
    agent: String,
    session_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    transcript_path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    answers: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    thread: Option<ThreadFile>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ThreadFile {
    channel: String,
    thread_ts: String,
    after_ts: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct ProgressFile {
    version: u32,
    #[serde(default)]
    messages: Vec<MessageFile>,
    #[serde(default)]
    channel: Option<String>,
    #[serde(default)]
    after_ts: Option<String>,
    #[serde(default)]
    posted: Vec<String>,
    #[serde(default)]
    intent: bool,
    #[serde(default)]
    route_saved: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_arrived: bool,
    #[serde(default)]
    attempts: u32,
    #[serde(default)]
    next_attempt_at: Option<String>,
    #[serde(default)]
    pause_seconds: u64,
    #[serde(default)]
    waited_seconds: u64,
    #[serde(default)]
    last_error: Option<String>,
    #[serde(default)]
    held: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct MessageFile {
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    markdown: Option<String>,
}

/// Reads a notice. Returns `None` if it is not whole, has no usable id, or is of a newer version.
pub fn read_notice(bytes: &[u8]) -> Option<Notice> {
    let file: NoticeFile = serde_json::from_slice(bytes).ok()?;
    let is_readable = file.version <= VERSION && is_notice_id(&file.id);
    let kind = NoticeKind::parse(&file.kind).filter(|_| is_readable)?;
    let mut destinations = destinations_of(file.channels.as_deref());
    // A notice in a thread has one channel.
    destinations[0].thread = file.thread.map(|thread| {
        let ThreadFile { channel, thread_ts, after_ts } = thread;
        ThreadPlace { channel, thread_ts, after_ts }
    });
    Some(Notice {
        kind,
        created_at: Timestamp::parse(&file.created_at),
        session: NamedSession::of(&file.agent, &file.session_id),
        id: file.id,
        turn_id: file.turn_id,
        cwd: file.cwd,
        transcript_path: file.transcript_path,
        prompt: file.prompt,
        answers: file.answers,
        destinations,
        subject: file.subject,
    })
}

pub fn write_notice(notice: &Notice) -> Vec<u8> {
    to_json(&notice_file(notice))
}

/// Returns the notice as JSON for other programs, the same as in its file.
pub fn notice_json(notice: &Notice) -> impl Serialize + use<> {
    notice_file(notice)
}

fn notice_file(notice: &Notice) -> NoticeFile {
    let Notice { id, turn_id, cwd, transcript_path, prompt, answers, subject, .. } = notice.clone();
    let thread = notice.destinations.first().and_then(|destination| destination.thread.clone());
    let thread = thread.map(|thread| {
        let ThreadPlace { channel, thread_ts, after_ts } = thread;
        ThreadFile { channel, thread_ts, after_ts }
    });
    NoticeFile {
        version: VERSION,
        id,
        kind: notice.kind.as_str().to_owned(),
        created_at: time_text(notice.created_at),
        channels: channel_names(notice),
        agent: notice.session.agent_text().to_owned(),
        session_id: notice.session.id_text().to_owned(),
        turn_id,
        cwd,
        transcript_path,
        prompt,
        answers,
        thread,
        subject,
    }
}

/// Returns each channel once, and Slack alone if no name is a valid channel.
fn destinations_of(names: Option<&[String]>) -> Vec<Destination> {
    let mut named = Vec::new();
    for name in names.unwrap_or_default().iter().filter_map(|name| ChannelName::parse(name)) {
        if !named.contains(&name) {
            named.push(name);
        }
    }
    if named.is_empty() {
        named.push(ChannelName::SLACK);
    }
    named.into_iter().map(Destination::on).collect()
}

/// Returns `None` for Slack alone.
fn channel_names(notice: &Notice) -> Option<Vec<String>> {
    let names: Vec<_> = notice.channels().map(ChannelName::to_string).collect();
    (names != [ChannelName::SLACK.as_str()]).then_some(names)
}

/// Returns the channels of a notice, from the first bytes of its file: they precede the texts of
/// the user and the model. Returns `None` if the file is not as `write_notice` writes it.
pub fn channels_in(head: &[u8]) -> Option<Vec<ChannelName>> {
    let (_, rest) = created_at_and_rest(head)?;
    let destinations = match rest.strip_prefix(b",\"channels\":") {
        Some(list) => {
            let end = list.iter().position(|byte| *byte == b']')?;
            let names: Vec<String> = serde_json::from_slice(&list[..=end]).ok()?;
            destinations_of(Some(&names))
        }
        None if rest.starts_with(b",\"tool\":") => destinations_of(None),
        None => return None,
    };
    Some(destinations.into_iter().map(|destination| destination.channel).collect())
}

/// Returns when a notice was made, from the first bytes of its file, which precede the texts of the
/// user and the model. Returns `None` if they contain no time.
pub fn created_at_in(head: &[u8]) -> Option<Timestamp> {
    let (created_at, _) = created_at_and_rest(head)?;
    Timestamp::parse(std::str::from_utf8(created_at).ok()?)
}

fn created_at_and_rest(head: &[u8]) -> Option<(&[u8], &[u8])> {
    const KEY: &[u8] = b"\"created_at\":\"";
    let start = head.windows(KEY.len()).position(|window| window == KEY)? + KEY.len();
    let length = head[start..].iter().position(|byte| *byte == b'"')?;
    Some((&head[start..start + length], &head[start + length + 1..]))
}

/// Reads the progress of a delivery. Returns `None` if it is not whole. The caller has checked that
/// no newer version wrote it.
pub fn read_progress(bytes: &[u8]) -> Option<NoticeProgress> {
    let file: ProgressFile = serde_json::from_slice(bytes).ok()?;
    let message = |MessageFile { text, markdown }| NoticeMessage { text, markdown };
    Some(NoticeProgress {
        messages: file.messages.into_iter().map(message).collect(),
        channel: file.channel,
        after_ts: file.after_ts,
        posted: file.posted,
        intent: file.intent,
        route_saved: file.route_saved,
        has_arrived: file.has_arrived,
        attempts: file.attempts,
        next_attempt_at: file.next_attempt_at.as_deref().and_then(Timestamp::parse),
        pause_seconds: file.pause_seconds,
        waited_seconds: file.waited_seconds,
        last_error: file.last_error,
        held: file.held,
    })
}

pub fn write_progress(progress: &NoticeProgress) -> Vec<u8> {
    to_json(&ProgressFile {
        version: VERSION,
        messages: progress.messages.iter().map(message_file).collect(),
        channel: progress.channel.clone(),
        after_ts: progress.after_ts.clone(),
        posted: progress.posted.clone(),
        intent: progress.intent,
        route_saved: progress.route_saved,
        has_arrived: progress.has_arrived,
        attempts: progress.attempts,
        next_attempt_at: progress.next_attempt_at.map(|at| at.to_string()),
        pause_seconds: progress.pause_seconds,
        waited_seconds: progress.waited_seconds,
        last_error: progress.last_error.clone(),
        held: progress.held,
    })
}

/// Returns the message as JSON for other programs, the same as in the file.
pub fn message_json(message: &NoticeMessage) -> impl Serialize + use<> {
    message_file(message)
}

fn message_file(message: &NoticeMessage) -> MessageFile {
    let NoticeMessage { text, markdown } = message.clone();
    MessageFile { text, markdown }
}

/// Serialises a struct, which always succeeds; an empty file would read as absent.
fn to_json(file: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(file).unwrap_or_default()
}

#[cfg(test)]
mod tests;
