//! Reads and changes the session files. `update` applies an event to one; besides it, only
//! `turn_completion` changes one, by `load` and `save`. Both hold the session's lock.

mod listing;

use std::fs;
use std::io;
use std::time::Duration;

use turnbridge_core::ids::SessionKey;
use turnbridge_core::notices::notice::{Notice, codex_event_id, notice_id};
use turnbridge_core::session::advance::{SessionEffect, advance, note_twin, runs_to_check};
use turnbridge_core::session::duplicate_events::{Occurrence, SeenEvent};
use turnbridge_core::session::event::{Event, EventKind, ProcessKey};
use turnbridge_core::session::session_wire::{read_session, write_session};
use turnbridge_core::session::{Session, State};
use turnbridge_core::version_wire::{NEWER, is_newer};

use crate::files::atomic_file::write_atomically;
use crate::files::file_lock::FileLock;
use crate::kill_point::kill_point;
use crate::paths::StatePaths;
use crate::process::detached_process;
use crate::process::{Liveness, liveness};
use crate::sinks;
use crate::state::config_text::ConfigText;
use crate::state::outbox::Queued;
use crate::state::turn_completion::{Completed, complete_left};
use crate::state::{notice_queue, turn_store};

pub use listing::{OpenSessions, read_all, read_matching, read_open};

/// The timeout of the lock. Two hundred parallel hooks need a fraction of this on an idle machine.
/// Only a suspended holder could use all of it, because a killed one releases the lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(3);

/// A hook's report of an event.
#[derive(Debug, Clone)]
pub struct EventReport<'a> {
    pub claim: SeenEvent,
    /// The config, which names the channels that want notices.
    pub config: &'a ConfigText,
    /// Whether the user is notified of the turn that ends by the event.
    pub tell: bool,
}

/// Applies one event: lock, read, claim, advance, notice, turn record, session file, sinks. First
/// it completes the turns that other hooks of this session have left. The session file is the last
/// file that is written, so that its claims show the finished work.
///
/// Without a writable home the sinks are still served, from the facts that are known then. Returns
/// `Err` only if another process holds the session's lock for longer than a hook may wait.
pub fn update(
    paths: Option<&StatePaths>,
    event: &Event,
    report: Option<EventReport<'_>>,
) -> Result<Updated, String> {
    let mut problems = Vec::new();
    let unread = ConfigText::default();
    let config = report.as_ref().map_or(&unread, |report| report.config);
    let lock = match paths {
        Some(paths) => lock_session(paths, event, &mut problems)?,
        None => None,
    };
    let loaded = match paths {
        Some(paths) => load(paths, &event.session, &mut problems),
        None => Loaded::Nothing,
    };
    // Files are written only under the lock; without it, existing ones are still read.
    let writable = paths.filter(|_| lock.is_some() && !matches!(loaded, Loaded::NotOurs));
    kill_point("locked");
    let session = match loaded {
        Loaded::Known(session) => *session,
        _ => Session::new(event.session.clone(), event.at),
    };
    let mut left = Completed::default();
    let mut session = match writable {
        Some(paths) => complete_left(paths, config, session, &mut left),
        None => session,
    };
    problems.append(&mut left.problems);
    let mut has_notice = left.has_notice;
    let mut updated = Updated { is_twin: false, is_whole: writable.is_some(), problems };
    let problems = &mut updated.problems;
    if let Some(report) = &report
        && session.claims.note(report.claim.clone()) == Occurrence::Duplicate
    {
        updated.is_twin = true;
        note_twin(&mut session, event);
        save(writable, &session, problems);
    } else {
        let before = session.current_run().map(|_| session.state());
        let session = end_dead_runs(writable, session, event, problems);
        let mut applied = apply(writable, session, event, report.as_ref(), problems);
        has_notice |= applied.has_notice;
        if let Some(report) = report.filter(|_| !applied.is_whole) {
            applied.session.claims.withdraw(&report.claim);
        }
        // An event of no known run makes no session.
        let is_saved =
            applied.session.runs.is_empty() || save(writable, &applied.session, problems);
        updated.is_whole &= applied.is_whole && is_saved;
        kill_point("saved");
        if applied.effect == SessionEffect::Applied {
            publish(before, &applied.session, event, problems);
        }
    }
    drop(lock);
    if let Some(paths) = paths.filter(|_| has_notice) {
        problems.extend(detached_process::wake(paths).err());
    }
    kill_point("woken");
    Ok(updated)
}

/// The result of an update.
#[derive(Debug)]
pub struct Updated {
    /// Whether the other registration of this event has done all of the work.
    pub is_twin: bool,
    /// Whether every necessary file was written.
    pub is_whole: bool,
    /// The problems that did not stop it, for the log.
    pub problems: Vec<String>,
}

struct AppliedEvent {
    session: Session,
    effect: SessionEffect,
    /// Whether the notice and the record of the turn that ended, if one did, were written.
    is_whole: bool,
    has_notice: bool,
}

/// Advances the session, and stores the turn that the event has ended.
fn apply(
    writable: Option<&StatePaths>,
    session: Session,
    event: &Event,
    report: Option<&EventReport<'_>>,
    problems: &mut Vec<String>,
) -> AppliedEvent {
    let mut note = |error: io::Error| problems.push(format!("turn record: {error}"));
    if let Some(paths) = writable
        && let Err(error) = turn_store::record_abandoned(paths, &session, event)
    {
        note(error);
    }
    let (session, effect) = advance(session, event);
    let mut applied = AppliedEvent { session, effect, is_whole: true, has_notice: false };
    let Some(paths) = writable else { return applied };
    if effect == SessionEffect::Applied
        && let Err(error) = turn_store::keep(paths, &applied.session, event)
    {
        note(error);
    }
    // A late end changes no state, but it is an end.
    if effect != SessionEffect::Ignored {
        finish_turn(paths, &mut applied, event, report, problems);
    }
    applied
}

/// Makes the notice and then the record of the turn that `event` has ended, if it has.
fn finish_turn(
    paths: &StatePaths,
    applied: &mut AppliedEvent,
    event: &Event,
    report: Option<&EventReport<'_>>,
    problems: &mut Vec<String>,
) {
    let id = report.map(|report| notice_id(event, report.claim.payload));
    let id = id.or_else(|| codex_event_id(event));
    let Some(record) = turn_store::finished(paths, &applied.session, event, id.clone()) else {
        return;
    };
    kill_point("applied");
    if let (Some(id), Some(report)) = (id, report.filter(|report| report.tell)) {
        let notice = Notice::of_turn(id, &record, event.facts.transcript_path.clone());
        match notice_queue::queue_if_wanted(paths, report.config, &notice) {
            Ok(queued) => applied.has_notice = queued == Queued::New,
            Err(problem) => {
                applied.is_whole = false;
                problems.push(problem);
            }
        }
    }
    kill_point("notice queued");
    if let Err(error) = turn_store::append(paths, &applied.session, event.process, &record) {
        applied.is_whole = false;
        problems.push(format!("turn record: {error}"));
    }
    kill_point("recorded");
}

/// Returns one session, without waiting for a lock, or `None` if it is not known.
pub fn read(paths: &StatePaths, key: &SessionKey) -> Option<Session> {
    match load(paths, key, &mut Vec::new()) {
        Loaded::Known(session) => Some(*session),
        Loaded::NotOurs | Loaded::Nothing => None,
    }
}

fn lock_session(
    paths: &StatePaths,
    event: &Event,
    problems: &mut Vec<String>,
) -> Result<Option<FileLock>, String> {
    let path = paths.session_lock(&event.session);
    match FileLock::acquire(&path, LOCK_TIMEOUT) {
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

pub(crate) enum Loaded {
    Known(Box<Session>),
    /// A newer version has written it, or it is about another session: it must stay.
    NotOurs,
    Nothing,
}

/// Reads a session's file, and takes no lock. Adds the reason to `problems` if it cannot be used.
pub(crate) fn load(paths: &StatePaths, key: &SessionKey, problems: &mut Vec<String>) -> Loaded {
    let bytes = match fs::read(paths.session_file(key)) {
        Ok(bytes) => bytes,
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                problems.push(format!("session file: {error}"));
            }
            return Loaded::Nothing;
        }
    };
    match read_session(&bytes) {
        Some(session) if session.key == *key => Loaded::Known(Box::new(session)),
        Some(other) => {
            problems.push(format!("session file: it is about {}, and left as it is", other.key));
            Loaded::NotOurs
        }
        None if is_newer(&bytes) => {
            problems.push(format!("session file: {NEWER}"));
            Loaded::NotOurs
        }
        None => {
            problems.push("session file: not readable, begun anew".to_owned());
            Loaded::Nothing
        }
    }
}

/// Writes the session file. Returns whether it was written.
pub(crate) fn save(
    writable: Option<&StatePaths>,
    session: &Session,
    problems: &mut Vec<String>,
) -> bool {
    let Some(paths) = writable else { return false };
    let path = paths.session_file(&session.key);
    let written = write_atomically(&path, &write_session(session));
    problems.extend(written.as_ref().err().map(|error| format!("session file: {error}")));
    written.is_ok()
}

/// Ends the runs of killed processes, which sent no end event. They must not keep the session
/// alive.
fn end_dead_runs(
    writable: Option<&StatePaths>,
    mut session: Session,
    event: &Event,
    problems: &mut Vec<String>,
) -> Session {
    for process in runs_to_check(&session, event.process) {
        if liveness(process) == Liveness::Gone {
            let gone = process_gone(event, process);
            session = apply(writable, session, &gone, None, problems).session;
        }
    }
    session
}

fn process_gone(event: &Event, process: ProcessKey) -> Event {
    Event {
        session: event.session.clone(),
        at: event.at,
        process,
        name: "ProcessGone".to_owned(),
        agent_id: None,
        facts: Default::default(),
        host: None,
        kind: EventKind::ProcessGone,
    }
}

/// Publishes the session's state to the sinks of the run that the event is about.
pub(crate) fn publish(
    before: Option<State>,
    session: &Session,
    event: &Event,
    problems: &mut Vec<String>,
) {
    let host = event.host.as_ref().or_else(|| session.run(event.process).map(|run| &run.host));
    if let Some(host) = host {
        problems.extend(sinks::publish(before, session, event, host));
    }
}

#[cfg(test)]
mod tests {
    use turnbridge_core::session::event::EventFacts;
    use turnbridge_core::timestamp::Timestamp;

    use super::*;

    #[cfg(any(target_os = "linux", target_os = "macos", windows))]
    #[test]
    fn x31_a_run_whose_process_is_gone_ends_with_the_next_event_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(&folder.path().join("state"));
        let key = SessionKey::of("claude", "s").unwrap();
        let event = |second: i64, process: ProcessKey, kind: EventKind| Event {
            session: key.clone(),
            at: Timestamp::from_millis(1_000 * second),
            process,
            name: "x".to_owned(),
            agent_id: None,
            facts: EventFacts::default(),
            host: None,
            kind,
        };
        // The pid of this process, with the start time of another one.
        let gone = ProcessKey { pid: std::process::id(), start: 1 };
        let prompt = EventKind::PromptSubmitted { prompt: "x".to_owned() };
        update(Some(&paths), &event(1, gone, prompt), None).unwrap();
        let session = read(&paths, &key).unwrap();
        assert_eq!(session.state(), State::Working);
        let next = event(2, ProcessKey::UNKNOWN, EventKind::TurnStarted);
        update(Some(&paths), &next, None).unwrap();
        let session = read(&paths, &key).unwrap();
        let living: Vec<_> = session.live_runs().map(|run| run.process).collect();
        assert_eq!(living, [ProcessKey::UNKNOWN]);
    }
}
