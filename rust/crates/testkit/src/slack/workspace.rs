//! Stores the state of the loopback Slack: direct messages and their content, the rate limit's
//! buckets, socket tickets, and events to send. The rules of the methods are in `methods.rs`,
//! `chat.rs` and `history.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use super::setup::SlackSetup;

/// One message in Slack's form.
#[derive(Clone, Debug, PartialEq)]
pub struct SlackMessage {
    pub channel: String,
    pub ts: String,
    /// The parent's `ts`; `None` for a message that is no reply.
    pub thread_ts: Option<String>,
    pub user: String,
    /// Set for a message of the app.
    pub bot_id: Option<String>,
    pub text: String,
    pub blocks: Option<Value>,
    pub metadata: Option<Value>,
    pub unfurl_links: Option<bool>,
    pub unfurl_media: Option<bool>,
    pub client_msg_id: Option<String>,
    /// The time of the last change.
    pub edited_ts: Option<String>,
    /// Additional fields: a subtype, files.
    pub extra: Map<String, Value>,
}

impl SlackMessage {
    /// Returns `metadata.event_payload.id`, by which a client finds its own post.
    pub fn payload_id(&self) -> Option<&str> {
        self.metadata.as_ref()?["event_payload"]["id"].as_str()
    }
}

/// A message that is no reply, with its replies in order.
#[derive(Clone, Debug, PartialEq)]
pub struct SlackThread {
    pub parent: SlackMessage,
    pub replies: Vec<SlackMessage>,
}

/// The state of a workspace with one app.
pub(super) struct SlackWorkspace {
    pub(super) setup: SlackSetup,
    /// The users by the id of their direct message.
    channels: BTreeMap<String, String>,
    messages: Vec<SlackMessage>,
    last_micros: u64,
    buckets: BTreeMap<String, (f64, Instant)>,
    tickets: u32,
    unused_tickets: BTreeSet<String>,
    /// The events that the app has not got yet.
    pub(super) raised: Vec<AppEvent>,
}

/// A payload for the app.
pub(super) enum AppEvent {
    Event(Value),
    /// A click or a command: an envelope of another type.
    Other {
        kind: String,
        payload: Value,
    },
}

/// Whether a direct message existed before the call.
#[derive(PartialEq)]
pub(super) enum Opened {
    Now,
    Before,
}

impl SlackWorkspace {
    pub(super) fn new(setup: SlackSetup) -> SlackWorkspace {
        SlackWorkspace {
            setup,
            channels: BTreeMap::new(),
            messages: Vec::new(),
            last_micros: 0,
            buckets: BTreeMap::new(),
            tickets: 0,
            unused_tickets: BTreeSet::new(),
            raised: Vec::new(),
        }
    }

    /// Opens the direct message with `user`. The id is always the same.
    pub(super) fn open_direct_message(&mut self, user: &str) -> (String, Opened) {
        let channel = format!("D{}", user.trim_start_matches('U'));
        match self.channels.insert(channel.clone(), user.to_owned()) {
            Some(_) => (channel, Opened::Before),
            None => (channel, Opened::Now),
        }
    }

    /// Returns whether this direct message was opened.
    pub(super) fn has_channel(&self, channel: &str) -> bool {
        self.channels.contains_key(channel)
    }

    /// Returns the user of this direct message.
    pub(super) fn other_end(&self, channel: &str) -> Option<&str> {
        self.channels.get(channel).map(String::as_str)
    }

    /// Returns a timestamp that is later than every message's.
    pub(super) fn next_ts(&mut self) -> String {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let skewed = since_1970.as_micros() as i64 + self.setup.clock_ahead_seconds * 1_000_000;
        self.last_micros = u64::try_from(skewed).unwrap_or_default().max(self.last_micros + 1);
        format_ts(self.last_micros)
    }

    pub(super) fn add(&mut self, message: SlackMessage) {
        self.messages.push(message);
    }

    /// Adds a message before the one with this time.
    pub(super) fn add_before(&mut self, ts: &str, message: SlackMessage) {
        let index = self.messages.iter().position(|it| it.ts == ts);
        self.messages.insert(index.unwrap_or(self.messages.len()), message);
    }

    pub(super) fn find(&self, channel: &str, ts: &str) -> Option<&SlackMessage> {
        self.messages.iter().find(|message| message.channel == channel && message.ts == ts)
    }

    pub(super) fn find_mut(&mut self, channel: &str, ts: &str) -> Option<&mut SlackMessage> {
        self.messages.iter_mut().find(|message| message.channel == channel && message.ts == ts)
    }

    /// Queues an event for the app.
    pub(super) fn raise(&mut self, event: Value) {
        self.raised.push(AppEvent::Event(event));
    }

    /// Finds a message: timestamps are unique here across all channels.
    pub(super) fn find_by_ts(&self, ts: &str) -> Option<&SlackMessage> {
        self.messages.iter().find(|message| message.ts == ts)
    }

    pub(super) fn find_by_ts_mut(&mut self, ts: &str) -> Option<&mut SlackMessage> {
        self.messages.iter_mut().find(|message| message.ts == ts)
    }

    pub(super) fn remove(&mut self, ts: &str) -> Option<SlackMessage> {
        let index = self.messages.iter().position(|message| message.ts == ts)?;
        Some(self.messages.remove(index))
    }

    /// Returns the messages of a channel, replies too, oldest first.
    pub(super) fn messages(&self, channel: &str) -> Vec<&SlackMessage> {
        self.messages.iter().filter(|message| message.channel == channel).collect()
    }

    /// Returns the replies to a message, oldest first.
    pub(super) fn replies(&self, parent: &SlackMessage) -> Vec<&SlackMessage> {
        let in_channel = self.messages.iter().filter(|message| message.channel == parent.channel);
        in_channel.filter(|message| message.thread_ts.as_ref() == Some(&parent.ts)).collect()
    }

    /// Returns every message that is no reply, with its replies, in order.
    pub(super) fn threads(&self) -> Vec<SlackThread> {
        let parents = self.messages.iter().filter(|message| message.thread_ts.is_none());
        let thread = |parent: &SlackMessage| SlackThread {
            parent: parent.clone(),
            replies: self.replies(parent).into_iter().cloned().collect(),
        };
        parents.map(thread).collect()
    }

    /// Takes one post out of the channel's bucket. Returns the number of seconds to wait if it is
    /// empty.
    pub(super) fn take_from_bucket(&mut self, channel: &str, now: Instant) -> Result<(), u64> {
        let Some(burst) = self.setup.burst else { return Ok(()) };
        let burst = f64::from(burst.max(1));
        let (level, filled_at) = self.buckets.entry(channel.to_owned()).or_insert((burst, now));
        *level = (*level + now.duration_since(*filled_at).as_secs_f64()).min(burst);
        *filled_at = now;
        if *level < 1.0 {
            return Err((1.0 - *level).ceil() as u64);
        }
        *level -= 1.0;
        Ok(())
    }

    /// Returns a ticket for one socket, unique.
    pub(super) fn next_ticket(&mut self) -> String {
        self.tickets += 1;
        let ticket = format!("loopback-{}", self.tickets);
        self.unused_tickets.insert(ticket.clone());
        ticket
    }

    /// Uses a ticket. Returns `false` if it was used before or does not exist.
    pub(super) fn take_ticket(&mut self, ticket: &str) -> bool {
        self.unused_tickets.remove(ticket)
    }

    /// Returns a message in the form of `conversations.history` and `conversations.replies`.
    pub(super) fn as_json(&self, message: &SlackMessage, metadata: Metadata) -> Value {
        let mut shown = json!({
            "type": "message", "user": message.user, "ts": message.ts, "text": message.text,
            "team": self.setup.team_id,
        });
        if let Some(bot_id) = &message.bot_id {
            shown["bot_id"] = bot_id.as_str().into();
            shown["app_id"] = self.setup.app_id.as_str().into();
            shown["bot_profile"] = json!({
                "id": bot_id, "app_id": self.setup.app_id, "name": self.setup.app_name,
                "team_id": self.setup.team_id, "deleted": false,
            });
        }
        if let Some(id) = &message.client_msg_id {
            shown["client_msg_id"] = id.as_str().into();
        }
        if let Some(blocks) = &message.blocks {
            shown["blocks"] = blocks.clone();
        }
        if let (Metadata::Shown, Some(metadata)) = (metadata, &message.metadata) {
            shown["metadata"] = metadata.clone();
        }
        if let Some(ts) = &message.edited_ts {
            shown["edited"] = json!({"user": message.user, "ts": ts});
        }
        for (name, value) in &message.extra {
            shown[name] = value.clone();
        }
        self.add_thread_fields(message, &mut shown);
        shown
    }

    fn add_thread_fields(&self, message: &SlackMessage, shown: &mut Value) {
        if let Some(thread_ts) = &message.thread_ts {
            shown["thread_ts"] = thread_ts.as_str().into();
            if let Some(parent) = self.find(&message.channel, thread_ts) {
                shown["parent_user_id"] = parent.user.as_str().into();
            }
            return;
        }
        let replies = self.replies(message);
        // A message is no parent, and has none of its fields, before its first reply.
        let Some(last) = replies.last() else { return };
        let mut users: Vec<&str> = replies.iter().map(|reply| reply.user.as_str()).collect();
        users.sort_unstable();
        users.dedup();
        shown["thread_ts"] = message.ts.as_str().into();
        shown["reply_count"] = replies.len().into();
        shown["reply_users_count"] = users.len().into();
        shown["reply_users"] = json!(users);
        shown["latest_reply"] = last.ts.as_str().into();
        shown["is_locked"] = false.into();
        shown["subscribed"] = true.into();
    }
}

/// Whether a response contains the messages' metadata.
#[derive(Clone, Copy)]
pub(super) enum Metadata {
    Shown,
    Hidden,
}

/// Formats microseconds since 1970 as a timestamp of Slack.
pub(super) fn format_ts(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

/// Parses a timestamp of Slack into microseconds since 1970. Whole seconds are allowed, as in
/// `oldest=0`.
pub(super) fn parse_ts(ts: &str) -> Option<u64> {
    let (seconds, fraction) = ts.split_once('.').unwrap_or((ts, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if seconds.is_empty() || !digits(seconds) || !digits(fraction) || fraction.len() > 6 {
        return None;
    }
    let micros: u64 = format!("{fraction:0<6}").parse().ok()?;
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(micros)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn time_stamps_are_unique_and_increase_whatever_the_clock_does() {
        let mut workspace = SlackWorkspace::new(SlackSetup::default());
        let mut previous = workspace.next_ts();
        for _ in 0..100 {
            workspace.setup.clock_ahead_seconds -= 1;
            let ts = workspace.next_ts();
            assert!(parse_ts(&ts) > parse_ts(&previous), "{previous} {ts}");
            previous = ts;
        }
    }

    #[test]
    fn after_the_burst_a_channel_takes_one_post_a_second() {
        let mut workspace =
            SlackWorkspace::new(SlackSetup { burst: Some(2), ..SlackSetup::default() });
        let start = Instant::now();
        let mut take = |channel: &str, millis| {
            workspace.take_from_bucket(channel, start + Duration::from_millis(millis))
        };
        assert_eq!([take("D1", 0), take("D1", 0), take("D1", 0)], [Ok(()), Ok(()), Err(1)]);
        assert_eq!(take("D2", 0), Ok(()));
        assert_eq!(
            [take("D1", 900), take("D1", 1_000), take("D1", 1_500)],
            [Err(1), Ok(()), Err(1)]
        );
        assert_eq!(
            [take("D1", 9_000), take("D1", 9_000), take("D1", 9_000)],
            [Ok(()), Ok(()), Err(1)]
        );
    }

    #[test]
    fn a_time_stamp_is_read_as_it_is_written() {
        assert_eq!(parse_ts(&format_ts(1_700_000_000_000_042)), Some(1_700_000_000_000_042));
        assert_eq!(parse_ts("0"), Some(0));
        assert_eq!(parse_ts("12.5"), Some(12_500_000));
        for wrong in ["", ".5", "1e3", "-1", "12.3456789", "now"] {
            assert_eq!(parse_ts(wrong), None, "{wrong}");
        }
    }
}
