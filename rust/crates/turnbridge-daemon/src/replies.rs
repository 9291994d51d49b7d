//! What the daemon does for replies beside talking: starts runners, looks for prompts after a crash,
//! and sees whether somebody has a session open. What to do when is `reply_plan`'s.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Child;

use turnbridge_core::ids::{SessionId, Tool};
use turnbridge_core::prompt_search::{is_in_rollout, is_in_transcript};
use turnbridge_core::reply_wire::{Outcome, Reply, RunResult};
use turnbridge_core::session::{Run, State};
use turnbridge_core::terminal_calls::Pane;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::companion::{self, Apart};
use turnbridge_store::inbox;
use turnbridge_store::paths::{StatePaths, claude_config_dir, codex_home};
use turnbridge_store::process::{Liveness, liveness};
use turnbridge_store::{bounded_file, clock, codex_rollouts, session_store};

use crate::signals::with_signals;

/// More than is said in the moments between a claim and a crash.
const TAIL: u64 = 16 << 20;

/// Starts the runner of a reply. It claims the reply itself; the child is to be waited for.
pub fn launch(id: &str) -> io::Result<Child> {
    companion::start("turnbridge", &["run-reply", "--", id], Apart::ByItself)
}

/// Does `Step::LookForPrompt`: finished when the agent has the prompt, else uncertain.
pub fn look_for_prompt(paths: &StatePaths, reply: &Reply) -> io::Result<()> {
    if has_prompt(paths, reply) {
        return inbox::finish(paths, &reply.id);
    }
    let result = RunResult::new(Outcome::Uncertain, clock::now().to_string());
    inbox::save_result(paths, &reply.id, &result)
}

fn has_prompt(paths: &StatePaths, reply: &Reply) -> bool {
    let (Some((tool, id)), Some(since)) = (reply.session(), inbox::claimed_at(paths, &reply.id))
    else {
        return false;
    };
    let record = match tool {
        Tool::Claude => {
            let session = session_store::read(paths, tool, &id);
            session.and_then(|session| session.transcript_path).map(PathBuf::from)
        }
        Tool::Codex => codex_home().and_then(|home| codex_rollouts::find(&home, id.as_str())),
    };
    let Some(record) = record else { return false };
    let Ok((tail, _)) = bounded_file::read_tail(&record, TAIL) else { return false };
    match tool {
        Tool::Claude => is_in_transcript(&tail, &reply.text, since),
        Tool::Codex => is_in_rollout(&tail, &reply.text, since),
    }
}

/// Whether a person has the session open in a terminal that would not see a run beside it. A Codex
/// that has the thread open is handed the reply, so it is in nobody's way.
pub fn is_open(paths: &StatePaths, tool: Tool, id: &SessionId, now: Timestamp) -> bool {
    is_open_with(paths, tool, id, claude_config_dir().as_deref(), now)
}

/// The same, and nothing can be typed there now: the agent works or asks something, or its pane is
/// not known.
pub fn is_open_and_busy(paths: &StatePaths, tool: Tool, id: &SessionId, now: Timestamp) -> bool {
    is_open(paths, tool, id, now)
        && pane_to_type_into(paths, tool, id, claude_config_dir().as_deref(), now).is_none()
}

/// The pane in which a person's Claude waits for the next prompt.
pub fn pane_to_type_into(
    paths: &StatePaths,
    tool: Tool,
    id: &SessionId,
    config_dir: Option<&Path>,
    now: Timestamp,
) -> Option<Pane> {
    let session = with_signals(session_store::read(paths, tool, id)?, config_dir, now);
    let is_ready = |run: &&Run| {
        run.host.is_interactive()
            && run.state() == State::Completed
            && liveness(run.process) == Liveness::Alive
    };
    let mut panes = session
        .live_runs()
        .filter(is_ready)
        .filter_map(|run| Pane::of(|name| run.host.env(name)).filter(Pane::can_be_pasted_into));
    panes.next()
}

fn is_open_with(
    paths: &StatePaths,
    tool: Tool,
    id: &SessionId,
    config_dir: Option<&Path>,
    now: Timestamp,
) -> bool {
    if tool == Tool::Codex {
        return false;
    }
    let Some(session) = session_store::read(paths, tool, id) else { return false };
    let session = with_signals(session, config_dir, now);
    // Nothing is inferred from what cannot be told, or a reply might be held for ever.
    session
        .live_runs()
        .any(|run| run.host.is_interactive() && liveness(run.process) == Liveness::Alive)
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnbridge_core::event::{Event, EventKind, Facts, ProcessKey, SessionSource};
    use turnbridge_core::reply_plan::Progress;
    use turnbridge_core::reply_wire::ReplySource;
    use turnbridge_core::session::Host;
    use turnbridge_store::process::identify;

    const ID: &str = "825c8529-ee09-4cb8-8902-dd785b12ca0a";

    fn id() -> SessionId {
        SessionId::parse(ID).unwrap()
    }

    /// A session whose process has begun.
    fn begin(paths: &StatePaths, process: ProcessKey, entrypoint: &str, transcript: &Path) {
        let transcript_path = Some(transcript.to_str().unwrap().to_owned());
        let event = Event {
            tool: Tool::Claude,
            session_id: id(),
            at: clock::now(),
            process,
            name: "SessionStart".to_owned(),
            agent_id: None,
            facts: Facts { transcript_path, ..Facts::default() },
            host: Some(Host { entrypoint: Some(entrypoint.to_owned()), ..Host::default() }),
            kind: EventKind::SessionStarted { source: SessionSource::Fresh },
        };
        session_store::update(Some(paths), &event, None).unwrap();
    }

    fn reply() -> Reply {
        Reply {
            version: 1,
            id: "r1".into(),
            source: ReplySource::Board,
            event_id: None,
            channel: None,
            thread_ts: None,
            ts: "1.0".into(),
            user: None,
            text: "go on".into(),
            received_at: String::new(),
            tool: Some("claude".into()),
            session_id: Some(ID.into()),
            cwd: None,
        }
    }

    #[test]
    fn a_session_is_open_while_a_person_has_it_in_a_terminal() {
        let own = identify(std::process::id());
        let gone = ProcessKey { start: own.start + 1, ..own };
        for (process, entrypoint, expected) in
            [(own, "cli", true), (own, "sdk-cli", false), (gone, "cli", false)]
        {
            let folder = tempfile::tempdir().unwrap();
            let paths = StatePaths::below(folder.path());
            begin(&paths, process, entrypoint, Path::new("/nowhere"));
            let is_open =
                |tool| is_open_with(&paths, tool, &id(), Some(folder.path()), clock::now());
            assert_eq!(is_open(Tool::Claude), expected, "{entrypoint}");
            assert!(!is_open(Tool::Codex));
        }
    }

    #[test]
    fn after_a_crash_a_prompt_that_is_in_the_transcript_is_done_and_any_other_uncertain() {
        for (said, is_found) in [("go on", true), ("something else", false)] {
            let folder = tempfile::tempdir().unwrap();
            let paths = StatePaths::below(folder.path());
            let transcript = folder.path().join("transcript.jsonl");
            begin(&paths, ProcessKey::UNKNOWN, "sdk-cli", &transcript);
            inbox::accept(&paths, &reply(), clock::now()).unwrap();
            inbox::claim(&paths, "r1", clock::now()).unwrap();
            let at = clock::now();
            let record = format!(
                "{{\"type\":\"user\",\"timestamp\":\"{at}\",\"message\":{{\"content\":\"{said}\"}}}}\n"
            );
            std::fs::write(&transcript, record).unwrap();
            look_for_prompt(&paths, &reply()).unwrap();
            let left = inbox::entry(&paths, "r1").unwrap().map(|entry| entry.progress);
            match left {
                None => assert!(is_found),
                Some(Progress::Ended(result)) => {
                    assert!(!is_found);
                    assert_eq!(result.outcome, Outcome::Uncertain);
                }
                other => panic!("{other:?}"),
            }
        }
    }
}
