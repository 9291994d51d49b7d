//! Finds the prompt that began a turn in lines of its rollout (SLV-60). The lines may be only the
//! end of the file, so that the cost does not grow with the thread.

use crate::agents::codex::rollout_wire::{RolloutLine, RolloutRecord};
use crate::timestamp::Timestamp;

/// The search for the prompt of a turn. It takes lines in their order; `finish` returns the result.
#[derive(Debug, Default)]
pub struct PromptSearch {
    /// The wanted turn; if `None`, the last.
    wanted: Option<String>,
    /// The turn that the lines are in, as far as they name it.
    current: Option<String>,
    found: Option<RolloutPrompt>,
}

/// A prompt in a rollout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolloutPrompt {
    pub text: String,
    /// When it was typed. It distinguishes turns without a name.
    pub at: Option<Timestamp>,
}

impl PromptSearch {
    /// Starts a search for the turn with this id; `None` means the last turn.
    pub fn new(turn_id: Option<&str>) -> PromptSearch {
        PromptSearch { wanted: turn_id.map(str::to_owned), ..PromptSearch::default() }
    }

    pub fn read_line(&mut self, line: RolloutLine) {
        match line.record {
            RolloutRecord::TaskStarted { turn_id, .. } => {
                self.current = turn_id;
                if self.current.is_some() && self.current == self.wanted {
                    // Text before this belongs to an earlier turn.
                    self.found = None;
                }
            }
            RolloutRecord::UserText { text, turn_id, .. } => {
                let turn = turn_id.as_ref().or(self.current.as_ref());
                let is_another = match (turn, &self.wanted) {
                    (Some(turn), Some(wanted)) => turn != wanted,
                    _ => false,
                };
                if !is_another && !text.trim().is_empty() {
                    self.found = Some(RolloutPrompt { text, at: line.at });
                }
            }
            _ => {}
        }
    }

    /// Returns the user's last text in the turn.
    pub fn finish(self) -> Option<RolloutPrompt> {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::codex::rollout_wire::parse_line;

    fn prompt_of(lines: &[&str], turn_id: Option<&str>) -> Option<String> {
        let mut search = PromptSearch::new(turn_id);
        lines.iter().for_each(|line| search.read_line(parse_line(line.as_bytes())));
        search.finish().map(|prompt| prompt.text)
    }

    fn started(turn: &str) -> String {
        format!(r#"{{"type":"event_msg","payload":{{"type":"task_started","turn_id":"{turn}"}}}}"#)
    }

    fn said(turn: &str, text: &str) -> String {
        format!(
            r#"{{"type":"event_msg","payload":{{"type":"item_completed","turn_id":"{turn}",
            "item":{{"type":"UserMessage","content":[{{"type":"text","text":"{text}"}}]}}}}}}"#
        )
    }

    fn said_before_0_150(text: &str) -> String {
        format!(r#"{{"type":"event_msg","payload":{{"type":"user_message","message":"{text}"}}}}"#)
    }

    #[test]
    fn slv_60_the_last_words_of_the_user_in_the_turn_are_its_prompt() {
        let lines =
            [started("a"), said("a", "one"), started("b"), said("b", "two"), said("b", "steer")];
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        assert_eq!(prompt_of(&lines, Some("b")).as_deref(), Some("steer"));
        // The next turn has begun before the search.
        assert_eq!(prompt_of(&lines, Some("a")).as_deref(), Some("one"));
        assert_eq!(prompt_of(&lines, None).as_deref(), Some("steer"));
        assert_eq!(prompt_of(&lines, Some("c")), None);
        assert_eq!(prompt_of(&[], Some("a")), None);
    }

    #[test]
    fn slv_60_the_older_dialect_names_the_turn_only_where_it_begins() {
        let lines = [
            said_before_0_150("tail of an earlier turn"),
            started("a"),
            said_before_0_150("one"),
            started("b"),
            said_before_0_150("two"),
        ];
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        assert_eq!(prompt_of(&lines, Some("a")).as_deref(), Some("one"));
        assert_eq!(prompt_of(&lines, Some("b")).as_deref(), Some("two"));
        assert_eq!(prompt_of(&lines[..2], Some("a")), None, "not what an earlier turn said");
        // The beginning of the turn is not in the tail, or the version has no such record.
        assert_eq!(prompt_of(&lines[..1], Some("z")).as_deref(), Some("tail of an earlier turn"));
        assert_eq!(prompt_of(&lines[4..], None).as_deref(), Some("two"));
    }
}
