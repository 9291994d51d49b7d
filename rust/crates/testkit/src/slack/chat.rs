//! Executes `chat.postMessage` and `chat.update`. Like Slack it refuses invalid messages, cuts
//! posts that are too long, and raises an event for each change. `blocks.rs` checks the form of
//! blocks.

use std::time::Instant;

use serde_json::{Map, Value, json};

use super::arguments::{ApiCall, CallArguments};
use super::blocks::check_blocks;
use super::events;
use super::methods::{MethodError, MethodResult, Success};
use super::workspace::{Metadata, SlackMessage, SlackWorkspace};

/// The limit of a post. A longer one is cut, with a warning.
const POST_TEXT: usize = 40_000;
/// The limit of an update. A longer one is refused.
const UPDATE_TEXT: usize = 4_000;
const MARKDOWN_TEXT: usize = 12_000;

/// The content of a message, without author and place.
struct MessageContent {
    text: String,
    blocks: Option<Value>,
    metadata: Option<Value>,
}

pub(super) fn post_message(workspace: &mut SlackWorkspace, call: &ApiCall) -> MethodResult {
    let arguments = &call.arguments;
    let channel = find_channel(workspace, arguments)?;
    workspace.take_from_bucket(&channel, Instant::now()).map_err(MethodError::rate_limited)?;
    let mut content = read_content(arguments)?;
    if content.text.trim().is_empty() && content.blocks.is_none() {
        return Err(MethodError::new("no_text"));
    }
    let mut warnings = Vec::new();
    if let Some((end, _)) = content.text.char_indices().nth(POST_TEXT) {
        content.text.truncate(end);
        warnings.push("message_truncated");
    }
    let thread_ts = arguments.text("thread_ts");
    if let Some(thread_ts) = &thread_ts {
        check_parent(workspace, &channel, thread_ts)?;
    }
    let message = SlackMessage {
        ts: workspace.next_ts(),
        channel: channel.clone(),
        thread_ts,
        user: workspace.setup.bot_user.clone(),
        bot_id: Some(workspace.setup.bot_id.clone()),
        text: content.text,
        blocks: content.blocks,
        metadata: content.metadata,
        unfurl_links: arguments.flag("unfurl_links"),
        unfurl_media: arguments.flag("unfurl_media"),
        client_msg_id: arguments.text("client_msg_id"),
        edited_ts: None,
        extra: Map::new(),
    };
    workspace.add(message.clone());
    workspace.raise(events::message_posted(workspace, &message));
    let shown = workspace.as_json(&message, Metadata::Hidden);
    let answer = json!({"channel": channel, "ts": message.ts, "message": shown});
    Ok(Success { warnings, ..answer.into() })
}

pub(super) fn update_message(workspace: &mut SlackWorkspace, call: &ApiCall) -> MethodResult {
    let arguments = &call.arguments;
    let channel = arguments.text("channel").ok_or_else(|| MethodError::missing("channel"))?;
    let ts = arguments.text("ts").ok_or_else(|| MethodError::missing("ts"))?;
    if !workspace.has_channel(&channel) {
        return Err(MethodError::new("channel_not_found"));
    }
    let content = read_content(arguments)?;
    if content.text.trim().is_empty() && content.blocks.is_none() {
        return Err(MethodError::new("no_text"));
    }
    if content.text.chars().count() > UPDATE_TEXT {
        return Err(MethodError::new("msg_too_long"));
    }
    let edited_ts = workspace.next_ts();
    let message =
        workspace.find_mut(&channel, &ts).ok_or_else(|| MethodError::new("message_not_found"))?;
    if message.bot_id.is_none() {
        return Err(MethodError::new("cant_update_message"));
    }
    let before = message.clone();
    message.text = content.text;
    // An update with text alone removes the blocks; metadata stays until it is replaced.
    message.blocks = content.blocks;
    message.metadata = content.metadata.or(message.metadata.take());
    message.edited_ts = Some(edited_ts.clone());
    let message = message.clone();
    workspace.raise(events::message_changed(workspace, &before, &message, &edited_ts));
    let shown = workspace.as_json(&message, Metadata::Hidden);
    Ok(json!({"channel": channel, "ts": ts, "text": message.text, "message": shown}).into())
}

fn find_channel(
    workspace: &mut SlackWorkspace,
    arguments: &CallArguments,
) -> Result<String, MethodError> {
    let channel = arguments.text("channel").ok_or_else(|| MethodError::missing("channel"))?;
    if workspace.has_channel(&channel) {
        return Ok(channel);
    }
    if workspace.setup.user_ids_are_channels && workspace.setup.users.contains(&channel) {
        return Ok(workspace.open_direct_message(&channel).0);
    }
    Err(MethodError::new("channel_not_found"))
}

fn check_parent(
    workspace: &SlackWorkspace,
    channel: &str,
    thread_ts: &str,
) -> Result<(), MethodError> {
    let parent = workspace.find(channel, thread_ts);
    match parent.ok_or_else(|| MethodError::new("thread_not_found"))?.thread_ts {
        // Threads have one level: a reply cannot be a parent.
        Some(_) => Err(MethodError::new("cannot_reply_to_message")),
        None => Ok(()),
    }
}

fn read_content(arguments: &CallArguments) -> Result<MessageContent, MethodError> {
    let mut content = MessageContent {
        text: arguments.text("text").unwrap_or_default(),
        blocks: read_blocks(arguments)?,
        metadata: read_metadata(arguments)?,
    };
    if let Some(markdown) = arguments.text("markdown_text") {
        if !content.text.is_empty() || content.blocks.is_some() {
            return Err(MethodError::new("markdown_text_conflict"));
        }
        if markdown.chars().count() > MARKDOWN_TEXT {
            return Err(MethodError::new("msg_too_long"));
        }
        content.blocks = Some(json!([{"type": "markdown", "text": markdown}]));
        content.text = markdown;
    }
    Ok(content)
}

fn read_blocks(arguments: &CallArguments) -> Result<Option<Value>, MethodError> {
    let Some(blocks) = arguments.nested("blocks") else { return Ok(None) };
    let Ok(Value::Array(blocks)) = blocks else {
        return Err(MethodError::new("invalid_blocks_format"));
    };
    check_blocks(&blocks)?;
    Ok(if blocks.is_empty() { None } else { Some(Value::Array(blocks)) })
}

fn read_metadata(arguments: &CallArguments) -> Result<Option<Value>, MethodError> {
    let Some(metadata) = arguments.nested("metadata") else { return Ok(None) };
    match metadata {
        Ok(value) if value["event_type"].is_string() && value["event_payload"].is_object() => {
            Ok(Some(value))
        }
        _ => Err(MethodError::new("invalid_metadata_format")),
    }
}
