//! Reads from the end of a rollout the state of the thread's last turn, and the reviewer of the
//! agent's requests. It decides from that state whether Codex must not receive a reply now.

use std::time::Duration;

use crate::agents::codex::rollout_wire::{RolloutLine, RolloutRecord};
use crate::timestamp::Timestamp;

/// A file's time can be a little ahead of the time that its writer reads.
const TICK: Duration = Duration::from_millis(500);

/// The state of a thread's last turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LastTurn {
    Open {
        /// `user`, `exec`, `queue` or a client's own word. Versions before 0.162 do not record it,
        /// nor do reviews and compactions.
        trigger: Option<String>,
        at: Option<Timestamp>,
    },
    Ended,
    /// By Esc, or by a request that the user has refused.
    Aborted,
}

/// Returns the state of the last turn in the lines. Returns `None` if they contain no beginning and
/// no end of a turn.
pub fn last_turn(lines: impl DoubleEndedIterator<Item = RolloutLine>) -> Option<LastTurn> {
    lines.rev().find_map(|line| match line.record {
        RolloutRecord::TaskStarted { trigger, .. } => Some(LastTurn::Open { trigger, at: line.at }),
        RolloutRecord::TaskComplete { .. } => Some(LastTurn::Ended),
        RolloutRecord::TurnAborted => Some(LastTurn::Aborted),
        _ => None,
    })
}

/// Why the Codex that has a thread open must not receive a reply now (0.166 and 0.169).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueObstacle {
    /// A `codex exec` runs its turn: it would begin a queued reply at its own end, and abort it. Or
    /// the record does not name who runs the turn, as in a review and before 0.162.
    Exec,
    /// The last turn was aborted. `codex queue` reports that it has the reply, but Codex starts it
    /// only after the next prompt that is typed there.
    Aborted,
}

/// Returns why a reply must not be queued now in a thread that a Codex has had open since
/// `open_since`, or `None` if it may be.
pub fn obstacle(last_turn: &LastTurn, open_since: Option<Timestamp>) -> Option<QueueObstacle> {
    match last_turn {
        LastTurn::Open { trigger, .. } => {
            let is_exec = trigger.as_deref().is_none_or(|trigger| trigger == "exec");
            (is_exec && is_running(last_turn, open_since)).then_some(QueueObstacle::Exec)
        }
        LastTurn::Aborted => Some(QueueObstacle::Aborted),
        LastTurn::Ended => None,
    }
}

/// Returns whether the last turn is running in a thread that a Codex has had open since
/// `open_since`.
pub fn is_running(last_turn: &LastTurn, open_since: Option<Timestamp>) -> bool {
    matches!(last_turn, LastTurn::Open { .. }) && !is_left(last_turn, open_since)
}

/// Returns whether the last turn has no end because its process was killed: it began before
/// `open_since`.
pub fn is_left(last_turn: &LastTurn, open_since: Option<Timestamp>) -> bool {
    match last_turn {
        LastTurn::Open { at, .. } => {
            open_since.zip(*at).is_some_and(|(since, at)| since > at.plus(TICK))
        }
        LastTurn::Ended | LastTurn::Aborted => false,
    }
}

/// Returns who decides about the last turn's requests (`user`, `auto_review`), if recorded. A turn
/// keeps its first value; the thread's settings count only if no turn records one.
pub fn approvals_reviewer(lines: impl DoubleEndedIterator<Item = RolloutLine>) -> Option<String> {
    let mut of_thread = None;
    for line in lines.rev() {
        match line.record {
            RolloutRecord::TurnContext { reviewer: Some(reviewer), .. } => return Some(reviewer),
            RolloutRecord::SettingsApplied { reviewer: Some(reviewer) } => {
                of_thread.get_or_insert(reviewer);
            }
            _ => {}
        }
    }
    of_thread
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::agents::codex::rollout_wire::parse_line;

    fn lines(records: &[Value]) -> Vec<RolloutLine> {
        records.iter().map(|record| parse_line(record.to_string().as_bytes())).collect()
    }

    fn event(payload: Value) -> Value {
        json!({"timestamp": "2026-11-18T02:32:33.817Z", "type": "event_msg", "payload": payload})
    }

    fn started(trigger: Value) -> Value {
        let attribution = json!({"turn_id": "t", "turn_trigger": trigger});
        event(json!({"type": "task_started", "turn_id": "t", "turn_attribution": attribution}))
    }

    #[test]
    fn nothing_is_queued_behind_an_exec_or_after_an_aborted_turn() {
        let complete = || event(json!({"type": "task_complete", "turn_id": "t"}));
        let aborted = || event(json!({"type": "turn_aborted", "turn_id": "t"}));
        let said = || event(json!({"type": "token_count"}));
        for (records, expected) in [
            (vec![], None),
            (vec![said()], None),
            (vec![started(json!("user")), said()], Some(None)),
            (vec![started(json!("queue"))], Some(None)),
            (vec![started(Value::Null)], Some(Some(QueueObstacle::Exec))),
            (vec![event(json!({"type": "task_started"}))], Some(Some(QueueObstacle::Exec))),
            (vec![started(json!("exec")), said()], Some(Some(QueueObstacle::Exec))),
            (vec![started(json!("exec")), complete()], Some(None)),
            (vec![started(json!("user")), aborted(), said()], Some(Some(QueueObstacle::Aborted))),
            (vec![started(json!("user")), aborted(), started(json!("user"))], Some(None)),
        ] {
            let last = last_turn(lines(&records).into_iter());
            let found = last.as_ref().map(|last| obstacle(last, None));
            assert_eq!(found, expected, "{records:#?}");
        }
    }

    /// A `codex exec` was killed in its turn, and a terminal has the thread open since.
    #[test]
    fn a_turn_of_exec_that_began_before_the_thread_was_opened_is_in_nobody_s_way() {
        let last = last_turn(lines(&[started(json!("exec"))]).into_iter()).unwrap();
        let at = |time: &str| Timestamp::parse(time);
        assert_eq!(obstacle(&last, at("2026-11-18T02:32:33.800Z")), Some(QueueObstacle::Exec));
        assert_eq!(obstacle(&last, at("2026-11-18T02:32:33.900Z")), Some(QueueObstacle::Exec));
        assert_eq!(obstacle(&last, at("2026-11-18T02:32:35.000Z")), None);
        let user = last_turn(lines(&[started(json!("user"))]).into_iter()).unwrap();
        assert!(is_running(&user, None));
        assert!(is_running(&user, at("2026-11-18T02:32:33.900Z")));
        assert!(!is_running(&user, at("2026-11-18T02:32:35.000Z")));
        assert!(!is_running(&LastTurn::Ended, None) && !is_running(&LastTurn::Aborted, None));
        assert!(!is_left(&LastTurn::Ended, at("2026-11-18T09:00:00Z")));
        assert!(is_left(&user, at("2026-11-18T02:32:35.000Z")) && !is_left(&user, None));
        // An interruption outlives its terminal.
        assert_eq!(
            obstacle(&LastTurn::Aborted, at("2026-11-18T09:00:00Z")),
            Some(QueueObstacle::Aborted)
        );
    }

    #[test]
    fn the_turn_s_own_reviewer_counts_before_the_thread_s() {
        let context = |reviewer: Value| json!({"type": "turn_context", "payload": {"approvals_reviewer": reviewer}});
        let settings = |reviewer: &str| {
            let settings = json!({"approvals_reviewer": reviewer});
            event(json!({"type": "thread_settings_applied", "thread_settings": settings}))
        };
        let reviewer = |records: &[Value]| approvals_reviewer(lines(records).into_iter());
        assert_eq!(reviewer(&[]), None);
        assert_eq!(reviewer(&[context(Value::Null)]), None);
        let changed = [context(json!("auto_review")), settings("user")];
        assert_eq!(reviewer(&changed).as_deref(), Some("auto_review"));
        let changed = [settings("user"), settings("auto_review")];
        assert_eq!(reviewer(&changed).as_deref(), Some("auto_review"));
        let next = [context(json!("auto_review")), context(json!("user"))];
        assert_eq!(reviewer(&next).as_deref(), Some("user"));
    }
}
