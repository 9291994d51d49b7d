//! Reads the file in which Claude Code notes the status of a running process, `sessions/<pid>.json`
//! in its config folder. The file is undocumented, so a missing one means nothing.
//!
//! It shows what no hook reports: the user interrupted a turn (`idle`) or approved a dialog
//! (`busy`), a dialog without a hook is open (`waiting`), or a text typed during the last turn now
//! runs (`busy`). Seen with 2.1.197 and 2.1.326: times are milliseconds, `procStart` is field 22 of
//! `/proc/<pid>/stat` as a string, `-p` has no status, `shell` is idle while a background command
//! runs.

use std::time::Duration;

use serde::Deserialize;

use crate::ids::SessionId;
use crate::session::event::{EventKind, ProcessKey};
use crate::session::{Activity, Detail, Run, State};
use crate::timestamp::Timestamp;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaudeProcessFile {
    pid: u32,
    session_id: String,
    proc_start: Option<String>,
    status: Option<String>,
    status_updated_at: Option<i64>,
    waiting_for: Option<String>,
    parked_job_id: Option<String>,
}

impl ClaudeProcessFile {
    fn is_of(&self, process: ProcessKey) -> bool {
        let is_start = |start: &String| *start == process.start.to_string();
        self.pid == process.pid && self.proc_start.as_ref().is_some_and(is_start)
    }
}

/// The values of `waitingFor` for a dialog that the agent needs an answer to: about a tool call, a
/// form or a question, network access from the sandbox, a call of a teammate, a goal (2.1.326).
/// Other values are panels that the user has opened (`dialog open`).
const DIALOGS: [&str; 5] =
    ["permission prompt", "input needed", "sandbox request", "worker request", "goal proposal"];

/// The age from which a status counts. Claude does not wait for its StopFailure hook before it
/// notes `idle`. It notes `busy` up to a tenth of a second around the hook of a dialog.
const SETTLED: Duration = Duration::from_millis(400);

/// Returns the event that the status file shows and no hook has reported for `run`, and its time.
/// `note` is the file's contents.
pub fn observe_claude_process(
    note: &[u8],
    session_id: &SessionId,
    run: &Run,
    now: Timestamp,
) -> ProcessObservation {
    let Ok(file) = serde_json::from_slice::<ClaudeProcessFile>(note) else {
        return ProcessObservation::Nothing;
    };
    let is_it = file.is_of(run.process) && file.session_id == session_id.as_str();
    let (Some(status), Some(at), true) = (file.status, file.status_updated_at, is_it) else {
        return ProcessObservation::Nothing;
    };
    let at = Timestamp::from_millis(at);
    if now.since(at) < SETTLED {
        return ProcessObservation::Nothing;
    }
    let last_dialog = run.waits.iter().map(|wait| wait.opened_at).max();
    match status.as_str() {
        "idle" | "shell" if at > run.last_at && is_in_turn(run) => {
            ProcessObservation::Happened(EventKind::Interrupted, at)
        }
        // Other processes of the session may have acted since the approval, so only the dialog's
        // time counts.
        "busy" if last_dialog.is_some_and(|opened| at > opened) => {
            ProcessObservation::Happened(EventKind::DialogsClosed, at.max(run.last_at))
        }
        // Its status does not become idle between the two turns.
        "busy" if is_about_to_go_on(run, now) => {
            ProcessObservation::Happened(EventKind::TurnStarted, run.last_at)
        }
        // Also for a session at rest: a message from another one is held, a background agent asks.
        "waiting" if at > run.last_at && run.state() != State::WaitingUser => {
            let is_dialog = file.waiting_for.is_some_and(|what| DIALOGS.contains(&what.as_str()));
            match is_dialog {
                true => ProcessObservation::Happened(EventKind::DialogSeen, at),
                false => ProcessObservation::Nothing,
            }
        }
        _ => ProcessObservation::Nothing,
    }
}

/// Returns whether the process's terminal shows something other than this session. With `←` Claude
/// Code 2.1.326 moves the session to the background, where it continues under another id, and shows
/// the list of agents. Text typed there begins a session, or belongs to the one that the user has
/// opened from the list. No hook is called, and the old id stays `idle`.
pub fn shows_something_else(note: &[u8], session_id: &SessionId, process: ProcessKey) -> bool {
    let Ok(file) = serde_json::from_slice::<ClaudeProcessFile>(note) else { return false };
    // Start times have another format on other systems.
    let is_it =
        file.is_of(process) || file.pid == process.pid && file.session_id == session_id.as_str();
    let is_waiting = file.status.is_some_and(|status| status == "waiting");
    is_it && (is_waiting || file.parked_job_id.is_some())
}

/// Returns whether a turn has ended or was interrupted before the agent read all its additions.
fn is_about_to_go_on(run: &Run, now: Timestamp) -> bool {
    let is_interrupted = run.activity == Activity::Completed(Some(Detail::Interrupted));
    (run.turn.is_over || is_interrupted)
        && run.turn.has_unread()
        && run.state() == State::Completed
        && now.since(run.last_at) >= SETTLED
}

fn is_in_turn(run: &Run) -> bool {
    matches!(run.state(), State::Working | State::WaitingUser)
}

/// The result of reading the status file of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessObservation {
    /// There is no status of this run, or it shows no more than the hooks.
    Nothing,
    Happened(EventKind, Timestamp),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{RunEnvironment, Turn, Wait};

    fn run(activity: Activity, waits: Vec<Wait>) -> Run {
        Run {
            process: ProcessKey { pid: 42, start: 4_242 },
            started_at: Timestamp::from_millis(0),
            activity,
            waits,
            calls: Vec::new(),
            since: Timestamp::from_millis(10_000),
            last_event: "PreToolUse".into(),
            last_at: Timestamp::from_millis(10_000),
            sequence: 1,
            turn: Turn::default(),
            background_tasks: Vec::new(),
            host: RunEnvironment::default(),
            ended: None,
        }
    }

    fn observe(run: &Run, status: &str, at: i64, now: i64) -> ProcessObservation {
        let note = format!(
            r#"{{"pid":42,"sessionId":"s","cwd":"/x","startedAt":1,"procStart":"4242","status":"{status}","updatedAt":{at},"statusUpdatedAt":{at}}}"#
        );
        let id = SessionId::parse("s").unwrap();
        observe_claude_process(note.as_bytes(), &id, run, Timestamp::from_millis(now))
    }

    #[test]
    fn a_session_in_the_background_or_a_panel_is_not_what_the_terminal_shows() {
        let own = ProcessKey { pid: 42, start: 4_242 };
        let shows = |id: &str, process, more: &str| {
            let note =
                format!(r#"{{"pid":42,"sessionId":"s","procStart":"4242","status":{more}}}"#);
            shows_something_else(note.as_bytes(), &SessionId::parse(id).unwrap(), process)
        };
        let parked = r#""idle","parkedJobId":"161b3356""#;
        assert!(shows("s", own, parked) && shows("other", own, parked));
        assert!(shows("s", ProcessKey { start: 1, ..own }, parked));
        assert!(shows("s", own, r#""waiting","waitingFor":"dialog open""#));
        assert!(!shows("s", own, r#""idle""#) && !shows("s", own, r#""shell""#));
        // Another process had its pid, or there is no note.
        assert!(!shows("other", ProcessKey { start: 1, ..own }, parked));
        assert!(!shows_something_else(b"", &SessionId::parse("s").unwrap(), own));
    }

    #[test]
    fn a_status_behind_the_last_event_tells_of_esc_and_of_approval_x31() {
        let working = run(Activity::Working, vec![]);
        let dialog = Wait { opened_at: Timestamp::from_millis(9_500), ..Wait::default() };
        let waiting = run(Activity::Working, vec![dialog]);
        let completed = run(Activity::Completed(None), vec![]);
        let esc =
            ProcessObservation::Happened(EventKind::Interrupted, Timestamp::from_millis(10_100));
        assert_eq!(observe(&working, "idle", 10_100, 11_000), esc);
        assert_eq!(observe(&working, "shell", 10_100, 11_000), esc);
        assert_eq!(observe(&waiting, "idle", 10_100, 11_000), esc);
        let closed =
            ProcessObservation::Happened(EventKind::DialogsClosed, Timestamp::from_millis(10_100));
        assert_eq!(observe(&waiting, "busy", 10_100, 11_000), closed);
        // Approved before the last event, which was another process's.
        let closed = ProcessObservation::Happened(EventKind::DialogsClosed, waiting.last_at);
        assert_eq!(observe(&waiting, "busy", 9_600, 11_000), closed);
        for (run, status, at, now) in [
            (&working, "busy", 10_100, 11_000),
            (&waiting, "busy", 9_400, 11_000),
            (&waiting, "waiting", 10_100, 11_000),
            (&completed, "idle", 10_100, 11_000),
            // Older than the last event: from the turn before.
            (&working, "idle", 9_999, 11_000),
            // Too young: the StopFailure hook may be on its way.
            (&working, "idle", 10_700, 11_000),
            (&working, "new word", 10_100, 11_000),
        ] {
            assert_eq!(observe(run, status, at, now), ProcessObservation::Nothing, "{status} {at}");
        }
    }

    #[test]
    fn ask_11_a_dialog_without_a_hook_is_known_by_the_status_and_a_panel_is_none() {
        let working = run(Activity::Working, vec![]);
        let waiting = |what: &str| format!(r#"waiting","waitingFor":"{what}"#);
        let opened = EventKind::DialogSeen;
        for what in DIALOGS {
            let seen = observe(&working, &waiting(what), 10_100, 11_000);
            let at = Timestamp::from_millis(10_100);
            assert_eq!(seen, ProcessObservation::Happened(opened.clone(), at), "{what}");
        }
        let completed = run(Activity::Completed(None), vec![]);
        let seen = observe(&completed, &waiting("permission prompt"), 10_100, 11_000);
        let at = Timestamp::from_millis(10_100);
        assert_eq!(seen, ProcessObservation::Happened(opened, at), "a session at rest");
        let known = Wait { opened_at: Timestamp::from_millis(10_000), ..Wait::default() };
        let known = run(Activity::Working, vec![known]);
        for (run, what, at) in [
            (&working, "dialog open", 10_100),
            (&working, "permission prompt", 9_000),
            (&known, "permission prompt", 10_100),
            (&completed, "dialog open", 10_100),
        ] {
            assert_eq!(
                observe(run, &waiting(what), at, 11_000),
                ProcessObservation::Nothing,
                "{what}"
            );
        }
    }

    #[test]
    fn live_8_a_session_that_stays_busy_after_its_turn_runs_what_was_typed_during_it() {
        let addition = |is_read| {
            let prompt = crate::session::Prompt::head_of("more");
            let additions = vec![crate::session::Addition { prompt, is_read }];
            let turn = Turn { additions, is_over: true, ..Turn::default() };
            Run { turn, ..run(Activity::Completed(None), vec![]) }
        };
        let started =
            ProcessObservation::Happened(EventKind::TurnStarted, Timestamp::from_millis(10_000));
        assert_eq!(observe(&addition(false), "busy", 9_000, 11_000), started);
        assert_eq!(observe(&addition(false), "busy", 9_000, 10_100), ProcessObservation::Nothing);
        assert_eq!(observe(&addition(false), "idle", 9_000, 11_000), ProcessObservation::Nothing);
        assert_eq!(observe(&addition(true), "busy", 9_000, 11_000), ProcessObservation::Nothing);
        // Esc: the typed text runs immediately.
        let interrupted = |is_read| {
            let mut run = addition(is_read);
            run.turn.is_over = false;
            Run { activity: Activity::Completed(Some(Detail::Interrupted)), ..run }
        };
        assert_eq!(observe(&interrupted(false), "busy", 9_000, 11_000), started);
        assert_eq!(observe(&interrupted(true), "busy", 9_000, 11_000), ProcessObservation::Nothing);
    }

    #[test]
    fn a_note_of_another_process_or_session_is_none() {
        let run = run(Activity::Working, vec![]);
        let check = |note: &str| {
            let id = SessionId::parse("s").unwrap();
            let now = Timestamp::from_millis(20_000);
            assert_eq!(
                observe_claude_process(note.as_bytes(), &id, &run, now),
                ProcessObservation::Nothing
            );
        };
        let good = r#"{"pid":42,"sessionId":"s","procStart":"4242","status":"idle","statusUpdatedAt":10100}"#;
        check("");
        check(&good[..good.len() - 1]);
        check(&good.replace("42,", "43,"));
        check(&good.replace("4242", "4243"));
        check(&good.replace("\"s\"", "\"t\""));
        check(r#"{"pid":42,"sessionId":"s","procStart":"4242"}"#);
    }
}
