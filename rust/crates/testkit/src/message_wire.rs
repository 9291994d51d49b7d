//! Writes replies in the form of Anthropic's Messages API, as one object or as a stream of events,
//! and reads the first user text of a request. No network here.
//! <https://docs.anthropic.com/en/api/messages-streaming>

use serde_json::{Value, json};

use crate::reply::ReplyBlock;
use crate::stream_event::{StreamEvent, mark_first_text, split_into_pieces, unique_id};

/// Returns the message as one object.
pub(crate) fn message(model: &str, blocks: &[ReplyBlock]) -> Value {
    let content: Vec<Value> = blocks.iter().map(content_block).collect();
    let mut message = message_head(model);
    message["content"] = content.into();
    message["stop_reason"] = stop_reason(blocks).into();
    message
}

/// Returns the message as the events of a stream, in order.
pub(crate) fn events(model: &str, blocks: &[ReplyBlock]) -> Vec<StreamEvent> {
    let mut events = vec![json!({"type": "message_start", "message": message_head(model)})];
    let mut first_text = None;
    for (index, block) in blocks.iter().enumerate() {
        let mut start = content_block(block);
        let deltas = match block {
            ReplyBlock::Text(text) => {
                start["text"] = "".into();
                first_text.get_or_insert(events.len() + 1);
                split_into_pieces(text)
                    .map(|piece| json!({"type": "text_delta", "text": piece}))
                    .collect()
            }
            ReplyBlock::ToolUse { input, .. } => {
                start["input"] = json!({});
                vec![json!({"type": "input_json_delta", "partial_json": input.to_string()})]
            }
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        for delta in deltas {
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let delta = json!({"stop_reason": stop_reason(blocks), "stop_sequence": null});
    events.push(json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 1}}));
    events.push(json!({"type": "message_stop"}));
    mark_first_text(events, first_text)
}

/// Returns the body of a failed request.
pub(crate) fn error(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

/// Returns all text of the conversation's first message, which is always the user's.
pub(crate) fn first_user_text(request: &Value) -> String {
    let content = &request["messages"][0]["content"];
    match content.as_array() {
        Some(blocks) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        None => content.as_str().unwrap_or_default().to_owned(),
    }
}

fn message_head(model: &str) -> Value {
    json!({
        "id": unique_id("msg"), "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1},
    })
}

fn content_block(block: &ReplyBlock) -> Value {
    match block {
        ReplyBlock::Text(text) => json!({"type": "text", "text": text}),
        ReplyBlock::ToolUse { name, input } => {
            json!({"type": "tool_use", "id": unique_id("toolu"), "name": name, "input": input})
        }
    }
}

fn stop_reason(blocks: &[ReplyBlock]) -> &'static str {
    let calls_a_tool = blocks.iter().any(|block| matches!(block, ReplyBlock::ToolUse { .. }));
    if calls_a_tool { "tool_use" } else { "end_turn" }
}
