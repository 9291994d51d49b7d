//! The one state table: what an event makes of a session. Nothing else decides state.
//!
//! Pure. Claiming, locks and files are the store's; what an event means is decided here for
//! Claude's hooks, Codex's rollouts and what observers see alike.

use std::time::Duration;

use crate::event::{Event, EventKind, NotificationKind, ProcessKey, SessionSource};
use crate::session::{Detail, Ended, Prompt, Run, Session, State, Turn, Waiting};
use crate::speak::{SpeakCall, SpeakOutcome, is_speak_prompt};
use crate::timestamp::Timestamp;

/// An event that is older than the last one by up to this came late and is dropped; by more,
/// the clock was set back, and it counts.
pub const LATE: Duration = Duration::from_secs(10);

/// Claude sends its dialog notifications six seconds after the dialog. An event that is newer
/// than the dialog (with half a second for the way of both) has overtaken the notification.
const NOTIFICATION_DELAY: Duration = Duration::from_millis(5_500);

/// Runs kept of one session. A session with more live processes does not exist outside tests.
const MAX_RUNS: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Applied,
    /// Came late: it changed no state, though what it reports of speech and ends was kept.
    Late,
}

pub fn advance(mut session: Session, event: &Event) -> (Session, Effect) {
    let Some(index) = run_of(&mut session, event) else {
        return (session, Effect::Applied);
    };
    let run = &mut session.runs[index];
    note_speaks(&mut run.turn, &event.kind, event.agent_id.is_some());
    let ends_run = matches!(event.kind, EventKind::RunEnded { .. } | EventKind::ProcessGone);
    if !ends_run && is_late(event.at, run.last_at) {
        return (session, Effect::Late);
    }
    if event.agent_id.is_none() {
        merge_facts(&mut session, event);
    }
    apply(&mut session, index, event);
    drop_old_runs(&mut session);
    (session, Effect::Applied)
}

fn is_late(at: Timestamp, last: Timestamp) -> bool {
    at < last && last.since(at) <= LATE
}

/// The run that the event belongs to, made when it is new. `None`: the event concerns no run
/// that could change (a sub-agent revives nobody, the dead do not die twice).
fn run_of(session: &mut Session, event: &Event) -> Option<usize> {
    let known = session.runs.iter().position(|run| run.process == event.process);
    match known {
        Some(index) if session.runs[index].ended.is_none() => Some(index),
        Some(index) if can_revive(event) => {
            session.runs.remove(index);
            Some(begin_run(session, event))
        }
        None if can_begin(event) => Some(begin_run(session, event)),
        Some(_) | None => None,
    }
}

/// After its end a process speaks of the session again only when the user came back to it.
fn can_revive(event: &Event) -> bool {
    event.agent_id.is_none()
        && matches!(
            event.kind,
            EventKind::SessionStarted { .. } | EventKind::PromptSubmitted { .. }
        )
}

fn can_begin(event: &Event) -> bool {
    let observed =
        matches!(event.kind, EventKind::Interrupted | EventKind::Resumed | EventKind::ProcessGone);
    event.agent_id.is_none() && !observed
}

fn begin_run(session: &mut Session, event: &Event) -> usize {
    session.runs.push(Run {
        process: event.process,
        started_at: event.at,
        state: State::Completed,
        detail: None,
        since: event.at,
        last_event: event.name.clone(),
        last_at: event.at,
        sequence: session.sequence,
        waiting: None,
        turn: Turn::default(),
        background_tasks: Vec::new(),
        host: event.host.clone().unwrap_or_default(),
        ended: None,
    });
    session.runs.len() - 1
}

fn merge_facts(session: &mut Session, event: &Event) {
    let facts = &event.facts;
    let merge = |old: &mut Option<String>, new: &Option<String>| {
        if new.is_some() {
            old.clone_from(new);
        }
    };
    merge(&mut session.cwd, &facts.cwd);
    merge(&mut session.transcript_path, &facts.transcript_path);
    merge(&mut session.permission_mode, &facts.permission_mode);
    merge(&mut session.model, &facts.model);
}

fn apply(session: &mut Session, index: usize, event: &Event) {
    let run = &mut session.runs[index];
    let next = next_status(run, event);
    let is_subagent = event.agent_id.is_some();
    // A sub-agent that changes nothing is no sign of life of its parent either: after Esc a
    // background agent may go on for long.
    if is_subagent && next.is_none() {
        return;
    }
    if let Some(host) = &event.host
        && *host != run.host
    {
        run.host = host.clone();
    }
    session.sequence += 1;
    run.sequence = session.sequence;
    run.last_at = event.at;
    run.last_event.clone_from(&event.name);
    if let Some(next) = next {
        if run.state != next.state || run.detail != next.detail {
            run.since = event.at;
        }
        run.state = next.state;
        run.detail = next.detail;
        run.waiting = next.waiting;
    }
    match &event.kind {
        EventKind::PromptSubmitted { prompt } => {
            run.turn = Turn {
                prompt_id: event.facts.prompt_id.clone(),
                prompt: Some(Prompt::head_of(prompt)),
                started_at: Some(event.at),
                speaks: Vec::new(),
            };
            run.background_tasks.clear();
            if is_speak_prompt(prompt) {
                run.turn.speaks.push(SpeakCall {
                    at: event.at,
                    prompt_id: event.facts.prompt_id.clone(),
                    outcome: SpeakOutcome::Spoken,
                });
            }
        }
        EventKind::TurnEnded { background_tasks, .. } => {
            run.background_tasks.clone_from(background_tasks);
        }
        EventKind::RunEnded { reason } => end_run(run, event.at, reason),
        EventKind::ProcessGone => end_run(run, event.at, "process gone"),
        _ => {}
    }
}

fn end_run(run: &mut Run, at: Timestamp, reason: &str) {
    run.ended = Some(Ended { at, reason: reason.to_owned() });
}

struct Status {
    state: State,
    detail: Option<Detail>,
    waiting: Option<Waiting>,
}

impl Status {
    const fn of(state: State) -> Option<Status> {
        Some(Status { state, detail: None, waiting: None })
    }

    const fn completed(detail: Detail) -> Option<Status> {
        Some(Status { state: State::Completed, detail: Some(detail), waiting: None })
    }

    fn waiting(tool: Option<&str>, agent_id: Option<&str>) -> Option<Status> {
        let waiting =
            Waiting { tool: tool.map(str::to_owned), agent_id: agent_id.map(str::to_owned) };
        Some(Status { state: State::WaitingUser, detail: None, waiting: Some(waiting) })
    }
}

/// THE table. `None`: the event changes nothing.
fn next_status(run: &Run, event: &Event) -> Option<Status> {
    let agent_id = event.agent_id.as_deref();
    if agent_id.is_some() {
        return next_status_by_subagent(run, event);
    }
    match &event.kind {
        EventKind::SessionStarted { source: SessionSource::Fresh } => Status::of(State::Completed),
        // Compaction in the middle of a turn: the turn goes on.
        EventKind::SessionStarted { source: SessionSource::Compact } => match run.state {
            State::Working | State::WaitingUser => None,
            State::Completed | State::Stopped => Status::of(State::Completed),
        },
        EventKind::PromptSubmitted { .. } => Status::of(State::Working),
        EventKind::ToolStarting { tool, .. } if asks_the_user(tool) => {
            Status::waiting(Some(tool), None)
        }
        EventKind::ToolStarting { tool, .. } | EventKind::ToolEnded { tool, .. } => {
            // With parallel calls others go on while one's dialog is open.
            if run.is_waiting_for_another(tool, None) { None } else { Status::of(State::Working) }
        }
        EventKind::ToolBatchEnded { .. } | EventKind::DialogAnswered => Status::of(State::Working),
        EventKind::DialogOpened { tool } => Status::waiting(tool.as_deref(), None),
        EventKind::Notified { kind: NotificationKind::DialogOpen } => {
            let overtaken = run.last_at > event.at.minus(NOTIFICATION_DELAY);
            match run.state {
                State::WaitingUser => None,
                _ if overtaken => None,
                _ => Status::waiting(None, None),
            }
        }
        EventKind::Notified { kind: NotificationKind::Idle | NotificationKind::Other } => None,
        EventKind::TurnEnded { .. } => Status::completed(Detail::Ok),
        EventKind::TurnFailed { error, .. } => {
            Status::completed(Detail::Failed { error: error.clone() })
        }
        EventKind::Interrupted => match run.state {
            State::Working | State::WaitingUser => Status::completed(Detail::Interrupted),
            State::Completed | State::Stopped => None,
        },
        EventKind::Resumed => match run.state {
            State::WaitingUser => Status::of(State::Working),
            State::Working | State::Completed | State::Stopped => None,
        },
        EventKind::RunEnded { .. } | EventKind::ProcessGone => Status::of(State::Stopped),
        EventKind::SubagentStarted | EventKind::SubagentEnded => None,
    }
}

/// A sub-agent never starts, revives or ends its parent's turn. But its dialog is one for the
/// same user, so it is shown while the parent is at work, until that very agent goes on.
fn next_status_by_subagent(run: &Run, event: &Event) -> Option<Status> {
    let agent_id = event.agent_id.as_deref();
    let waits_for_it = run.waiting.as_ref().is_some_and(|waiting| {
        waiting.agent_id.is_some() && waiting.agent_id.as_deref() == agent_id
    });
    match (&event.kind, run.state) {
        (EventKind::DialogOpened { tool }, State::Working) => {
            Status::waiting(tool.as_deref(), agent_id)
        }
        (EventKind::ToolStarting { tool, .. } | EventKind::ToolEnded { tool, .. }, _)
            if waits_for_it && !run.is_waiting_for_another(tool, agent_id) =>
        {
            Status::of(State::Working)
        }
        (
            EventKind::ToolBatchEnded { .. } | EventKind::DialogAnswered | EventKind::SubagentEnded,
            _,
        ) if waits_for_it => Status::of(State::Working),
        _ => None,
    }
}

/// Tools that are themselves a dialog; PermissionRequest does not always tell of them (TV-20).
fn asks_the_user(tool: &str) -> bool {
    matches!(tool, "AskUserQuestion" | "ExitPlanMode")
}

impl Run {
    fn is_waiting_for_another(&self, tool: &str, agent_id: Option<&str>) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| {
            waiting.agent_id.as_deref() != agent_id
                || waiting.tool.as_deref().is_some_and(|other| other != tool)
        })
    }
}

/// Speech is kept even from an event that came late: parallel tools finish in any order, and
/// the Stop gate must not ask for what was done. A sub-agent's speech is not the agent's.
fn note_speaks(turn: &mut Turn, kind: &EventKind, is_subagent: bool) {
    if is_subagent {
        return;
    }
    match kind {
        EventKind::ToolEnded { speak: Some(call), .. } => turn.speaks.push(call.clone()),
        EventKind::ToolBatchEnded { speaks } => {
            // The batch repeats the calls that ran; only those that nothing else told of are new.
            let told = turn.speaks.iter().any(|call| call.outcome != SpeakOutcome::Refused);
            if !told {
                turn.speaks.extend(speaks.iter().cloned());
            }
        }
        _ => {}
    }
    // The first few and the last few are as good as thousands.
    if turn.speaks.len() > 16 {
        turn.speaks.remove(8);
    }
}

fn drop_old_runs(session: &mut Session) {
    let last_ended = session
        .runs
        .iter()
        .filter(|run| run.ended.is_some())
        .max_by_key(|run| run.sequence)
        .map(|run| run.process);
    session.runs.retain(|run| run.ended.is_none() || Some(run.process) == last_ended);
    while session.runs.len() > MAX_RUNS {
        let oldest = (0..session.runs.len()).min_by_key(|index| session.runs[*index].sequence);
        session.runs.remove(oldest.unwrap_or(0));
    }
}

/// The runs other than the caller's own whose process the caller should look for: one that was
/// killed never said goodbye.
pub fn runs_to_check(session: &Session, own: ProcessKey) -> Vec<ProcessKey> {
    let unknown = |process: &ProcessKey| *process != ProcessKey::UNKNOWN && *process != own;
    session.live_runs().map(|run| run.process).filter(unknown).collect()
}

#[cfg(test)]
mod tests;
