//! Finds changes of a session that no hook reports: Esc, an approved dialog, a dialog without a
//! hook, a turn whose prompt was typed during the one before, a killed process, and for Codex the
//! end of a turn in its rollout.
//!
//! Each change is returned as an event, and `advance` in the core decides on the new state. The
//! daemon writes it to the session's file. Readers apply the events to their own copy, so that it
//! is correct without a daemon too. A missing sign never counts as a change.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use turnbridge_core::agents::agent_differences::LifeSign;
use turnbridge_core::agents::claude::claude_process_wire::{
    ProcessObservation, observe_claude_process, shows_something_else,
};
use turnbridge_core::agents::claude::transcript_wire::last_interruption;
use turnbridge_core::ids::SessionKey;
use turnbridge_core::session::advance::advance;
use turnbridge_core::session::event::{Event, EventFacts, EventKind};
use turnbridge_core::session::{Run, Session, State};
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::foreign::codex_lock::{self, ThreadWriter};
use turnbridge_store::foreign::codex_rollouts;
use turnbridge_store::process::{Liveness, liveness};

/// The size of the end that is read: enough for the records that Claude writes after an
/// interruption, tool result included.
const TAIL: u64 = 64 << 10;

/// Returns the current session: the state in its file, and the later changes without a hook.
/// `config_dir` is Claude's folder for runs that were started without `CLAUDE_CONFIG_DIR`.
pub fn with_observed_events(
    mut session: Session,
    config_dir: Option<&Path>,
    now: Timestamp,
) -> Session {
    // One may follow from another: after Esc, a prompt that was typed before begins a turn.
    for _ in 0..2 {
        let events = observed_events(&session, config_dir, now);
        if events.is_empty() {
            break;
        }
        session = events.iter().fold(session, |session, event| advance(session, event).0);
    }
    session
}

/// Returns the changes since the session's file was written: at most one for each of its live runs.
pub fn observed_events(session: &Session, config_dir: Option<&Path>, now: Timestamp) -> Vec<Event> {
    let signal = |run: &Run| {
        let (kind, at) = signal_of(session, run, config_dir, now)?;
        Some(event(session, run, kind, at))
    };
    session.live_runs().filter_map(signal).collect()
}

fn signal_of(
    session: &Session,
    run: &Run,
    config_dir: Option<&Path>,
    now: Timestamp,
) -> Option<(EventKind, Timestamp)> {
    match session.key.agent.life_sign() {
        LifeSign::Process => claude_signal(session, run, config_dir, now),
        LifeSign::WriterLock => codex_signal(session, run),
    }
}

fn claude_signal(
    session: &Session,
    run: &Run,
    config_dir: Option<&Path>,
    now: Timestamp,
) -> Option<(EventKind, Timestamp)> {
    if liveness(run.process) == Liveness::Gone {
        // The time of its death is unknown, but it is not before its last event.
        return Some((EventKind::ProcessGone, run.last_at));
    }
    match observe_claude_process(&note_of(run, config_dir), &session.key.id, run, now) {
        ProcessObservation::Happened(kind, at) => Some((kind, at)),
        // There is no note, or it is about something else: a settings panel is open.
        ProcessObservation::Nothing if !is_busy(run) => None,
        ProcessObservation::Nothing => {
            let tail = read_tail(Path::new(session.transcript_path.as_deref()?))?;
            let at = last_interruption(&tail).filter(|at| *at > run.last_at)?;
            Some((EventKind::Interrupted, at))
        }
    }
}

/// Returns Claude's note of the run's process; empty if there is none.
fn note_of(run: &Run, config_dir: Option<&Path>) -> Vec<u8> {
    note_path(run, config_dir).and_then(|path| fs::read(path).ok()).unwrap_or_default()
}

/// Returns the path of Claude's note.
pub(super) fn note_path(run: &Run, config_dir: Option<&Path>) -> Option<PathBuf> {
    let folder = run.host.config_dir.as_deref().map(Path::new).or(config_dir)?;
    Some(folder.join("sessions").join(format!("{}.json", run.process.pid)))
}

/// Returns whether the run's terminal shows something other than its session, according to Claude's
/// note.
pub fn is_out_of_sight(session: &Session, run: &Run, config_dir: Option<&Path>) -> bool {
    shows_something_else(&note_of(run, config_dir), &session.key.id, run.process)
}

/// Finds the signal of a Codex run: the rollout contains how a turn ended, and the writer's lock
/// shows whether a process carries the thread.
fn codex_signal(session: &Session, run: &Run) -> Option<(EventKind, Timestamp)> {
    let rollout = Path::new(session.transcript_path.as_deref()?);
    let end = is_busy(run).then(|| codex_rollouts::last_end(rollout)).flatten();
    if let Some(end) = end.filter(|end| end.at > run.last_at) {
        return Some((end.kind, end.at));
    }
    let home = codex_rollouts::home_of(rollout)?;
    let is_gone = match codex_lock::writer(&home, session.key.id.as_str()) {
        ThreadWriter::Free => true,
        ThreadWriter::Held => is_left(rollout, session, run),
        ThreadWriter::Unknown => false,
    };
    is_gone.then_some((EventKind::ProcessGone, run.last_at))
}

/// Returns whether the run was in a turn when its Codex was killed, and another Codex has opened
/// the thread since.
pub fn is_left(rollout: &Path, session: &Session, run: &Run) -> bool {
    let open_since = || {
        let home = codex_rollouts::home_of(rollout)?;
        codex_lock::opened_at(&home, session.key.id.as_str())
    };
    // A hook may be ahead of the rollout.
    is_busy(run)
        && open_since().is_some_and(|since| since > run.last_at)
        && codex_rollouts::is_turn_left(rollout, session.key.id.as_str())
}

fn is_busy(run: &Run) -> bool {
    matches!(run.state(), State::Working | State::WaitingUser)
}

fn read_tail(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn event(session: &Session, run: &Run, kind: EventKind, at: Timestamp) -> Event {
    let name = match kind {
        EventKind::ProcessGone => "ProcessGone",
        EventKind::DialogsClosed => "DialogsClosed",
        EventKind::DialogSeen => "DialogOpened",
        EventKind::TurnStarted => "TurnStarted",
        EventKind::TurnEnded { .. } | EventKind::TurnFailed { .. } => "task_complete",
        _ => "Interrupted",
    };
    Event {
        session: SessionKey::new(session.key.agent, session.key.id.clone()),
        at,
        process: run.process,
        name: name.to_owned(),
        agent_id: None,
        facts: EventFacts::default(),
        host: None,
        kind,
    }
}
