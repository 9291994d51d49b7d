//! Calls the methods of Slack that identify a token, open a direct message or a socket, and post or
//! change a message. `catch_up` and `find_message` call those that read messages.

use std::fmt;
use std::sync::PoisonError;

use serde_json::{Value, json};

use crate::address::is_socket_address;
use crate::answer::plain_code;
use crate::call_error::CallError;
use crate::ids::{check_channel, check_ts, check_user, is_direct_message, is_ts};
use crate::token::Token;
use crate::web_api::{Encoding, WebApi};

/// The type in the metadata that marks a message as Turnbridge's.
pub(crate) const EVENT_TYPE: &str = "turnbridge_message";

/// The identity behind a token. An app-level token has an app, a bot token has the rest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenIdentity {
    pub user_id: Option<String>,
    pub user: Option<String>,
    pub bot_id: Option<String>,
    pub team_id: Option<String>,
    pub team: Option<String>,
    /// The organisation, in an Enterprise Grid.
    pub enterprise_id: Option<String>,
    pub url: Option<String>,
    pub app_id: Option<String>,
    pub app_name: Option<String>,
    /// The scopes of the token; `None` if Slack does not send them.
    pub scopes: Option<Vec<String>>,
}

impl TokenIdentity {
    /// Returns whether the bot itself has written a message.
    pub(crate) fn has_written(&self, message: &Value) -> bool {
        let is = |field: &str, own: &Option<String>| {
            own.is_some() && message[field].as_str() == own.as_deref()
        };
        is("bot_id", &self.bot_id) || is("user", &self.user_id)
    }
}

/// A message to post. Notifications and search show `text`, which the caller has escaped.
#[derive(Clone, Copy)]
pub struct Post<'a> {
    pub channel: &'a str,
    /// The thread's first message; `None` starts a thread.
    pub thread_ts: Option<&'a str>,
    pub text: &'a str,
    /// The same text as Markdown, which Slack shows in its stead.
    pub markdown: Option<&'a str>,
    /// The id by which `find_message` finds it.
    pub id: &'a str,
    /// The machine that gets the replies to it.
    pub machine: Option<MachineTag<'a>>,
}

/// The machine that posts, in the message's metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineTag<'a> {
    pub id: &'a str,
    pub name: &'a str,
}

/// Leaves out the message's text.
impl fmt::Debug for Post<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Post")
            .field("channel", &self.channel)
            .field("thread_ts", &self.thread_ts)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    pub ts: String,
    /// The warning with which Slack accepted the message, such as `message_truncated`.
    pub warning: Option<String>,
}

/// An address for one Socket Mode connection. Its ticket is as good as a token, so it prints as
/// `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct SocketUrl(String);

impl SocketUrl {
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SocketUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl WebApi {
    /// Returns the identity of a token, and remembers it for `identity_of`.
    pub fn auth_test(&self, token: &Token) -> Result<TokenIdentity, CallError> {
        let (answer, scopes) =
            self.call_telling_scopes(token, "auth.test", Value::Null, Encoding::Form)?;
        let field = |name: &str| answer[name].as_str().map(str::to_owned);
        let identity = TokenIdentity {
            user_id: field("user_id"),
            user: field("user"),
            bot_id: field("bot_id"),
            team_id: field("team_id"),
            team: field("team"),
            enterprise_id: field("enterprise_id"),
            url: field("url"),
            app_id: field("app_id"),
            app_name: field("app_name"),
            scopes,
        };
        *self.identity.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((token.clone(), identity.clone()));
        Ok(identity)
    }

    /// Returns the id of the direct message with a user.
    pub fn open_dm(&self, token: &Token, user_id: &str) -> Result<String, CallError> {
        check_user(user_id)?;
        let arguments = json!({"users": user_id});
        let answer = self.call(token, "conversations.open", arguments, Encoding::Form)?;
        let channel = answer["channel"]["id"].as_str().filter(|id| is_direct_message(id));
        wanted(channel, "its channel is no direct message")
    }

    /// Posts a message. On an error that `is_about_blocks`, the same may be posted without
    /// `markdown`.
    pub fn post_message(&self, token: &Token, post: &Post<'_>) -> Result<Posted, CallError> {
        let arguments = post_arguments(post)?;
        let answer = self.call(token, "chat.postMessage", arguments, Encoding::Json)?;
        let ts = answer["ts"].as_str().filter(|ts| is_ts(ts));
        let warning = answer["warning"].as_str().and_then(plain_code);
        Ok(Posted { ts: wanted(ts, "it has no `ts`")?, warning })
    }

    /// Replaces the text of a message. Its metadata and its place stay.
    pub fn update_message(
        &self,
        token: &Token,
        channel: &str,
        ts: &str,
        text: &str,
        markdown: Option<&str>,
    ) -> Result<(), CallError> {
        check_channel(channel)?;
        check_ts(ts)?;
        // Without `blocks` Slack keeps the old ones.
        let blocks = markdown.map_or(json!([]), |text| json!([{"type": "markdown", "text": text}]));
        let arguments = json!({"channel": channel, "ts": ts, "text": text, "blocks": blocks});
        self.call(token, "chat.update", arguments, Encoding::Json).map(|_| ())
    }

    /// Returns an address for one Socket Mode connection; each connection needs a new one.
    pub fn open_socket(&self, app_token: &Token) -> Result<SocketUrl, CallError> {
        let answer = self.call(app_token, "apps.connections.open", Value::Null, Encoding::Form)?;
        let url = answer["url"].as_str().filter(|url| is_socket_address(url));
        Ok(SocketUrl(wanted(url, "its `url` is no `wss://` address")?))
    }
}

fn post_arguments(post: &Post<'_>) -> Result<Value, CallError> {
    check_channel(post.channel)?;
    post.thread_ts.map_or(Ok(()), check_ts)?;
    let mut arguments = json!({
        "channel": post.channel,
        "text": post.text,
        "metadata": {"event_type": EVENT_TYPE, "event_payload": {"id": post.id}},
        "unfurl_links": false,
        "unfurl_media": false,
    });
    if let Some(machine) = post.machine {
        let payload = &mut arguments["metadata"]["event_payload"];
        payload["machine"] = json!(machine.id);
        payload["machine_name"] = json!(machine.name);
    }
    if let Some(thread_ts) = post.thread_ts {
        arguments["thread_ts"] = json!(thread_ts);
    }
    if let Some(markdown) = post.markdown {
        arguments["blocks"] = json!([{"type": "markdown", "text": markdown}]);
    }
    Ok(arguments)
}

/// Returns the value of an answer. If it is missing although `ok` is true, Slack has acted, and the
/// result can be looked up.
fn wanted(found: Option<&str>, what: &str) -> Result<String, CallError> {
    found
        .map(str::to_owned)
        .ok_or_else(|| CallError::Ambiguous { cause: format!("it says `ok`, but {what}") })
}
