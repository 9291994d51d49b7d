//! Finds the user's last interruption in the end of a Claude transcript (JSONL). The whole file is
//! never read: transcripts grow to gigabytes, and the wanted record is in the last lines. Other
//! lines are skipped.

use serde::Deserialize;

use crate::timestamp::Timestamp;

#[derive(Debug, Deserialize)]
struct TranscriptLine {
    #[serde(rename = "type")]
    kind: String,
    timestamp: Option<String>,
    message: Option<TranscriptMessage>,
    #[serde(rename = "isSidechain", default)]
    is_sidechain: bool,
}

#[derive(Debug, Deserialize)]
struct TranscriptMessage {
    content: Option<TranscriptContent>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum TranscriptContent {
    Blocks(Vec<TranscriptBlock>),
    Other(serde::de::IgnoredAny),
}

#[derive(Debug, Deserialize)]
struct TranscriptBlock {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
}

/// Returns when the user last interrupted a turn, if the tail contains it. `tail` may begin and end
/// in the middle of a line.
pub fn last_interruption(tail: &str) -> Option<Timestamp> {
    tail.lines().rev().filter(|line| line.contains(INTERRUPTED)).find_map(interruption)
}

const INTERRUPTED: &str = "[Request interrupted by user";

/// Matches Claude's own record, not a quotation: a user record whose text block begins with it.
fn interruption(line: &str) -> Option<Timestamp> {
    let line: TranscriptLine = serde_json::from_str(line).ok()?;
    let Some(TranscriptContent::Blocks(blocks)) = line.message.and_then(|message| message.content)
    else {
        return None;
    };
    let is_record = line.kind == "user"
        && !line.is_sidechain
        && blocks.iter().any(|block| {
            block.kind == "text"
                && block.text.as_deref().is_some_and(|text| text.starts_with(INTERRUPTED))
        });
    Timestamp::parse(&line.timestamp?).filter(|_| is_record)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: &str =
        include_str!("../../../testdata/claude/transcripts/interactive_interrupt.jsonl");

    #[test]
    fn the_recorded_interruption_is_found_in_the_tail_wherever_it_is_cut() {
        let expected = Timestamp::parse("2026-11-15T23:32:16.835Z");
        assert_eq!(last_interruption(RECORDED), expected);
        let line = RECORDED.lines().find(|line| line.contains(INTERRUPTED)).unwrap();
        let start = RECORDED.find(line).unwrap();
        assert_eq!(last_interruption(&RECORDED[start - 10..]), expected);
        assert_eq!(last_interruption(&RECORDED[start + 1..]), None);
        assert_eq!(last_interruption(&RECORDED[..start + line.len() - 1]), None);
    }

    #[test]
    fn somebodys_words_are_no_interruption() {
        for content in [
            r#""[Request interrupted by user]""#,
            r#"[{"type":"tool_result","content":"[Request interrupted by user]"}]"#,
            r#"[{"type":"text","text":"he said [Request interrupted by user]"}]"#,
        ] {
            let line = format!(
                r#"{{"type":"user","timestamp":"2026-11-15T23:32:16.835Z","message":{{"content":{content}}}}}"#
            );
            assert_eq!(last_interruption(&line), None, "{content}");
        }
        let plain = include_str!("../../../testdata/claude/transcripts/plain.jsonl");
        assert_eq!(last_interruption(plain), None);
    }
}
