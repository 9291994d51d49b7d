//! Decides how to complete a turn whose end a hook has seen but not finished processing.
//!
//! The turn stays in `pending/` until its notice, its record and the session are written. If the
//! hook is killed or does not get the session's lock, the next process that changes the session
//! completes the turn. Completion is idempotent: notice and record have the same id both times.

use crate::ids::SessionKey;
use crate::session::Session;
use crate::session::duplicate_events::{Occurrence, SeenEvent};
use crate::session::event::{Event, EventFacts, EventKind, ProcessKey};
use crate::session::turn_record::TurnRecord;

/// A turn whose end a hook has seen and not finished processing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingTurn {
    /// The hook process that works on the turn.
    pub writer: ProcessKey,
    /// The agent's process.
    pub agent: ProcessKey,
    /// The hash of the payload. `origin` is the registration that received it (`duplicate_events`).
    pub payload: u64,
    pub origin: String,
    /// The event's name.
    pub event: String,
    pub stop_hook_active: bool,
    /// Whether a notice is still to be made.
    pub tell: bool,
    pub transcript_path: Option<String>,
    pub record: TurnRecord,
}

/// The work that is left for a pending turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completion {
    /// All work was done before the file could be removed, or the other registration did it.
    Done,
    /// Make the notice and the record, unless they exist; apply the event, if there is one.
    Complete { event: Option<Box<Event>> },
}

impl PendingTurn {
    /// Returns the key of the turn's session.
    pub const fn session(&self) -> &SessionKey {
        &self.record.session
    }

    /// Returns the hook call's entry in the session's claims.
    pub fn claim(&self) -> SeenEvent {
        SeenEvent { payload: self.payload, origin: self.origin.clone() }
    }

    /// Returns the work that is left, and counts the event in the session's claims. The session is
    /// saved last, so a claim in its file means that all work is done.
    pub fn complete(&self, session: &mut Session) -> Completion {
        if session.claims.holds(&self.claim()) {
            if !self.is_blocked_in_vain(session) {
                return Completion::Done;
            }
        } else if session.claims.note(self.claim()) == Occurrence::Duplicate {
            return Completion::Done;
        }
        Completion::Complete { event: self.event_for(session).map(Box::new) }
    }

    /// Returns whether the gate has recorded that it holds this turn, and the hook died before its
    /// exit code: the agent took that for permission, and the turn has ended.
    fn is_blocked_in_vain(&self, session: &Session) -> bool {
        let run = session.run(self.agent);
        run.is_some_and(|run| {
            run.turn.is_reminded && !run.turn.is_over && Some(run.last_at) == self.record.ended_at
        })
    }

    /// Returns the event, if the session has not advanced since.
    fn event_for(&self, session: &Session) -> Option<Event> {
        let at = self.record.ended_at?;
        let run = session.run(self.agent);
        if run.is_some_and(|run| run.last_at > at || run.turn.is_over || run.ended.is_some()) {
            return None;
        }
        let record = &self.record;
        let kind = match record.error() {
            Some(error) => {
                EventKind::TurnFailed { answer: record.answer.clone(), error: error.to_owned() }
            }
            None => EventKind::TurnEnded {
                answer: record.answer.clone(),
                stop_hook_active: self.stop_hook_active,
                background_tasks: record.background_tasks.clone(),
            },
        };
        Some(Event {
            session: self.session().clone(),
            at,
            process: self.agent,
            name: self.event.clone(),
            agent_id: None,
            facts: EventFacts {
                cwd: record.cwd.clone(),
                transcript_path: self.transcript_path.clone(),
                permission_mode: record.permission_mode.clone(),
                prompt_id: record.turn_id.clone(),
                model: None,
            },
            host: None,
            kind,
        })
    }

    /// Returns whether `record` is the record of this turn. Where an agent names a turn once, a
    /// rollout may have reported its end first.
    pub fn is_recorded_by(&self, record: &TurnRecord) -> bool {
        let is_same_id = record.notice_id.is_some() && record.notice_id == self.record.notice_id;
        let is_same_turn = self.record.turn_id.is_some() && record.turn_id == self.record.turn_id;
        is_same_id || is_same_turn && self.session().agent.names_turns_once()
    }
}

#[cfg(test)]
mod tests;
