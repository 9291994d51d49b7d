//! Reads the messages that were written while no socket was open: a channel's parents, page by
//! page, with the time of the newest reply to each, and the replies of a thread. Slack retries an
//! event for some minutes only, and sends it to only one of an app's sockets.

use serde_json::{Value, json};

use crate::call_error::CallError;
use crate::ids::{check_channel, check_ts, parse_ts};
use crate::methods::{EVENT_TYPE, TokenIdentity};
use crate::token::Token;
use crate::web_api::{Encoding, WebApi};

/// The largest page that Slack recommends.
const PAGE: u32 = 200;

/// A message outside of threads, which may have a thread under it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParentMessage {
    pub ts: String,
    /// The time of the newest message in its thread, by any author.
    pub latest_reply: Option<String>,
    /// The number of messages in its thread besides it.
    pub reply_count: Option<u64>,
    /// The authors in its thread; `None` if Slack does not name all of them.
    pub reply_users: Option<Vec<String>>,
    /// The tag in its metadata; `None` if Turnbridge's bot did not write it.
    pub ours: Option<MessageTag>,
}

/// The metadata of a message that Turnbridge posted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MessageTag {
    pub id: Option<String>,
    /// The machine that posted it; version 0.1 did not write this.
    pub machine: Option<String>,
    pub machine_name: Option<String>,
}

/// One page of parents, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParentPage {
    pub parents: Vec<ParentMessage>,
    /// The cursor of the older ones; `None` if there are none.
    pub next: Option<String>,
}

impl WebApi {
    /// Reads one page in one call. `from` is `next` of the page before; `None` begins with the
    /// newest.
    pub fn parents(
        &self,
        token: &Token,
        channel: &str,
        from: Option<&str>,
        limit: u32,
    ) -> Result<ParentPage, CallError> {
        check_channel(channel)?;
        let identity = self.identity_of(token)?;
        let mut arguments =
            json!({"channel": channel, "limit": limit, "include_all_metadata": true});
        if let Some(cursor) = from {
            arguments["cursor"] = json!(cursor);
        }
        let page = self.call(token, "conversations.history", arguments, Encoding::Form)?;
        let messages = messages(&page)?.iter();
        let parents = messages.filter_map(|message| read_parent(message, &identity)).collect();
        let next = next_cursor(&page);
        if next.is_some() && next == from {
            return Err(unclear("the same page again"));
        }
        Ok(ParentPage { parents, next: next.map(str::to_owned) })
    }

    /// Returns the parent of a thread, or `None` if there is none.
    pub fn parent_of(
        &self,
        token: &Token,
        channel: &str,
        thread_ts: &str,
    ) -> Result<Option<ParentMessage>, CallError> {
        check_channel(channel)?;
        check_ts(thread_ts)?;
        let identity = self.identity_of(token)?;
        let arguments = json!({
            "channel": channel, "ts": thread_ts, "limit": 1, "include_all_metadata": true,
        });
        match self.call(token, "conversations.replies", arguments, Encoding::Form) {
            Err(CallError::Refused { error, .. }) if error == "thread_not_found" => Ok(None),
            Err(error) => Err(error),
            Ok(page) => {
                let parent = messages(&page)?.iter().find(|message| message["ts"] == thread_ts);
                Ok(parent.and_then(|message| read_parent(message, &identity)))
            }
        }
    }

    /// Returns one page of a thread's messages that are newer than `after`, as JSON, oldest first,
    /// and the cursor of the next page.
    pub fn replies_after(
        &self,
        token: &Token,
        channel: &str,
        thread_ts: &str,
        after: &str,
        from: Option<&str>,
    ) -> Result<(Vec<String>, Option<String>), CallError> {
        check_channel(channel)?;
        check_ts(thread_ts)?;
        check_ts(after)?;
        let mut arguments =
            json!({"channel": channel, "ts": thread_ts, "oldest": after, "limit": PAGE});
        if let Some(cursor) = from {
            arguments["cursor"] = json!(cursor);
        }
        let page = self.call(token, "conversations.replies", arguments, Encoding::Form)?;
        // The first page begins with the parent, whatever the arguments are.
        let is_new = |message: &&Value| {
            message["ts"] != thread_ts
                && message["ts"].as_str().and_then(parse_ts) > parse_ts(after)
        };
        let replies = messages(&page)?.iter().filter(is_new).map(Value::to_string).collect();
        let next = next_cursor(&page);
        if next.is_some() && next == from {
            return Err(unclear("the same page again"));
        }
        Ok((replies, next.map(str::to_owned)))
    }
}

fn messages(page: &Value) -> Result<&Vec<Value>, CallError> {
    page["messages"].as_array().ok_or_else(|| unclear("no `messages`"))
}

fn next_cursor(page: &Value) -> Option<&str> {
    page["response_metadata"]["next_cursor"].as_str().filter(|cursor| !cursor.is_empty())
}

fn unclear(what: &str) -> CallError {
    CallError::Ambiguous { cause: what.to_owned() }
}

fn read_parent(message: &Value, identity: &TokenIdentity) -> Option<ParentMessage> {
    let ts = message["ts"].as_str().filter(|ts| check_ts(ts).is_ok())?;
    let latest = message["latest_reply"].as_str().filter(|ts| check_ts(ts).is_ok());
    Some(ParentMessage {
        ts: ts.to_owned(),
        latest_reply: latest.map(str::to_owned),
        reply_count: message["reply_count"].as_u64(),
        reply_users: read_users(message),
        ours: read_tag(message, identity),
    })
}

/// Returns the authors, or `None` if some are missing. Slack names some five of them, and sends
/// their number.
fn read_users(message: &Value) -> Option<Vec<String>> {
    let users = message["reply_users"].as_array()?;
    let users: Option<Vec<_>> = users.iter().map(|user| user.as_str().map(str::to_owned)).collect();
    let count = message["reply_users_count"].as_u64();
    users.filter(|users| !users.is_empty() && count == Some(users.len() as u64))
}

/// Returns the tag only if Turnbridge's bot wrote the message, because any user can write metadata.
fn read_tag(message: &Value, identity: &TokenIdentity) -> Option<MessageTag> {
    let is_by_us = identity.has_written(message) && message["metadata"]["event_type"] == EVENT_TYPE;
    is_by_us.then(|| {
        let payload = &message["metadata"]["event_payload"];
        let text = |name: &str| payload[name].as_str().map(str::to_owned);
        MessageTag { id: text("id"), machine: text("machine"), machine_name: text("machine_name") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// X50.
    #[test]
    fn metadata_counts_only_when_our_own_bot_has_written_it() {
        let me = TokenIdentity { bot_id: Some("B1".to_owned()), ..TokenIdentity::default() };
        let message = |bot: &str, kind: &str| json!({"ts": "1.000100", "bot_id": bot, "metadata": {"event_type": kind, "event_payload": {"id": "a/0", "machine": "m1"}}});
        let ours = |message: Value| read_parent(&message, &me).unwrap().ours;
        let machine = Some("m1".to_owned());
        let tag = MessageTag { id: Some("a/0".to_owned()), machine, machine_name: None };
        assert_eq!(ours(message("B1", EVENT_TYPE)), Some(tag));
        assert_eq!(ours(message("B2", EVENT_TYPE)), None);
        assert_eq!(ours(message("B1", "other")), None);
        assert_eq!(read_parent(&json!({"ts": "x"}), &me), None);
    }

    #[test]
    fn who_has_replied_is_known_only_when_slack_names_all() {
        let users = |users: Value, count: Value| {
            read_users(&json!({"reply_users": users, "reply_users_count": count}))
        };
        assert_eq!(users(json!(["U1"]), json!(1)), Some(vec!["U1".to_owned()]));
        assert_eq!(users(json!(["U1"]), json!(2)), None);
        assert_eq!(users(json!([]), json!(0)), None);
        assert_eq!(users(Value::Null, json!(1)), None);
        assert_eq!(users(json!(["U1"]), Value::Null), None);
    }
}
