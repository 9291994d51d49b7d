//! Decides how an event changes a session: the state table. No other code decides a session's
//! state.
//!
//! The same table serves Claude's hooks, Codex's rollouts and observers. It does no input or
//! output: the store locks, reads and writes session files.

use std::time::Duration;

use crate::gate::speak::{SpeakCall, SpeakOutcome, is_speak_prompt};
use crate::session::dialogs::track_dialogs;
use crate::session::event::{Event, EventKind, PaneEnd, ProcessKey, SessionSource};
use crate::session::{Activity, Addition, Detail, Prompt, Run, Session, SessionEnd, Turn};
use crate::timestamp::Timestamp;

/// The limit of lateness. An event older than the last one by at most this came late: it changes
/// dialogs and speech, but no activity. If it is older by more, the clock was set back, and it
/// counts.
pub const LATE: Duration = Duration::from_secs(10);

/// The limit of runs per session. Outside tests no session has more live processes.
const MAX_RUNS: usize = 32;

/// The effect of an event on the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEffect {
    Applied,
    /// The event came late and changed no state. Its reports of speech and ends were kept.
    Late,
    /// The event concerns no process that could change: a sub-agent of an unknown session, or an
    /// event of a process that has ended.
    Ignored,
}

/// Returns the session after an event, and the event's effect.
pub fn advance(mut session: Session, event: &Event) -> (Session, SessionEffect) {
    let Some(index) = run_of(&mut session, event) else {
        return (session, SessionEffect::Ignored);
    };
    let run = &mut session.runs[index];
    if is_told_again(run, event) {
        return (session, SessionEffect::Ignored);
    }
    let before = (run.state(), run.detail().cloned());
    let order = order_of(run, event);
    // Only in-time events of the agent itself move its activity and its clock.
    let is_its_own = order == EventOrder::InTime && event.agent_id.is_none();
    note_speaks(&mut run.turn, event);
    track_dialogs(run, event, order);
    if is_its_own {
        begin_turn(run, event);
        run.activity = next_activity(run, event);
        note_end(run, event);
    }
    let has_changed = before != (run.state(), run.detail().cloned());
    // A sub-agent that changes no state is no sign of life of its parent: after Esc a background
    // agent may run on for long.
    if !has_changed && !is_its_own {
        let effect =
            if order == EventOrder::Late { SessionEffect::Late } else { SessionEffect::Applied };
        return (session, effect);
    }
    if order == EventOrder::InTime {
        run.last_at = event.at;
    }
    if has_changed {
        run.since = run.last_at;
    }
    run.last_event.clone_from(&event.name);
    note_host(run, event);
    session.sequence += 1;
    run.sequence = session.sequence;
    if is_its_own {
        merge_facts(&mut session, event);
    }
    drop_old_runs(&mut session);
    (session, SessionEffect::Applied)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventOrder {
    InTime,
    Late,
}

/// Returns the order of an event. The end of a run is never late: no earlier event of its process
/// can follow it. Nor is the end of the open turn, or the next prompt: if older, the clock was set
/// back.
fn order_of(run: &Run, event: &Event) -> EventOrder {
    let is_goodbye = matches!(
        event.kind,
        EventKind::RunEnded { .. } | EventKind::ProcessGone | EventKind::PaneLeft { .. }
    );
    let is_late = event.at < run.last_at && run.last_at.since(event.at) <= LATE;
    if is_late && !is_goodbye && !is_next_of_turn(&run.turn, event) {
        EventOrder::Late
    } else {
        EventOrder::InTime
    }
}

/// Returns whether the event ends the open turn, or begins another after its end, by ids.
fn is_next_of_turn(turn: &Turn, event: &Event) -> bool {
    let Some(id) = event.facts.prompt_id.as_ref().filter(|_| event.agent_id.is_none()) else {
        return false;
    };
    match event.kind {
        EventKind::TurnEnded { .. }
        | EventKind::TurnFailed { .. }
        | EventKind::StopBlocked { .. } => !turn.is_over && turn.prompt_id.as_ref() == Some(id),
        EventKind::PromptSubmitted { .. } => turn.is_over && is_other_turn(turn, event),
        _ => false,
    }
}

/// Returns whether the event names another turn than the known one. At the end of a turn this means
/// that the hook of its prompt was killed, or did not run.
pub fn is_other_turn(turn: &Turn, event: &Event) -> bool {
    let ids = (&turn.prompt_id, &event.facts.prompt_id);
    event.session.agent.ends_turns_as_they_began()
        && matches!(ids, (Some(known), Some(named)) if known != named)
}

/// Returns whether the event is a prompt that was typed while a turn ran, and belongs to that turn
/// (LIVE-8).
pub fn is_addition(run: &Run, event: &Event) -> bool {
    let ids = (&run.turn.prompt_id, &event.facts.prompt_id);
    event.session.agent.adds_prompts_to_the_open_turn()
        && event.agent_id.is_none()
        && matches!(event.kind, EventKind::PromptSubmitted { .. })
        && matches!(ids, (Some(open), Some(named)) if open == named)
        && run.turn.prompt.is_some()
        && run.activity == Activity::Working
        && !run.turn.is_over
}

/// Returns whether this end was reported before. A Codex turn's Stop hook and rollout both report
/// it; the first counts.
fn is_told_again(run: &Run, event: &Event) -> bool {
    let is_end = matches!(event.kind, EventKind::TurnEnded { .. } | EventKind::TurnFailed { .. });
    is_end && run.turn.is_over && run.activity != Activity::Working && is_same_turn(run, event)
}

fn is_same_turn(run: &Run, event: &Event) -> bool {
    let id = &event.facts.prompt_id;
    event.session.agent.names_turns_once() && id.is_some() && run.turn.prompt_id == *id
}

/// Returns the event's run, and adds it if it is new. Returns `None` if the event concerns no run
/// that could change: a sub-agent revives no run, and an ended run does not end twice.
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

/// Returns whether the event revives an ended run: only if the user came back to its session.
fn can_revive(event: &Event) -> bool {
    event.agent_id.is_none()
        && matches!(
            event.kind,
            EventKind::SessionStarted { .. }
                | EventKind::TurnStarted
                | EventKind::PromptSubmitted { .. }
        )
}

fn can_begin(event: &Event) -> bool {
    let observed = matches!(
        event.kind,
        EventKind::Interrupted
            | EventKind::DialogSeen
            | EventKind::DialogsClosed
            | EventKind::ProcessGone
            | EventKind::PaneLeft { .. }
    );
    event.agent_id.is_none() && !observed
}

fn begin_run(session: &mut Session, event: &Event) -> usize {
    session.runs.push(Run {
        process: event.process,
        started_at: event.at,
        activity: Activity::Completed(None),
        waits: Vec::new(),
        calls: Vec::new(),
        since: event.at,
        last_event: event.name.clone(),
        last_at: event.at,
        sequence: session.sequence,
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

/// Returns the agent's activity after one of its events.
fn next_activity(run: &Run, event: &Event) -> Activity {
    let completed = |detail| Activity::Completed(Some(detail));
    match &event.kind {
        EventKind::SessionStarted { source: SessionSource::Fresh } => Activity::Completed(None),
        // Compaction during a turn: the turn continues.
        EventKind::SessionStarted { source: SessionSource::Compact } => match run.activity {
            Activity::Working => Activity::Working,
            Activity::Completed(_) => Activity::Completed(None),
        },
        EventKind::TurnStarted
        | EventKind::PromptSubmitted { .. }
        | EventKind::ToolStarting { .. }
        | EventKind::ToolEnded { .. }
        | EventKind::ToolBatchEnded { .. }
        | EventKind::DialogOpened { .. }
        | EventKind::DialogAnswered { .. }
        | EventKind::StopBlocked { .. } => Activity::Working,
        EventKind::TurnEnded { .. } => completed(Detail::Ok),
        EventKind::TurnFailed { error, .. } => completed(Detail::Failed { error: error.clone() }),
        EventKind::Interrupted => match &run.activity {
            Activity::Working => completed(Detail::Interrupted),
            at_rest @ Activity::Completed(_) => at_rest.clone(),
        },
        EventKind::Notified { .. }
        | EventKind::SubagentStarted
        | EventKind::SubagentEnded
        | EventKind::DialogSeen
        | EventKind::DialogsClosed
        | EventKind::RunEnded { .. }
        | EventKind::ProcessGone
        | EventKind::PaneLeft { .. } => run.activity.clone(),
    }
}

fn begin_turn(run: &mut Run, event: &Event) {
    let prompt = match &event.kind {
        EventKind::PromptSubmitted { prompt } => prompt,
        EventKind::TurnStarted => {
            run.turn = Turn {
                prompt_id: event.facts.prompt_id.clone(),
                prompt: run.turn.next_prompt(),
                started_at: Some(event.at),
                ..Turn::default()
            };
            run.background_tasks.clear();
            return;
        }
        EventKind::ToolStarting { .. } => return begin_unasked(run, event),
        // The agent receives the earlier additions with the results of these tools.
        EventKind::ToolBatchEnded { .. } => {
            return run.turn.additions.iter_mut().for_each(|addition| addition.is_read = true);
        }
        _ => return,
    };
    if is_addition(run, event) {
        return add(&mut run.turn, prompt, event);
    }
    if is_awaiting_prompt(run) {
        run.turn.prompt = Some(Prompt::head_of(prompt));
        return;
    }
    let prompt_id = event.facts.prompt_id.clone();
    let typed = is_speak_prompt(prompt).then(|| SpeakCall {
        at: event.at,
        prompt_id: prompt_id.clone(),
        outcome: SpeakOutcome::Spoken,
    });
    run.turn = Turn {
        prompt_id,
        prompt: Some(Prompt::head_of(prompt)),
        started_at: Some(event.at),
        speaks: typed.into_iter().collect(),
        ..Turn::default()
    };
    run.background_tasks.clear();
}

/// The limit of stored additions: the first and the last few are enough.
const MOST_ADDITIONS: usize = 16;

fn add(turn: &mut Turn, prompt: &str, event: &Event) {
    turn.additions.push(Addition { prompt: Prompt::head_of(prompt), is_read: false });
    if turn.additions.len() > MOST_ADDITIONS {
        turn.additions.remove(MOST_ADDITIONS / 2);
    }
    if is_speak_prompt(prompt) {
        let prompt_id = event.facts.prompt_id.clone();
        turn.speaks.push(SpeakCall { at: event.at, prompt_id, outcome: SpeakOutcome::Spoken });
    }
}

/// Begins a turn whose prompt no hook reports, because it was typed during the turn before, and the
/// hook was called for that turn. That turn has ended, or was interrupted.
fn begin_unasked(run: &mut Run, event: &Event) {
    let has_ended = run.turn.is_over || run.turn.has_unread();
    if has_ended && is_other_turn(&run.turn, event) {
        let ended_at = run.last_at;
        run.turn = next_turn(&run.turn, event, ended_at);
        run.background_tasks.clear();
    }
}

fn next_turn(turn: &Turn, event: &Event, ended_at: Timestamp) -> Turn {
    let prompt = turn.next_prompt();
    let started_at = prompt.is_some().then_some(ended_at);
    Turn { prompt_id: event.facts.prompt_id.clone(), prompt, started_at, ..Turn::default() }
}

/// Returns whether the turn began with `TurnStarted`, so that the next prompt is its prompt.
fn is_awaiting_prompt(run: &Run) -> bool {
    let turn = &run.turn;
    run.activity == Activity::Working
        && turn.started_at.is_some()
        && turn.prompt.is_none()
        && !turn.is_over
}

fn note_end(run: &mut Run, event: &Event) {
    let end = |reason: &str| Some(SessionEnd { at: event.at, reason: reason.to_owned() });
    match &event.kind {
        EventKind::TurnEnded { background_tasks, stop_hook_active, .. } => {
            let is_continued = *stop_hook_active || is_same_turn(run, event);
            begin_without_prompt(run, event, is_continued);
            run.turn.is_over = true;
            run.background_tasks.clone_from(background_tasks);
        }
        EventKind::TurnFailed { .. } => {
            let is_continued = is_same_turn(run, event);
            begin_without_prompt(run, event, is_continued);
            run.turn.is_over = true;
        }
        EventKind::StopBlocked { .. } => {
            begin_without_prompt(run, event, false);
            run.turn.is_reminded = true;
        }
        EventKind::RunEnded { reason } => run.ended = end(reason),
        EventKind::ProcessGone => run.ended = end("process gone"),
        EventKind::PaneLeft { why: PaneEnd::PromptReturned } => {
            run.ended = end("prompt returned");
        }
        EventKind::PaneLeft { why: PaneEnd::Closed } => run.ended = end("pane closed"),
        _ => {}
    }
}

/// Begins a turn whose end is its first event. A turn that ends twice was continued by a Stop hook,
/// or it is another turn that began without a prompt (`!command`); the last prompt is not that
/// turn's prompt. The same holds if the turn that ends has another id.
fn begin_without_prompt(run: &mut Run, event: &Event, is_continued: bool) {
    let (turn, ended_at) = (&mut run.turn, run.last_at);
    let is_other = is_other_turn(turn, event);
    if is_other || turn.is_over && !is_continued {
        let mut speaks = std::mem::take(&mut turn.speaks);
        speaks.retain(|call| is_other && call.prompt_id == event.facts.prompt_id);
        let next = match is_other {
            true => next_turn(turn, event, ended_at),
            false => Turn { prompt_id: event.facts.prompt_id.clone(), ..Turn::default() },
        };
        *turn = Turn { speaks, ..next };
    }
}

/// Adds the facts of an event's second report: only the plugin's hook knows the plugin.
pub fn note_twin(session: &mut Session, event: &Event) {
    if let Some(run) = session.runs.iter_mut().find(|run| run.process == event.process) {
        note_host(run, event);
    }
}

fn note_host(run: &mut Run, event: &Event) {
    let Some(host) = &event.host else { return };
    let plugin = host.plugin.clone().or_else(|| run.host.plugin.take());
    if run.host != *host {
        run.host.clone_from(host);
    }
    run.host.plugin = plugin;
}

/// Stores speech, also from a late event: parallel tools finish in any order, and the Stop gate
/// must not ask for speech that has happened. A sub-agent's speech is not the agent's.
fn note_speaks(turn: &mut Turn, event: &Event) {
    if event.agent_id.is_some() {
        return;
    }
    match &event.kind {
        EventKind::ToolEnded { speak: Some(call), .. } => turn.speaks.push(call.clone()),
        EventKind::ToolBatchEnded { speaks } => {
            // The batch repeats the calls that ran: they are new only if no other event reported
            // them.
            let told = turn.speaks.iter().any(|call| call.outcome != SpeakOutcome::Refused);
            if !told {
                turn.speaks.extend(speaks.iter().cloned());
            }
        }
        _ => {}
    }
    // The first few and the last few are enough.
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

/// Returns the processes of live runs, other than `own`, that may have been killed: a killed
/// process reported no end, so the caller should check them.
pub fn runs_to_check(session: &Session, own: ProcessKey) -> Vec<ProcessKey> {
    let unknown = |process: &ProcessKey| *process != ProcessKey::UNKNOWN && *process != own;
    session.live_runs().map(|run| run.process).filter(unknown).collect()
}

#[cfg(test)]
mod tests;
