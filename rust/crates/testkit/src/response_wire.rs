//! Writes replies in the form of OpenAI's Responses API, as far as Codex reads it: always a stream.
//! Also finds the text that a request's conversation begins with. No network here. The test selects
//! the model's tools and their names; see `responses_api.rs`.
//! <https://platform.openai.com/docs/api-reference/responses-streaming>

use serde_json::{Value, json};

use crate::reply::ReplyBlock;
use crate::stream_event::{StreamEvent, mark_first_text, split_into_pieces, unique_id};

/// The prompt with which Codex's terminal requests a title, once per thread. The user's own prompt
/// follows.
pub(crate) const TITLE_PROMPT: &str = "Generate a concise, single-line task title";

/// Returns the response as the events of a stream, in order.
pub(crate) fn events(model: &str, blocks: &[ReplyBlock]) -> Vec<StreamEvent> {
    let mut response = json!({"id": unique_id("resp"), "object": "response", "model": model});
    response["status"] = "in_progress".into();
    let mut events = vec![json!({"type": "response.created", "response": response})];
    let mut first_text = None;
    let mut output = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        let item = output_item(block);
        if let ReplyBlock::Text(text) = block {
            let mut started = item.clone();
            started["status"] = "in_progress".into();
            started["content"] = json!([]);
            events.push(on_item("response.output_item.added", index, "item", started));
            first_text.get_or_insert(events.len());
            for piece in split_into_pieces(text) {
                let mut delta = on_item("response.output_text.delta", index, "delta", piece.into());
                delta["item_id"] = item["id"].clone();
                delta["content_index"] = 0.into();
                events.push(delta);
            }
        }
        events.push(on_item("response.output_item.done", index, "item", item.clone()));
        output.push(item);
    }
    response["status"] = "completed".into();
    response["output"] = output.into();
    response["usage"] = json!({
        "input_tokens": 1, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 1, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2,
    });
    events.push(json!({"type": "response.completed", "response": response}));
    mark_first_text(events, first_text)
}

/// Returns the events of a response that was accepted and then failed.
pub(crate) fn failed_events(code: &str, message: &str) -> [Value; 2] {
    let id = unique_id("resp");
    let error = json!({"code": code, "message": message});
    let failed = json!({"id": id, "status": "failed", "error": error});
    [
        json!({"type": "response.created", "response": {"id": id, "status": "in_progress"}}),
        json!({"type": "response.failed", "response": failed}),
    ]
}

/// Returns the body of a refused request.
pub(crate) fn error(kind: &str, message: &str) -> Value {
    json!({"error": {"message": message, "type": kind, "code": kind, "param": null}})
}

/// Returns the first text of a request's conversation: its user's first words, or the task from
/// another agent.
///
/// Codex puts its own texts before and between the user's, all of them in tags. The sub-agents of
/// newer models begin with a copy of their parent's conversation, so theirs begins at the message
/// addressed to them.
pub(crate) fn opening_text(request: &Value) -> String {
    let agent = agent_name(request);
    let items = request["input"].as_array().map(Vec::as_slice).unwrap_or_default();
    let addressed = |item: &&Value| {
        item["type"] == "agent_message"
            && agent.as_deref().is_some_and(|agent| agent != "/root" && item["recipient"] == agent)
    };
    if let Some(task) = items.iter().find(addressed) {
        return text_of(task);
    }
    let is_users = |item: &&Value| item["type"] == "message" && item["role"] == "user";
    let texts = items.iter().filter(is_users).map(text_of);
    texts.into_iter().find(|text| !text.starts_with('<')).unwrap_or_default()
}

/// Returns whether the conversation is Codex's request for a title.
pub(crate) fn asks_for_a_title(opening_text: &str) -> bool {
    opening_text.starts_with(TITLE_PROMPT)
}

/// Returns `/root`, or `/root/NAME` in a sub-agent of a newer model.
fn agent_name(request: &Value) -> Option<String> {
    let metadata = request["client_metadata"]["x-codex-turn-metadata"].as_str()?;
    let metadata: Value = serde_json::from_str(metadata).ok()?;
    metadata["agent_name"].as_str().map(str::to_owned)
}

fn text_of(item: &Value) -> String {
    let parts = item["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    // Codex requests an encrypted task from the model and passes the result on; this model encrypts
    // nothing.
    let text = |part: &Value| {
        part["text"].as_str().or(part["encrypted_content"].as_str()).map(str::to_owned)
    };
    parts.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

fn on_item(kind: &str, index: usize, key: &str, value: Value) -> Value {
    let mut event = json!({"type": kind, "output_index": index});
    event[key] = value;
    event
}

fn output_item(block: &ReplyBlock) -> Value {
    let (name, input) = match block {
        ReplyBlock::Text(text) => {
            let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
            return json!({
                "type": "message", "id": unique_id("msg"), "role": "assistant",
                "status": "completed", "content": content,
            });
        }
        ReplyBlock::ToolUse { name, input } => (name, input),
    };
    let mut item = json!({"call_id": unique_id("call"), "status": "completed"});
    match input {
        Value::String(text) => {
            item["type"] = "custom_tool_call".into();
            item["id"] = unique_id("ctc").into();
            item["input"] = text.as_str().into();
        }
        _ => {
            item["type"] = "function_call".into();
            item["id"] = unique_id("fc").into();
            item["arguments"] = input.to_string().into();
        }
    }
    match name.split_once('.') {
        Some((namespace, name)) => {
            item["namespace"] = namespace.into();
            item["name"] = name.into();
        }
        None => item["name"] = name.as_str().into(),
    }
    item
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Value {
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
    }

    #[track_caller]
    fn check(agent: &str, input: &[Value], expected: &str) {
        let metadata = json!({"agent_name": agent}).to_string();
        let request =
            json!({"input": input, "client_metadata": {"x-codex-turn-metadata": metadata}});
        assert_eq!(opening_text(&request), expected);
    }

    #[test]
    fn a_conversation_begins_with_the_users_first_words() {
        let injected = user("<environment_context>\n</environment_context>");
        check("/root", &[injected.clone(), user("count"), user("again")], "count");
        check("/root", &[injected], "");
    }

    #[test]
    fn a_sub_agents_conversation_begins_with_its_task() {
        let message = |recipient: &str, text: &str| {
            let content = [json!({"type": "encrypted_content", "encrypted_content": text})];
            json!({"type": "agent_message", "recipient": recipient, "content": content})
        };
        let input = [user("parent's"), message("/root/sub", "task"), message("/root", "done")];
        check("/root/sub", &input, "task");
        check("/root", &input, "parent's");
    }
}
