//! Parses the report that Codex passes to its `notify` program as the last argument: one JSON
//! object about a finished turn (SLV-56..58). Recorded from Codex 0.98 and 0.166:
//! `testdata/codex/notify`. `codex-notify.json`, with the user's earlier program, is also defined
//! here.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agents::codex::rollout::is_title_request;
use crate::ids::is_uuid;

/// The report of a turn that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnReport {
    pub thread_id: String,
    /// A UUID. Versions before about 0.100 count from 0 in every process, which identifies no turn.
    pub turn_id: Option<String>,
    pub cwd: Option<String>,
    pub answer: Option<String>,
    /// The turn is the one by which Codex gives a new thread its title.
    pub is_title: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotifyReport {
    Turn(TurnReport),
    /// A report of another kind than the end of a turn (SLV-57): no error.
    Other,
}

/// Why a text is no report that Turnbridge can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// The caller is not Codex.
    NoReport,
    /// The id of the thread is missing or invalid.
    NoThread,
}

/// The file format of `codex-notify.json`: the user's `notify` program before Turnbridge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviousNotify {
    pub version: u32,
    /// As in `notify =`; the JSON is added as the last argument.
    pub argv: Vec<String>,
}

/// Parses a report: the last argument of the `notify` program.
pub fn read_report(json: &[u8]) -> Result<NotifyReport, Unreadable> {
    let value: Value = serde_json::from_slice(json).map_err(|_| Unreadable::NoReport)?;
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    let kind = text("type").ok_or(Unreadable::NoReport)?;
    if kind != "agent-turn-complete" {
        return Ok(NotifyReport::Other);
    }
    let thread_id = text("thread-id").filter(|id| is_uuid(id)).ok_or(Unreadable::NoThread)?;
    // All texts of the user in the thread; the last is this turn's. It serves no other purpose
    // (SLV-61): the source of the prompt is the rollout.
    let messages = value["input-messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let last = messages.last().and_then(Value::as_str);
    Ok(NotifyReport::Turn(TurnReport {
        thread_id,
        turn_id: text("turn-id").filter(|id| is_uuid(id)),
        cwd: text("cwd"),
        answer: text("last-assistant-message").filter(|answer| !answer.trim().is_empty()),
        is_title: last.is_some_and(is_title_request),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(name: &str) -> TurnReport {
        let path = format!("{}/testdata/codex/notify/{name}.json", env!("CARGO_MANIFEST_DIR"));
        #[expect(clippy::disallowed_methods, reason = "a test reads its recordings")]
        let json = std::fs::read(path).unwrap();
        match read_report(&json) {
            Ok(NotifyReport::Turn(report)) => report,
            other => panic!("{name}: {other:?}"),
        }
    }

    #[test]
    fn slv_58_recorded_reports_tell_thread_turn_folder_and_answer() {
        insta::assert_debug_snapshot!(recorded("exec-unicode"), @r#"
        TurnReport {
            thread_id: "01a1e18b-7630-76a2-a6c7-e01be454fe87",
            turn_id: Some(
                "01a1e18b-769c-7ed3-919f-471840d0e67f",
            ),
            cwd: Some(
                "/home/user/project",
            ),
            answer: Some(
                "Grüße, мир, 世界 🚀\nsecond line \"quoted\" \\ back",
            ),
            is_title: false,
        }
        "#);
        assert_eq!(recorded("exec-null-last-message").answer, None);
        assert_eq!(recorded("legacy-0.98-exec").turn_id, None);
    }

    #[test]
    fn slv_62_the_turn_that_makes_a_title_is_known() {
        assert!(recorded("tui-spawn-title").is_title);
        for name in ["tui-spawn-main", "tui-spawn-subagent", "tui-multi-turn", "exec-unicode"] {
            assert!(!recorded(name).is_title, "{name}");
        }
    }

    #[test]
    fn slv_57_other_types_are_nothing_and_bad_input_is_said() {
        let read = |json: &str| read_report(json.as_bytes());
        assert_eq!(read(r#"{"type":"approval-requested"}"#), Ok(NotifyReport::Other));
        for json in ["", "{", "[]", "null", "7", r#"{"thread-id":"x"}"#, r#"{"type":7}"#] {
            assert_eq!(read(json), Err(Unreadable::NoReport), "{json}");
        }
        for id in ["", "../x", "last", "7"] {
            let json = format!(r#"{{"type":"agent-turn-complete","thread-id":"{id}"}}"#);
            assert_eq!(read(&json), Err(Unreadable::NoThread), "{id}");
        }
        // A field of the wrong type is absent.
        let json = r#"{"type":"agent-turn-complete","cwd":7,"input-messages":"x","turn-id":[],
            "thread-id":"01a1e18e-2062-79f1-b187-979e8f997b9c","last-assistant-message":{}}"#;
        let Ok(NotifyReport::Turn(report)) = read(json) else { panic!() };
        assert_eq!((report.cwd, report.turn_id, report.answer), (None, None, None));
    }
}
