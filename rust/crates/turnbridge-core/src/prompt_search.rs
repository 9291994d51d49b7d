//! Whether a prompt has reached its session, from the agent's own record of it. Asked after a crash,
//! when nobody is left who could say so. Only what was said since the run was claimed counts: people
//! say "yes" more than once.

use serde_json::Value;

use crate::rollout_wire::{Record, parse_line};
use crate::timestamp::Timestamp;

/// `tail` is the end of a Claude transcript; its first line may be cut.
pub fn is_in_transcript(tail: &[u8], prompt: &str, since: Timestamp) -> bool {
    let lines = tail.split(|byte| *byte == b'\n');
    let mut records = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    records.any(|record| {
        let text = |key: &str| record.get(key).and_then(Value::as_str);
        let at = text("timestamp").and_then(Timestamp::parse);
        text("type") == Some("user")
            && at.is_some_and(|at| at >= since)
            && record.pointer("/message/content").is_some_and(|content| says(content, prompt))
    })
}

/// A content is a text, or a list of blocks of which some are texts.
fn says(content: &Value, prompt: &str) -> bool {
    match content {
        Value::String(text) => is_same(text, prompt),
        Value::Array(blocks) => blocks.iter().any(|block| {
            block.get("text").and_then(Value::as_str).is_some_and(|text| is_same(text, prompt))
        }),
        _ => false,
    }
}

/// `tail` is the end of a Codex rollout; its first line may be cut.
pub fn is_in_rollout(tail: &[u8], prompt: &str, since: Timestamp) -> bool {
    tail.split(|byte| *byte == b'\n').map(parse_line).any(|line| match line.record {
        Record::UserSaid { text, .. } => {
            line.at.is_some_and(|at| at >= since) && is_same(&text, prompt)
        }
        _ => false,
    })
}

/// Agents differ in what they do to the ends of a text, and line ends may have been written as two
/// characters (SLV-52).
fn is_same(said: &str, prompt: &str) -> bool {
    let literal = || prompt.replace("\r\n", "\n").replace(['\r', '\n'], "\\n");
    said.trim() == prompt.trim() || said == literal()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_prompt_counts_only_since_the_run_began() {
        let since = Timestamp::parse("2026-01-01T12:00:00.000Z").unwrap();
        let claude = |at: &str, content: Value| {
            let record = json!({"type": "user", "timestamp": at, "message": {"content": content}});
            format!("cut off\"}}\n{record}\n").into_bytes()
        };
        let blocks = json!([{"type": "text", "text": "yes"}]);
        for content in [json!("yes"), json!(" yes\n"), blocks] {
            assert!(is_in_transcript(&claude("2026-01-01T12:00:00.100Z", content), "yes\n", since));
        }
        let late = "2026-01-01T12:00:00.100Z";
        assert!(!is_in_transcript(&claude("2026-01-01T11:59:59Z", json!("yes")), "yes", since));
        assert!(!is_in_transcript(&claude(late, json!("yes, but")), "yes", since));
        assert!(is_in_transcript(&claude(late, json!("a\\nb")), "a\r\nb", since));
        assert!(!is_in_transcript(b"", "yes", since));
        let codex = |at: &str| {
            let payload = json!({"type": "item_completed", "turn_id": "t", "item": {
                "type": "UserMessage", "content": [{"type": "text", "text": "go on\n"}]}});
            let record = json!({"timestamp": at, "type": "event_msg", "payload": payload});
            format!("{record}\n").into_bytes()
        };
        assert!(is_in_rollout(&codex("2026-01-01T12:00:01.000Z"), "go on", since));
        assert!(!is_in_rollout(&codex("2026-01-01T11:00:01.000Z"), "go on", since));
        assert!(!is_in_rollout(&codex("2026-01-01T12:00:01.000Z"), "go", since));
    }
}
