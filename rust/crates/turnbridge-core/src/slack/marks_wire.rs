//! Reads and writes the lines of `slack-threads.jsonl`: one per change of `thread_marks`, oldest
//! first.

use serde::{Deserialize, Serialize};

use crate::slack::slack_ts::SlackTs;
use crate::slack::thread_marks::{MarkChange, ThreadKey};

/// A line of the file. It contains exactly one of `begun`, `since`, `taken` and `read_to`; the
/// latter two with a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    channel: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    thread_ts: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    begun: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    newest_thread: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    taken: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read_to: Option<String>,
}

impl MarkLine {
    pub fn of(change: &MarkChange) -> MarkLine {
        let in_thread = |thread: &ThreadKey| MarkLine {
            channel: Some(thread.channel.clone()),
            thread_ts: Some(thread.thread_ts.clone()),
            ..MarkLine::default()
        };
        match change {
            MarkChange::Begun { wanted, newest_thread } => MarkLine {
                begun: Some(wanted.to_string()),
                newest_thread: newest_thread.map(|ts| ts.to_string()),
                ..MarkLine::default()
            },
            MarkChange::Since { ts } => {
                MarkLine { since: Some(ts.to_string()), ..MarkLine::default() }
            }
            MarkChange::Taken { thread, ts } => {
                MarkLine { taken: Some(ts.to_string()), ..in_thread(thread) }
            }
            MarkChange::ReadTo { thread, ts } => {
                MarkLine { read_to: Some(ts.to_string()), ..in_thread(thread) }
            }
        }
    }

    /// Returns the change; `None` if the line is empty, or only a newer version understands it.
    pub fn change(&self) -> Option<MarkChange> {
        let ts = |text: &Option<String>| SlackTs::parse(text.as_deref()?);
        if let Some(wanted) = ts(&self.begun) {
            return Some(MarkChange::Begun { wanted, newest_thread: ts(&self.newest_thread) });
        }
        if let Some(ts) = ts(&self.since) {
            return Some(MarkChange::Since { ts });
        }
        let thread = ThreadKey::new(self.channel.as_deref()?, self.thread_ts.as_deref()?);
        match (ts(&self.taken), ts(&self.read_to)) {
            (Some(ts), None) => Some(MarkChange::Taken { thread, ts }),
            (None, Some(ts)) => Some(MarkChange::ReadTo { thread, ts }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_change_and_junk_is_none() {
        let thread = ThreadKey::new("D1", "1.000000");
        let ts = SlackTs::parse("2.000100").unwrap();
        for (change, line) in [
            (
                MarkChange::Begun { wanted: ts, newest_thread: Some(ts) },
                r#"{"begun":"2.000100","newest_thread":"2.000100"}"#,
            ),
            (MarkChange::Begun { wanted: ts, newest_thread: None }, r#"{"begun":"2.000100"}"#),
            (MarkChange::Since { ts }, r#"{"since":"2.000100"}"#),
            (
                MarkChange::Taken { thread: thread.clone(), ts },
                r#"{"channel":"D1","thread_ts":"1.000000","taken":"2.000100"}"#,
            ),
            (
                MarkChange::ReadTo { thread, ts },
                r#"{"channel":"D1","thread_ts":"1.000000","read_to":"2.000100"}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&MarkLine::of(&change)).unwrap(), line);
            let read: MarkLine = serde_json::from_str(line).unwrap();
            assert_eq!(read.change(), Some(change));
        }
        for line in [
            r#"{"channel":"D1"}"#,
            r#"{"channel":"D1","taken":"2.0"}"#,
            r#"{"channel":"D1","thread_ts":"1.0","taken":"x"}"#,
            r#"{"channel":"D1","thread_ts":"1.0","new":"x"}"#,
        ] {
            assert_eq!(serde_json::from_str::<MarkLine>(line).unwrap().change(), None, "{line}");
        }
    }
}
