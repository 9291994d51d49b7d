//! Finds out whether a message was posted, when the answer to its call was lost. The message is
//! identified by the id in its metadata, and counts only if Turnbridge's bot wrote it.

use std::sync::PoisonError;

use serde_json::{Value, json};

use crate::call_error::CallError;
use crate::ids::{check_channel, check_ts};
use crate::methods::{EVENT_TYPE, TokenIdentity};
use crate::token::Token;
use crate::web_api::{Encoding, WebApi};

/// The largest page that Slack recommends.
const PAGE: u32 = 200;
/// The limit of pages: twenty thousand messages. Without `oldest` the search would read the whole
/// history.
const PAGES: u32 = 100;

impl WebApi {
    /// Returns the ts of the channel's newest message. Later messages have a larger ts by Slack's
    /// clock, the only one that counts.
    pub fn latest_ts(&self, token: &Token, channel: &str) -> Result<Option<String>, CallError> {
        check_channel(channel)?;
        let arguments = json!({"channel": channel, "limit": 1});
        let page = self.call(token, "conversations.history", arguments, Encoding::Form)?;
        let messages = page["messages"].as_array().ok_or_else(|| unclear("no `messages`"))?;
        match messages.first() {
            None => Ok(None),
            Some(message) => {
                let ts = message["ts"].as_str().filter(|ts| check_ts(ts).is_ok());
                ts.map(|ts| Some(ts.to_owned())).ok_or_else(|| unclear("no `ts`"))
            }
        }
    }

    /// Returns the ts of the message with this id, or `None` if it was not posted. With `thread_ts`
    /// it searches that thread, otherwise the channel's messages outside of threads. `oldest` is
    /// the first ts that the message can have.
    pub fn find_message(
        &self,
        token: &Token,
        channel: &str,
        thread_ts: Option<&str>,
        oldest: Option<&str>,
        id: &str,
    ) -> Result<Option<String>, CallError> {
        check_channel(channel)?;
        thread_ts.map_or(Ok(()), check_ts)?;
        oldest.map_or(Ok(()), check_ts)?;
        let identity = self.identity_of(token)?;
        let method = match thread_ts {
            Some(_) => "conversations.replies",
            None => "conversations.history",
        };
        let mut arguments = json!({
            "channel": channel,
            "ts": thread_ts,
            "oldest": oldest,
            "inclusive": true,
            "include_all_metadata": true,
            "limit": PAGE,
        });
        for _ in 0..PAGES {
            let page = self.call(token, method, arguments.clone(), Encoding::Form)?;
            let messages = page["messages"].as_array().ok_or_else(|| unclear("no `messages`"))?;
            if let Some(message) = messages.iter().find(|message| is_ours(message, id, &identity)) {
                let ts = message["ts"].as_str().ok_or_else(|| unclear("no `ts`"))?;
                return Ok(Some(ts.to_owned()));
            }
            let cursor = &page["response_metadata"]["next_cursor"];
            if cursor.as_str().is_none_or(str::is_empty) {
                return Ok(None);
            }
            if arguments["cursor"] == *cursor {
                return Err(unclear("the same page again"));
            }
            arguments["cursor"] = cursor.clone();
        }
        // `None` would make the caller post it again.
        Err(unclear("more pages than can be read"))
    }

    /// Returns the identity of a token. Calls Slack only if another token was checked last.
    pub(crate) fn identity_of(&self, token: &Token) -> Result<TokenIdentity, CallError> {
        let known = self.identity.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match known {
            Some((known_token, identity)) if known_token == *token => Ok(identity),
            _ => self.auth_test(token),
        }
    }
}

fn unclear(what: &str) -> CallError {
    CallError::Ambiguous { cause: format!("the message could not be looked for: {what}") }
}

fn is_ours(message: &Value, id: &str, identity: &TokenIdentity) -> bool {
    let metadata = &message["metadata"];
    metadata["event_type"] == EVENT_TYPE
        && metadata["event_payload"]["id"] == id
        && identity.has_written(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_bot_and_our_id_are_ours() {
        let me = TokenIdentity {
            bot_id: Some("B1".to_owned()),
            user_id: Some("U1".to_owned()),
            ..TokenIdentity::default()
        };
        let message = |bot: &str, user: &str, kind: &str, id: &str| json!({"bot_id": bot, "user": user, "metadata": {"event_type": kind, "event_payload": {"id": id}}});
        assert!(is_ours(&message("B1", "U1", EVENT_TYPE, "a"), "a", &me));
        assert!(is_ours(&message("B9", "U1", EVENT_TYPE, "a"), "a", &me));
        assert!(!is_ours(&message("B9", "U9", EVENT_TYPE, "a"), "a", &me));
        assert!(!is_ours(&message("B1", "U1", EVENT_TYPE, "b"), "a", &me));
        assert!(!is_ours(&message("B1", "U1", "other", "a"), "a", &me));
        assert!(!is_ours(&json!({"text": "a"}), "a", &TokenIdentity::default()));
    }
}
