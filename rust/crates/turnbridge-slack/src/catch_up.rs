//! What was said while nobody listened: threads that have new replies, and those replies. Slack
//! sends an event again for some minutes only.

use serde_json::{Value, json};

use crate::call_error::CallError;
use crate::ids::{check_channel, check_ts, parse_ts};
use crate::token::Token;
use crate::web_api::{Encoding, WebApi};

const PAGE: u32 = 200;
/// Four thousand threads, or replies of one thread.
const PAGES: u32 = 20;

impl WebApi {
    /// The threads begun since `begun` that have been replied to after `after`.
    pub fn threads_replied_to(
        &self,
        token: &Token,
        channel: &str,
        begun: &str,
        after: &str,
    ) -> Result<Vec<String>, CallError> {
        check_ts(after)?;
        let arguments = json!({"channel": channel, "oldest": begun, "limit": PAGE});
        let mut threads = Vec::new();
        self.each_message(token, "conversations.history", channel, arguments, |message| {
            let latest = message["latest_reply"].as_str().and_then(parse_ts);
            let ts = message["ts"].as_str().filter(|ts| check_ts(ts).is_ok());
            if let (Some(latest), Some(ts)) = (latest, ts)
                && Some(latest) > parse_ts(after)
            {
                threads.push(ts.to_owned());
            }
        })?;
        Ok(threads)
    }

    /// The replies of a thread that are newer than `after`, as JSON, oldest first.
    pub fn replies_after(
        &self,
        token: &Token,
        channel: &str,
        thread_ts: &str,
        after: &str,
    ) -> Result<Vec<String>, CallError> {
        check_ts(thread_ts)?;
        check_ts(after)?;
        let arguments =
            json!({"channel": channel, "ts": thread_ts, "oldest": after, "limit": PAGE});
        let mut replies = Vec::new();
        self.each_message(token, "conversations.replies", channel, arguments, |message| {
            // The first page begins with the parent, whatever was asked for.
            let is_new = message["ts"].as_str().and_then(parse_ts) > parse_ts(after);
            if is_new && message["ts"] != thread_ts {
                replies.push(message.to_string());
            }
        })?;
        Ok(replies)
    }

    fn each_message(
        &self,
        token: &Token,
        method: &str,
        channel: &str,
        mut arguments: Value,
        mut each: impl FnMut(&Value),
    ) -> Result<(), CallError> {
        check_channel(channel)?;
        for _ in 0..PAGES {
            let page = self.call(token, method, arguments.clone(), Encoding::Form)?;
            let messages = page["messages"].as_array();
            let unclear = || CallError::Ambiguous { cause: "no `messages`".to_owned() };
            messages.ok_or_else(unclear)?.iter().for_each(&mut each);
            let cursor = &page["response_metadata"]["next_cursor"];
            if cursor.as_str().is_none_or(str::is_empty) || arguments["cursor"] == *cursor {
                break;
            }
            arguments["cursor"] = cursor.clone();
        }
        Ok(())
    }
}
