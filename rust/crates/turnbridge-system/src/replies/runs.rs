//! Starts the runners of replies, finds out after a crash how a run ended, and whether a user or an
//! agent has a session open. `reply_plan` decides when the daemon does which; the messages about
//! replies are elsewhere.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::SystemTime;

use turnbridge_core::agents::agent_differences::LifeSign;
use turnbridge_core::agents::codex::rollout_tail::{self, QueueObstacle};
use turnbridge_core::agents::resume::LiveSession;
use turnbridge_core::ids::{Agent, SessionKey};
use turnbridge_core::replies::holder::StartedProgram;
use turnbridge_core::replies::reply::Reply;
use turnbridge_core::replies::run_end::{Evidence, begun_later, judge};
use turnbridge_core::replies::run_result::{RunOutcome, RunResult};
use turnbridge_core::replies::turn_trace::{
    PromptRoute, TurnEnd, TurnTrace, in_rollout, in_transcript, queued_turns,
};
use turnbridge_core::session::event::ProcessKey;
use turnbridge_core::session::{Detail, Run, State};
use turnbridge_core::terminals::terminal_calls::Pane;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::clock;
use turnbridge_store::files::bounded_file;
use turnbridge_store::foreign::codex_lock::{self, ThreadWriter};
use turnbridge_store::foreign::codex_rollouts;
use turnbridge_store::paths::{StatePaths, claude_config_dir, codex_home};
use turnbridge_store::process::detached_process::{self, Detachment};
use turnbridge_store::process::terminal_holder;
use turnbridge_store::process::{Liveness, liveness};
use turnbridge_store::state::inbox::{self, Streams};
use turnbridge_store::state::{pending_turns, session_store, turn_store};

use crate::observe::observed_events::{is_out_of_sight, with_observed_events};

/// The size of the end that is read: more than is written between a claim and a crash.
const TAIL: u64 = 16 << 20;

/// The limit of an output, longer than that of any slash command.
pub const LONGEST_OUTPUT: u64 = 1 << 20;

/// Starts the runner of a reply, which claims the reply itself. The caller must wait for the child.
pub fn launch(id: &str) -> io::Result<Child> {
    detached_process::start("turnbridge", &["run-reply", "--", id], Detachment::ByItself)
}

/// The result of `find_out`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunFinding {
    /// The result is stored.
    Saved,
    /// A process still works on it: the caller retries later.
    NotYet,
}

/// Finds out how a run has ended whose runner is gone, and stores the result (`Step::FindOut`).
pub fn find_out(paths: &StatePaths, reply: &Reply) -> io::Result<RunFinding> {
    if inbox::is_hook_running(&reply.id) {
        return Ok(RunFinding::NotYet);
    }
    let evidence = evidence(paths, reply);
    // This is checked again after the evidence: a process that was alive before has written all of
    // it by now.
    if inbox::is_running(paths, &reply.id) || is_thread_in_work(paths, reply, &evidence) {
        return Ok(RunFinding::NotYet);
    }
    let result = judge(&evidence, clock::now());
    inbox::save_result(paths, &reply.id, &result).map(|()| RunFinding::Saved)
}

/// Returns whether an agent has the session open in the turn of this reply. The process that was
/// started for it may have been only the wrapper that npm installs.
fn is_thread_in_work(paths: &StatePaths, reply: &Reply, evidence: &Evidence) -> bool {
    let has_lock = |key: &SessionKey| match key.agent.life_sign() {
        LifeSign::Process => false,
        LifeSign::WriterLock => true,
    };
    let Some(key) = reply.session().filter(|key| has_lock(key)) else { return false };
    let rollout = record_of(paths, key);
    evidence.trace == TurnTrace::Open
        && rollout.is_some_and(|rollout| codex_rollouts::is_held(&rollout, key.id.as_str()))
}

/// Collects the traces that a run has left.
pub fn evidence(paths: &StatePaths, reply: &Reply) -> Evidence {
    let id = reply.id.as_str();
    let acks = inbox::acks(paths, id);
    let streams = Streams::of(paths, id);
    let agent = reply.session().map(|key| key.agent);
    let printed = streams.map(|streams| streams.read_stdout(LONGEST_OUTPUT)).unwrap_or_default();
    let way = inbox::way(paths, id);
    let tells_by_printing = agent.is_some_and(|agent| !agent.tells_turns_by_rollouts());
    let has_commands = agent.is_some_and(Agent::has_slash_commands);
    Evidence {
        // A turn that is in a rollout needs no printed output.
        printed: if tells_by_printing || way == Some(StartedProgram::Queue) {
            printed
        } else {
            String::new()
        },
        way,
        is_acknowledged: acks.has_prompt,
        seen_end: acks.end.or_else(|| recorded_end(paths, reply)),
        trace: trace(paths, reply),
        is_stop_requested: inbox::is_stop_requested(paths, id),
        is_command: has_commands && reply.text.trim_start().starts_with('/'),
    }
}

/// Returns how its turn ended, if a hook has recorded that, or has left it to be recorded. The hook
/// may have been killed before its acknowledgement.
fn recorded_end(paths: &StatePaths, reply: &Reply) -> Option<TurnEnd> {
    let key = reply.session()?;
    let since = inbox::claimed_at(paths, &reply.id)?;
    let left = pending_turns::of_session(paths, key).into_iter();
    let turns = turn_store::read_turns(paths, key).into_iter();
    let own = turns.chain(left.map(|pending| pending.turn.record)).find(|turn| {
        turn.started_at.is_some_and(|at| at >= since)
            && turn.prompt.as_deref().is_some_and(|prompt| prompt.trim() == reply.text.trim())
    })?;
    match own.detail.known() {
        Some(Detail::Ok) => Some(TurnEnd::Ok),
        Some(Detail::Failed { .. }) => Some(TurnEnd::Failed),
        None if own.error().is_some() => Some(TurnEnd::Failed),
        Some(Detail::Interrupted) | None => Some(TurnEnd::Interrupted),
    }
}

fn trace(paths: &StatePaths, reply: &Reply) -> TurnTrace {
    let (Some(key), Some(since)) = (reply.session(), inbox::claimed_at(paths, &reply.id)) else {
        return TurnTrace::Absent;
    };
    let Some(record) = record_of(paths, key) else { return TurnTrace::Absent };
    let Ok((tail, _)) = bounded_file::read_tail(&record, TAIL) else { return TurnTrace::Absent };
    match key.agent {
        Agent::Claude => in_transcript(&tail, &reply.text, since),
        Agent::Codex => {
            let is_queued = inbox::way(paths, &reply.id) == Some(StartedProgram::Queue);
            let through = if is_queued { PromptRoute::Queue } else { PromptRoute::Anything };
            in_rollout(&tail, &reply.text, through, since)
        }
    }
}

/// The last change of each session's record at its last check. A record that has not changed since
/// is not read again.
pub type LastLooks = BTreeMap<String, SystemTime>;

/// Finds the finished replies that `codex queue` had taken, and whose turn has begun since. Stores
/// their results, and returns their ids.
pub fn find_begun(
    paths: &StatePaths,
    looks: &mut LastLooks,
) -> io::Result<Vec<(String, RunOutcome)>> {
    let finished = inbox::finished(paths)?;
    let mut found = Vec::new();
    let mut seen = LastLooks::new();
    for (reply, _) in
        finished.iter().filter(|reply| outcome_of(reply) == Some(RunOutcome::NotBegun))
    {
        let Some(record) = reply.session().and_then(|key| record_of(paths, key)) else { continue };
        let changed_at = record.metadata().and_then(|metadata| metadata.modified());
        let Ok(changed_at) = changed_at else { continue };
        seen.insert(reply.id.clone(), changed_at);
        if looks.get(&reply.id) == Some(&changed_at) {
            continue;
        }
        let turn = queued_turn(paths, reply, &finished, &record);
        if let Some(outcome) = turn.and_then(begun_later) {
            inbox::save_result(paths, &reply.id, &RunResult::new(outcome, clock::now()))?;
            found.push((reply.id.clone(), outcome));
        }
    }
    *looks = seen;
    Ok(found)
}

type Finished = (Reply, Option<RunResult>);

fn outcome_of((_, result): &Finished) -> Option<RunOutcome> {
    result.as_ref().map(|result| result.outcome)
}

/// Returns the turn that the queue has started for this reply. Replies with the same words begin in
/// the order in which they were queued, so that each turn belongs to one of them.
fn queued_turn(
    paths: &StatePaths,
    reply: &Reply,
    finished: &[Finished],
    record: &Path,
) -> Option<TurnTrace> {
    let is_queued = |other: &&Finished| {
        let outcomes = [RunOutcome::NotBegun, RunOutcome::HandedOver, RunOutcome::Interrupted];
        other.0.session() == reply.session()
            && other.0.text.trim() == reply.text.trim()
            && outcome_of(other).is_some_and(|outcome| outcomes.contains(&outcome))
    };
    let alike = finished.iter().filter(is_queued).map(|(other, _)| other.id.as_str());
    let mut alike: Vec<_> =
        alike.filter_map(|id| Some((inbox::claimed_at(paths, id)?, id))).collect();
    alike.sort_unstable();
    let place = alike.iter().position(|(_, id)| *id == reply.id)?;
    let (tail, _) = bounded_file::read_tail(record, TAIL).ok()?;
    queued_turns(&tail, &reply.text, alike[0].0).get(place).copied()
}

/// Returns why a reply must not be passed now to the agent that has the session open. Returns
/// `None` if no agent has it open, if this is unknown, or if the agent takes no replies there.
pub fn obstacle(paths: &StatePaths, key: &SessionKey) -> Option<QueueObstacle> {
    if !key.agent.takes_queued_prompts() {
        return None;
    }
    let id = key.id.as_str();
    let rollout = record_of(paths, key)?;
    let home = codex_rollouts::home_of(&rollout)?;
    // The rollout of a free thread is not read.
    if codex_lock::writer(&home, id) != ThreadWriter::Held {
        return None;
    }
    let last_turn = codex_rollouts::last_turn(&rollout)?;
    rollout_tail::obstacle(&last_turn, codex_lock::opened_at(&home, id))
}

/// Returns whether the Codex that has a thread open runs a turn in it. An unknown state counts as
/// no turn.
pub fn is_turn_running(paths: &StatePaths, key: &SessionKey) -> bool {
    let rollout = record_of(paths, key);
    let last_turn = rollout.as_deref().and_then(codex_rollouts::last_turn);
    let home = rollout.as_deref().and_then(codex_rollouts::home_of);
    let open_since = home.and_then(|home| codex_lock::opened_at(&home, key.id.as_str()));
    last_turn.is_some_and(|last_turn| rollout_tail::is_running(&last_turn, open_since))
}

/// Returns the agent's record of the session.
fn record_of(paths: &StatePaths, key: &SessionKey) -> Option<PathBuf> {
    let session = session_store::read(paths, key);
    let known = session.and_then(|session| session.transcript_path).map(PathBuf::from);
    match key.agent {
        Agent::Claude => known,
        Agent::Codex => known
            .filter(|path| path.exists())
            .or_else(|| codex_home().and_then(|home| codex_rollouts::find(&home, key.id.as_str()))),
    }
}

/// Returns whether a user has the session open in a terminal that would not see a parallel run. An
/// agent that takes the reply itself does not count.
pub fn is_open(paths: &StatePaths, key: &SessionKey, now: Timestamp) -> bool {
    is_open_with(paths, key, claude_config_dir().as_deref(), now)
}

/// Returns whether the session is open and accepts no typed text now: the agent works or asks
/// something, it does not read its terminal alone, or its pane is not known.
pub fn is_open_and_busy(paths: &StatePaths, key: &SessionKey, now: Timestamp) -> bool {
    is_open(paths, key, now)
        && place_to_type_into(paths, key, claude_config_dir().as_deref(), now).is_none()
}

/// Returns whether a reply is typed into the terminal that has the session open (X40), now or as
/// soon as possible. Otherwise a separate process is started for it.
pub fn goes_into_terminal(
    paths: &StatePaths,
    key: &SessionKey,
    live: LiveSession,
    now: Timestamp,
) -> bool {
    match key.agent {
        Agent::Claude => {
            let config_dir = claude_config_dir();
            live == LiveSession::Pane && has_pane(paths, key, config_dir.as_deref(), now)
        }
        Agent::Codex => is_open_in_codex(paths, key),
    }
}

/// Returns whether a user's Claude has the session open in a pane that can be pasted into.
fn has_pane(
    paths: &StatePaths,
    key: &SessionKey,
    config_dir: Option<&Path>,
    now: Timestamp,
) -> bool {
    let Some(session) = session_store::read(paths, key) else { return false };
    let session = with_observed_events(session, config_dir, now);
    let mut open = session.live_runs().filter(|run| is_a_persons(run));
    open.any(|run| pane_of(run).is_some())
}

/// Returns whether an interface of Codex has the thread open, and not a `codex exec`.
fn is_open_in_codex(paths: &StatePaths, key: &SessionKey) -> bool {
    let Some(rollout) = record_of(paths, key) else { return false };
    codex_rollouts::is_held(&rollout, key.id.as_str())
        && obstacle(paths, key) != Some(QueueObstacle::Exec)
}

/// Returns whether a user has it in a terminal. An unknown state counts as no, because a reply
/// might be held forever otherwise.
fn is_a_persons(run: &Run) -> bool {
    run.host.is_interactive() && liveness(run.process) == Liveness::Alive
}

fn pane_of(run: &Run) -> Option<Pane> {
    Pane::of(|name| run.host.env(name)).filter(Pane::can_be_pasted_into)
}

/// A pane in which a user's Claude waits for the next prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypingPlace {
    pub pane: Pane,
    /// The agent that would read the text.
    pub agent: ProcessKey,
    /// Its terminal, as `/dev/pts/3`, if the system reports it.
    pub terminal: Option<String>,
}

/// Returns where a prompt can be typed now: the agent is idle, and alone reads its terminal. This
/// does not hold while it is suspended (Ctrl-Z) and a shell reads there, while an editor that it
/// has opened does, or when it shows its list of agents or another session.
pub fn place_to_type_into(
    paths: &StatePaths,
    key: &SessionKey,
    config_dir: Option<&Path>,
    now: Timestamp,
) -> Option<TypingPlace> {
    let session = with_observed_events(session_store::read(paths, key)?, config_dir, now);
    let is_ready = |run: &&Run| {
        is_a_persons(run)
            && run.state() == State::Completed
            && !is_out_of_sight(&session, run, config_dir)
    };
    let mut places = session.live_runs().filter(is_ready).filter_map(|run| {
        let pane = pane_of(run)?;
        let held = terminal_holder::held_by(run.process)?;
        Some(TypingPlace { pane, agent: run.process, terminal: held.name })
    });
    places.next()
}

fn is_open_with(
    paths: &StatePaths,
    key: &SessionKey,
    config_dir: Option<&Path>,
    now: Timestamp,
) -> bool {
    if key.agent.takes_queued_prompts() {
        return false;
    }
    let Some(session) = session_store::read(paths, key) else { return false };
    let session = with_observed_events(session, config_dir, now);
    session.live_runs().any(is_a_persons)
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnbridge_core::ids::SessionId;
    use turnbridge_core::replies::reply::ReplyTo;
    use turnbridge_core::replies::reply_plan::ReplyProgress;
    use turnbridge_core::session::RunEnvironment;
    use turnbridge_core::session::event::{Event, EventFacts, EventKind, SessionSource};
    use turnbridge_store::process::identify;

    const ID: &str = "825c8529-ee09-4cb8-8902-dd785b12ca0a";

    fn id() -> SessionId {
        SessionId::parse(ID).unwrap()
    }

    /// Writes a session whose process has begun.
    fn begin(paths: &StatePaths, process: ProcessKey, entrypoint: &str, transcript: &Path) {
        let transcript_path = Some(transcript.to_str().unwrap().to_owned());
        let event = Event {
            session: SessionKey::new(Agent::Claude, id()),
            at: clock::now(),
            process,
            name: "SessionStart".to_owned(),
            agent_id: None,
            facts: EventFacts { transcript_path, ..EventFacts::default() },
            host: Some(RunEnvironment {
                entrypoint: Some(entrypoint.to_owned()),
                ..RunEnvironment::default()
            }),
            kind: EventKind::SessionStarted { source: SessionSource::Fresh },
        };
        session_store::update(Some(paths), &event, None).unwrap();
    }

    fn reply() -> Reply {
        let to = ReplyTo { key: SessionKey::new(Agent::Claude, id()), cwd: None };
        Reply::from_board("r1".into(), "go on".into(), to, Timestamp::default())
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
            let is_open = |agent| {
                let key = SessionKey::new(agent, id());
                is_open_with(&paths, &key, Some(folder.path()), clock::now())
            };
            assert_eq!(is_open(Agent::Claude), expected, "{entrypoint}");
            assert!(!is_open(Agent::Codex));
        }
    }

    /// Returns the found outcome of a run that left this transcript, and this note of an agent.
    fn found_out(records: &str, way: Option<StartedProgram>) -> RunOutcome {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        let transcript = folder.path().join("transcript.jsonl");
        begin(&paths, ProcessKey::UNKNOWN, "sdk-cli", &transcript);
        inbox::accept(&paths, &reply(), clock::now()).unwrap();
        inbox::claim(&paths, "r1", clock::now()).unwrap();
        if let Some(way) = way {
            // No process has this pid.
            inbox::save_agent(&paths, "r1", u32::MAX - 1, way, clock::now()).unwrap();
        }
        let at = clock::now().to_string();
        std::fs::write(&transcript, records.replace("NOW", &at)).unwrap();
        assert_eq!(find_out(&paths, &reply()).unwrap(), RunFinding::Saved);
        match inbox::entry(&paths, "r1").unwrap().unwrap().progress {
            ReplyProgress::Ended(result) => result.outcome,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn after_a_crash_the_transcript_tells_how_far_a_run_has_come() {
        let said = |text: &str| {
            format!(
                "{{\"type\":\"user\",\"uuid\":\"a\",\"timestamp\":\"NOW\",\"message\":{{\"content\":\"{text}\"}}}}\n"
            )
        };
        let ended = "{\"type\":\"assistant\",\"uuid\":\"b\",\"parentUuid\":\"a\",\"timestamp\":\"NOW\",\
            \"message\":{\"model\":\"m\",\"stop_reason\":\"end_turn\",\"content\":[]}}\n";
        let agent = Some(StartedProgram::Agent);
        assert_eq!(found_out(&said("go on"), agent), RunOutcome::Interrupted);
        assert_eq!(found_out(&(said("go on") + ended), agent), RunOutcome::Done);
        assert_eq!(found_out(&said("something else"), agent), RunOutcome::Uncertain);
        // No process was started: the reply was typed into a terminal.
        assert_eq!(found_out(&said("go on"), None), RunOutcome::HandedOver);
        assert_eq!(found_out("", None), RunOutcome::Uncertain);
    }
}
