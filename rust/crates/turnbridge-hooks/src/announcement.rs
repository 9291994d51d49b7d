//! Records that a turn has ended before the hook does anything else for it. If the hook is killed
//! at any later moment, or another process holds the session's lock, no turn is lost: the next
//! process that changes the session, or the daemon, completes what this hook leaves
//! (`turn_completion`).

use turnbridge_core::notices::notice::{Notice, notice_id};
use turnbridge_core::session::Session;
use turnbridge_core::session::advance::advance;
use turnbridge_core::session::duplicate_events::SeenEvent;
use turnbridge_core::session::event::{Event, EventKind};
use turnbridge_core::session::pending_turn::PendingTurn;
use turnbridge_store::kill_point::kill_point;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::process;
use turnbridge_store::state::config_text::ConfigText;
use turnbridge_store::state::folder_trust::trusted_state;
use turnbridge_store::state::pending_turns::{self, PendingTurnFile};
use turnbridge_store::state::{session_store, turn_store};

use crate::notice;

/// A turn that has ended, and the file that records it until this hook has done its work.
pub struct Announced {
    paths: StatePaths,
    pending: PendingTurnFile,
    /// The reason why there is no file.
    problem: Option<String>,
}

/// Writes the file that records the end of a turn. Returns `None` if the event ends no turn of the
/// agent itself, or if the state folder must not be used.
pub fn announce(event: &Event, claim: &SeenEvent) -> Option<Announced> {
    let stop_hook_active = match &event.kind {
        EventKind::TurnEnded { stop_hook_active, .. } => *stop_hook_active,
        EventKind::TurnFailed { .. } => false,
        _ => return None,
    };
    let paths = trusted_state()?;
    let known = session_store::read(&paths, &event.session);
    let session = known.unwrap_or_else(|| Session::new(event.session.clone(), event.at));
    let tell = !is_announced_before(&session, event, stop_hook_active);
    let session = advance(session, event).0;
    let id = notice_id(event, claim.payload);
    let record = turn_store::finished(&paths, &session, event, Some(id))?;
    let turn = PendingTurn {
        writer: process::identify(std::process::id()),
        agent: event.process,
        payload: claim.payload,
        origin: claim.origin.clone(),
        event: event.name.clone(),
        stop_hook_active,
        tell,
        transcript_path: event.facts.transcript_path.clone(),
        record,
    };
    kill_point("received");
    let (path, problem) = match pending_turns::announce(&paths, &turn) {
        Ok(path) => (path, None),
        Err(error) => (Default::default(), Some(format!("pending turn: {error}"))),
    };
    kill_point("announced");
    Some(Announced { paths, pending: PendingTurnFile { path, turn }, problem })
}

/// Returns whether the turn's end was reported before: a hook of another program continued the turn
/// after its first end, which the user was notified of (X9).
pub fn is_announced_before(session: &Session, event: &Event, stop_hook_active: bool) -> bool {
    let is_reminded =
        session.run(event.process).is_some_and(|run| run.turn.is_reminded && !run.turn.is_over);
    event.session.agent.has_stop_gate() && stop_hook_active && !is_reminded
}

impl Announced {
    /// Removes the file, because all work is done. Returns the problem, if there was one.
    pub fn settle(self) -> Option<String> {
        if self.problem.is_none() {
            let _ = std::fs::remove_file(&self.pending.path);
        }
        kill_point("settled");
        self.problem
    }

    /// Queues the notice now, because the session was not available. The next process that updates
    /// the session records the turn.
    pub fn leave(mut self, config: &ConfigText) -> Vec<String> {
        let mut problems: Vec<String> = self.problem.iter().cloned().collect();
        if self.pending.turn.tell && !self.is_blocked_just_now() {
            match self.tell(config) {
                Ok(()) if self.problem.is_none() => {
                    let noted = pending_turns::note_announced(&mut self.pending);
                    problems.extend(noted.err().map(|error| format!("pending turn: {error}")));
                }
                Ok(()) => {}
                Err(problem) => problems.push(problem),
            }
        }
        problems
    }

    fn tell(&self, config: &ConfigText) -> Result<(), String> {
        let turn = &self.pending.turn;
        let Some(id) = turn.record.notice_id.clone() else { return Ok(()) };
        let notice = Notice::of_turn(id, &turn.record, turn.transcript_path.clone());
        notice::queue(&self.paths, config, &notice)
    }

    /// Returns whether the other registration blocked this very Stop, and noted it, before this
    /// hook looked.
    fn is_blocked_just_now(&self) -> bool {
        let turn = &self.pending.turn;
        let key = turn.session();
        let session = session_store::read(&self.paths, key);
        let is_reminded = session.is_some_and(|session| {
            let run = session.run(turn.agent);
            run.is_some_and(|run| run.turn.is_reminded && !run.turn.is_over)
        });
        key.agent.has_stop_gate() && is_reminded && !turn.stop_hook_active
    }
}
