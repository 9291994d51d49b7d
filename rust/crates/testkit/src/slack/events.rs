//! Builds the JSON of Socket Mode: the events about an app's direct messages, the callback around
//! an event, the envelope around a callback, `hello` and `disconnect`.

use serde_json::{Value, json};

use super::setup::SlackSetup;
use super::workspace::{Metadata, SlackMessage, SlackWorkspace};

/// Returns the event of a new message by any author: the app receives its own posts too.
pub(super) fn message_posted(workspace: &SlackWorkspace, message: &SlackMessage) -> Value {
    let mut event = workspace.as_json(message, Metadata::Hidden);
    event["channel"] = message.channel.as_str().into();
    event["event_ts"] = message.ts.as_str().into();
    event["channel_type"] = "im".into();
    event
}

/// Returns the event of an edit; the text is one level deeper than in a new message.
pub(super) fn message_changed(
    workspace: &SlackWorkspace,
    before: &SlackMessage,
    after: &SlackMessage,
    ts: &str,
) -> Value {
    json!({
        "type": "message", "subtype": "message_changed", "hidden": true,
        "message": workspace.as_json(after, Metadata::Hidden),
        "previous_message": workspace.as_json(before, Metadata::Hidden),
        "channel": after.channel, "ts": ts, "event_ts": ts, "channel_type": "im",
    })
}

/// Returns the event of a deleted message.
pub(super) fn message_deleted(
    workspace: &SlackWorkspace,
    before: &SlackMessage,
    ts: &str,
) -> Value {
    json!({
        "type": "message", "subtype": "message_deleted", "hidden": true, "deleted_ts": before.ts,
        "previous_message": workspace.as_json(before, Metadata::Hidden),
        "channel": before.channel, "ts": ts, "event_ts": ts, "channel_type": "im",
    })
}

/// Returns the callback around an event.
pub(super) fn callback(setup: &SlackSetup, event_id: &str, event_time: u64, event: Value) -> Value {
    json!({
        "token": "loopback-verification", "team_id": setup.team_id,
        "context_team_id": setup.team_id, "context_enterprise_id": null,
        "api_app_id": setup.app_id, "event": event, "type": "event_callback",
        "event_id": event_id, "event_time": event_time,
        "authorizations": [{
            "enterprise_id": null, "team_id": setup.team_id, "user_id": setup.bot_user,
            "is_bot": true, "is_enterprise_install": false,
        }],
        "is_ext_shared_channel": false, "event_context": format!("4-{event_id}"),
    })
}

/// Returns the envelope of a payload, for this attempt (counted from 0). Only events have fields
/// for retries; the reason is empty the first time.
pub(super) fn envelope(envelope_id: &str, kind: &str, payload: &Value, attempt: u32) -> Value {
    let mut envelope = json!({
        "envelope_id": envelope_id, "payload": payload, "type": kind,
        "accepts_response_payload": kind == "slash_commands",
    });
    if kind == "events_api" {
        envelope["retry_attempt"] = attempt.into();
        envelope["retry_reason"] = if attempt == 0 { "" } else { "timeout" }.into();
    }
    envelope
}

/// Returns the first message on a socket.
pub(super) fn hello(setup: &SlackSetup, connections: usize) -> Value {
    json!({
        "type": "hello", "num_connections": connections,
        "debug_info": {
            "host": "applink-loopback", "build_number": 1, "approximate_connection_time": 18060,
        },
        "connection_info": {"app_id": setup.app_id},
    })
}

/// Returns the message that announces the end of a socket.
pub(super) fn disconnect(reason: &str) -> Value {
    json!({"type": "disconnect", "reason": reason, "debug_info": {"host": "applink-loopback"}})
}
