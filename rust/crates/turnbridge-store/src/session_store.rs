//! The session files. `update` is the only function that changes one.

use std::fs;
use std::io;
use std::time::Duration;

use turnbridge_core::advance::{Effect, advance, note_twin, runs_to_check};
use turnbridge_core::claim::{Claim, Verdict};
use turnbridge_core::event::{Event, EventKind, ProcessKey};
use turnbridge_core::ids::{SessionId, Tool};
use turnbridge_core::session::{Session, State};
use turnbridge_core::session_wire::{read_session, write_session};
use turnbridge_core::turn_wire::TurnRecord;
use turnbridge_core::version_wire::{NEWER, is_newer};

use crate::atomic_file::write_atomically;
use crate::file_lock::FileLock;
use crate::paths::StatePaths;
use crate::process::{Liveness, liveness};
use crate::sinks;
use crate::turn_store;

/// Two hundred hooks at once take a fraction of this on a machine with nothing else to do. Only
/// a holder that was suspended could make us wait all of it: whoever is killed lets go.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);

/// Applies one event: lock, read, claim, advance, turn record, session file, sinks.
///
/// Without a writable home the sinks are still served, from what can be known then. `Err` only
/// when another process holds the session for longer than a hook may wait.
pub fn update(
    paths: Option<&StatePaths>,
    event: &Event,
    claim: Option<Claim>,
) -> Result<Updated, String> {
    let mut problems = Vec::new();
    let lock = match paths {
        Some(paths) => lock_session(paths, event, &mut problems)?,
        None => None,
    };
    let loaded = match paths {
        Some(paths) => load(paths, event.tool, &event.session_id, &mut problems),
        None => Loaded::Nothing,
    };
    // Files are written only under the lock; without one, what is there is still worth reading.
    let writable = paths.filter(|_| lock.is_some() && !matches!(loaded, Loaded::Newer));
    let mut session = match loaded {
        Loaded::Known(session) => *session,
        _ => Session::new(event.tool, event.session_id.clone(), event.at),
    };
    if let Some(claim) = claim
        && session.claims.claim(claim) == Verdict::Twin
    {
        note_twin(&mut session, event);
        save(writable, &session, &mut problems);
        return Ok(Updated { is_twin: true, problems, turn: None });
    }
    let before = session.current_run().map(|_| session.state());
    let session = end_dead_runs(writable, session, event, &mut problems);
    let Applied { session, effect, turn } = apply(writable, session, event, &mut problems);
    // What concerns nobody we know makes no session.
    if !session.runs.is_empty() {
        save(writable, &session, &mut problems);
    }
    if effect == Effect::Applied {
        publish(before, &session, event, &mut problems);
    }
    drop(lock);
    Ok(Updated { is_twin: false, problems, turn })
}

#[derive(Debug)]
pub struct Updated {
    /// The other registration of this event has done all there was to do.
    pub is_twin: bool,
    /// What went wrong on the way without stopping it, for the log.
    pub problems: Vec<String>,
    /// The turn that has ended by it.
    pub turn: Option<TurnRecord>,
}

struct Applied {
    session: Session,
    effect: Effect,
    turn: Option<TurnRecord>,
}

/// Advances the session and keeps the turn that ended by it.
fn apply(
    writable: Option<&StatePaths>,
    session: Session,
    event: &Event,
    problems: &mut Vec<String>,
) -> Applied {
    let mut note = |error: io::Error| problems.push(format!("turn record: {error}"));
    if let Some(paths) = writable
        && let Err(error) = turn_store::record_abandoned(paths, &session, event)
    {
        note(error);
    }
    let (session, effect) = advance(session, event);
    let mut turn = None;
    if effect == Effect::Applied
        && let Some(paths) = writable
    {
        turn = turn_store::record(paths, &session, event).unwrap_or_else(|error| {
            note(error);
            None
        });
    }
    Applied { session, effect, turn }
}

/// One session as it is now, without waiting for anybody. `None`: it is not known.
pub fn read(paths: &StatePaths, tool: Tool, id: &SessionId) -> Option<Session> {
    match load(paths, tool, id, &mut Vec::new()) {
        Loaded::Known(session) => Some(*session),
        Loaded::Newer | Loaded::Nothing => None,
    }
}

/// Every session that has a readable file, in no order.
pub fn read_all(paths: &StatePaths) -> io::Result<Vec<Session>> {
    let entries = match fs::read_dir(paths.sessions_dir()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut sessions = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.ends_with(".json")
            && !name.starts_with('.')
            && let Some(session) = fs::read(&path).ok().and_then(|bytes| read_session(&bytes))
        {
            sessions.push(session);
        }
    }
    Ok(sessions)
}

fn lock_session(
    paths: &StatePaths,
    event: &Event,
    problems: &mut Vec<String>,
) -> Result<Option<FileLock>, String> {
    let path = paths.session_lock(event.tool, &event.session_id);
    match FileLock::acquire(&path, LOCK_PATIENCE) {
        Ok(lock) => Ok(Some(lock)),
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            Err("the session's lock was not to be had".to_owned())
        }
        Err(error) => {
            problems.push(format!("session lock: {error}"));
            Ok(None)
        }
    }
}

enum Loaded {
    Known(Box<Session>),
    /// Another version's own business.
    Newer,
    Nothing,
}

fn load(paths: &StatePaths, tool: Tool, id: &SessionId, problems: &mut Vec<String>) -> Loaded {
    let bytes = match fs::read(paths.session_file(tool, id)) {
        Ok(bytes) => bytes,
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                problems.push(format!("session file: {error}"));
            }
            return Loaded::Nothing;
        }
    };
    match read_session(&bytes).filter(|session| session.id == *id) {
        Some(session) => Loaded::Known(Box::new(session)),
        None if is_newer(&bytes) => {
            problems.push(format!("session file: {NEWER}"));
            Loaded::Newer
        }
        None => {
            problems.push("session file: not readable, begun anew".to_owned());
            Loaded::Nothing
        }
    }
}

fn save(writable: Option<&StatePaths>, session: &Session, problems: &mut Vec<String>) {
    let Some(paths) = writable else { return };
    let path = paths.session_file(session.tool, &session.id);
    if let Err(error) = write_atomically(&path, &write_session(session)) {
        problems.push(format!("session file: {error}"));
    }
}

/// A process that was killed never said goodbye; it must not keep the session alive.
fn end_dead_runs(
    writable: Option<&StatePaths>,
    mut session: Session,
    event: &Event,
    problems: &mut Vec<String>,
) -> Session {
    for process in runs_to_check(&session, event.process) {
        if liveness(process) == Liveness::Gone {
            session = apply(writable, session, &process_gone(event, process), problems).session;
        }
    }
    session
}

fn process_gone(event: &Event, process: ProcessKey) -> Event {
    Event {
        tool: event.tool,
        session_id: event.session_id.clone(),
        at: event.at,
        process,
        name: "ProcessGone".to_owned(),
        agent_id: None,
        facts: Default::default(),
        host: None,
        kind: EventKind::ProcessGone,
    }
}

fn publish(before: Option<State>, session: &Session, event: &Event, problems: &mut Vec<String>) {
    let host = event.host.as_ref().or_else(|| session.run(event.process).map(|run| &run.host));
    if let Some(host) = host {
        problems.extend(sinks::publish(before, session, event, host));
    }
}
