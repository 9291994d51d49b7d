//! Whether an agent's own record holds a prompt: after a runner was killed, that tells whether the
//! agent had got it.

use serde_json::Value;

use crate::ids::Tool;
use crate::rollout_wire::{Record, parse_line};
use crate::timestamp::Timestamp;

/// `tail` is the end of a transcript or of a rollout, and may begin in the middle of a line. Only
/// what was said since then counts: the same words may have been said before.
pub fn holds_prompt(tool: Tool, tail: &[u8], prompt: &str, since: Option<Timestamp>) -> bool {
    let wanted = prompt.trim();
    let mut lines = tail.split(|byte| *byte == b'\n');
    lines.any(|line| {
        let said = match tool {
            Tool::Claude => in_transcript(line),
            Tool::Codex => in_rollout(line),
        };
        said.is_some_and(|(text, at)| text.trim() == wanted && (since.is_none() || at >= since))
    })
}

fn in_transcript(line: &[u8]) -> Option<(String, Option<Timestamp>)> {
    let record: Value = serde_json::from_slice(line).ok()?;
    let is_typed = record["type"] == "user" && record["isMeta"] != true;
    let content = &record["message"]["content"];
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let texts = blocks.iter().filter_map(|block| block["text"].as_str());
    let text = content.as_str().map_or_else(|| texts.collect::<Vec<_>>().join("\n"), str::to_owned);
    let at = record["timestamp"].as_str().and_then(Timestamp::parse);
    (is_typed && !text.is_empty()).then_some((text, at))
}

fn in_rollout(line: &[u8]) -> Option<(String, Option<Timestamp>)> {
    let line = parse_line(line);
    match line.record {
        Record::UserSaid { text, .. } => Some((text, line.at)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_found_in_either_record_and_only_since_then() {
        let transcript = concat!(
            "half a line\"}\n",
            r#"{"type":"user","timestamp":"2026-11-16T10:00:00.000Z","message":{"content":"go on\n"}}"#,
            "\n",
            r#"{"type":"user","timestamp":"2026-11-16T10:00:01.000Z","message":{"content":[{"type":"text","text":"two\nlines"}]}}"#,
            "\n",
            r#"{"type":"user","isMeta":true,"timestamp":"2026-11-16T10:00:02.000Z","message":{"content":"meta"}}"#,
        );
        let rollout = concat!(
            r#"{"timestamp":"2026-11-16T10:00:00.000Z","type":"event_msg","payload":{"type":"item_completed","item":{"type":"UserMessage","content":[{"type":"text","text":"go on"}]}}}"#,
            "\n",
            r#"{"timestamp":"2026-11-16T10:00:01.000Z","type":"event_msg","payload":{"type":"user_message","message":"two\nlines"}}"#,
        );
        let at = |time: &str| Timestamp::parse(&format!("2026-11-16T{time}.000Z"));
        for (tool, text) in [(Tool::Claude, transcript), (Tool::Codex, rollout)] {
            let holds = |prompt: &str, since| holds_prompt(tool, text.as_bytes(), prompt, since);
            assert!(holds("go on", None) && holds(" go on ", at("10:00:00")));
            assert!(!holds("go on", at("10:00:01")), "said before");
            assert!(holds("two\nlines", at("09:00:00")));
            assert!(!holds("meta", None) && !holds("go", None) && !holds("", None));
        }
    }
}
