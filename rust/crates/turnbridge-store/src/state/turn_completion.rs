//! Completes the turns in `pending/` that their hooks have left: queues the notice, appends the
//! record, advances the session. It works under the session's lock and is idempotent: existing
//! parts are not made again.

use turnbridge_core::ids::SessionKey;
use turnbridge_core::notices::notice::Notice;
use turnbridge_core::session::Session;
use turnbridge_core::session::advance::advance;
use turnbridge_core::session::event::Event;
use turnbridge_core::session::pending_turn::{Completion, PendingTurn};

use crate::clock;
use crate::files::file_lock::FileLock;
use crate::paths::StatePaths;
use crate::state::config_text::ConfigText;
use crate::state::outbox;
use crate::state::pending_turns::{self, PendingTurnFile};
use crate::state::session_store::{self, Loaded};
use crate::state::{notice_queue, turn_store};

/// The result of a completion.
#[derive(Debug, Default)]
pub struct Completed {
    /// The number of turns that were left and are complete now.
    pub turns: usize,
    /// Whether a notice waits whose hook may have woken no process.
    pub has_notice: bool,
    pub problems: Vec<String>,
}

/// Completes the turns of every session whose lock is free now.
pub fn complete_all(paths: &StatePaths) -> Completed {
    let mut completed = Completed::default();
    let config = ConfigText::default();
    for key in pending_turns::sessions(paths) {
        complete_of(paths, &config, &key, &mut completed);
    }
    completed
}

fn complete_of(
    paths: &StatePaths,
    config: &ConfigText,
    key: &SessionKey,
    completed: &mut Completed,
) {
    let lock = match FileLock::try_acquire(&paths.session_lock(key)) {
        Ok(Some(lock)) => lock,
        // The holder of the lock completes them, or the next process that checks.
        Ok(None) => return,
        Err(error) => return completed.problems.push(format!("session lock: {error}")),
    };
    let session = match session_store::load(paths, key, &mut completed.problems) {
        Loaded::Known(session) => *session,
        Loaded::Nothing => Session::new(key.clone(), clock::now()),
        Loaded::NotOurs => return,
    };
    complete_left(paths, config, session, completed);
    drop(lock);
}

/// Completes the turns of one session, whose lock the caller holds. Returns the session's new
/// state.
pub fn complete_left(
    paths: &StatePaths,
    config: &ConfigText,
    mut session: Session,
    completed: &mut Completed,
) -> Session {
    let left = pending_turns::of_session(paths, &session.key);
    if left.is_empty() {
        return session;
    }
    let mut done = Vec::new();
    for pending in left {
        let before = session.current_run().map(|_| session.state());
        match complete(paths, config, &mut session, &pending.turn) {
            Ok(event) => {
                if let Some(event) = event {
                    session_store::publish(before, &session, &event, &mut completed.problems);
                }
                done.push(pending);
            }
            Err(problem) => {
                session.claims.withdraw(&pending.turn.claim());
                completed.problems.push(problem);
            }
        }
    }
    // A file is removed only after the session file contains that its turn was counted.
    if session_store::save(Some(paths), &session, &mut completed.problems) {
        done.iter().for_each(|pending| forget(paths, pending, completed));
    }
    session
}

/// Completes one turn. Returns the event if it was applied to the session.
fn complete(
    paths: &StatePaths,
    config: &ConfigText,
    session: &mut Session,
    turn: &PendingTurn,
) -> Result<Option<Event>, String> {
    let Completion::Complete { event } = turn.complete(session) else { return Ok(None) };
    let record = &turn.record;
    if turn.tell
        && let Some(id) = &record.notice_id
    {
        let notice = Notice::of_turn(id.clone(), record, turn.transcript_path.clone());
        notice_queue::queue_if_wanted(paths, config, &notice)?;
    }
    let agent = turn.agent;
    let written = turn_store::append_once(paths, session, turn);
    written.map_err(|error| format!("turn record: {error}"))?;
    let Some(event) = event else { return Ok(None) };
    *session = advance(session.clone(), &event).0;
    turn_store::forget_answer(paths, session, agent).map_err(|error| error.to_string())?;
    Ok(Some(*event))
}

fn forget(paths: &StatePaths, pending: &PendingTurnFile, completed: &mut Completed) {
    let id = pending.turn.record.notice_id.as_deref().unwrap_or_default();
    completed.has_notice |= outbox::is_queued(paths, id);
    match std::fs::remove_file(&pending.path) {
        Ok(()) => completed.turns += 1,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => completed.problems.push(format!("pending turn: {error}")),
    }
}
