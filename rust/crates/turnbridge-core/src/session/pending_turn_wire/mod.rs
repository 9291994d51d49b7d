//! A turn whose end a hook has seen, as it stands in `pending/` until the hook has done all of
//! its work. A hook that is killed, or that does not get the session's lock, leaves it there, and
//! whoever changes the session next completes it. Completing twice changes nothing: the notice
//! and the record have the same id both times.

use serde::{Deserialize, Serialize};

use crate::ids::{Agent, SessionId};
use crate::session::Session;
use crate::session::claim::{Claim, Verdict};
use crate::session::event::{Event, EventKind, Facts, ProcessKey};
use crate::session::turn_wire::TurnRecord;
use crate::timestamp::Timestamp;
use crate::version_wire::VERSION;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingTurn {
    pub version: u32,
    /// The hook process that works on it.
    pub writer: PendingProcess,
    /// The agent's process.
    pub agent: PendingProcess,
    /// The hash of the payload, and the registration that got it: see `claim`.
    pub payload: u64,
    pub origin: String,
    /// The event's name.
    pub event: String,
    #[serde(default)]
    pub stop_hook_active: bool,
    /// Whether a notice is still to be made.
    pub tell: bool,
    #[serde(default)]
    pub transcript_path: Option<String>,
    pub record: TurnRecord,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingProcess {
    pub pid: u32,
    pub start: u64,
}

impl From<ProcessKey> for PendingProcess {
    fn from(ProcessKey { pid, start }: ProcessKey) -> PendingProcess {
        PendingProcess { pid, start }
    }
}

impl PendingProcess {
    pub const fn key(self) -> ProcessKey {
        ProcessKey { pid: self.pid, start: self.start }
    }
}

/// What is left to do for a pending turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completion {
    /// It was done before its file could be removed, or the other registration did it.
    Done,
    /// Make the notice and the record, unless they exist; apply the event, if there is one.
    Complete { event: Option<Box<Event>> },
}

/// Reads a file of `pending/`. Returns `None` if it is not whole, or written by a newer version.
pub fn read_pending(bytes: &[u8]) -> Option<PendingTurn> {
    let pending: PendingTurn = serde_json::from_slice(bytes).ok()?;
    (pending.version <= VERSION && pending.session().is_some()).then_some(pending)
}

impl PendingTurn {
    pub fn session(&self) -> Option<(Agent, SessionId)> {
        Some((Agent::parse(&self.record.agent)?, SessionId::parse(&self.record.session_id)?))
    }

    pub fn claim(&self) -> Claim {
        Claim { payload: self.payload, origin: self.origin.clone() }
    }

    /// Decides what is left to do, and counts the event in the session's claims. The session is
    /// saved last of all, so a claim that stands in its file means that everything is done.
    pub fn complete(&self, session: &mut Session) -> Completion {
        if session.claims.holds(&self.claim()) {
            if !self.is_blocked_in_vain(session) {
                return Completion::Done;
            }
        } else if session.claims.claim(self.claim()) == Verdict::Twin {
            return Completion::Done;
        }
        Completion::Complete { event: self.event_for(session).map(Box::new) }
    }

    /// Returns whether the gate has noted that it holds this turn, and the hook died before it
    /// could say so: the agent took that for a yes, and the turn has ended.
    fn is_blocked_in_vain(&self, session: &Session) -> bool {
        let run = session.run(self.agent.key());
        run.is_some_and(|run| {
            run.turn.is_reminded && !run.turn.is_over && Some(run.last_at) == self.at()
        })
    }

    /// The event, if the session has not come further since.
    fn event_for(&self, session: &Session) -> Option<Event> {
        let (agent, session_id) = self.session()?;
        let at = self.at()?;
        let run = session.run(self.agent.key());
        if run.is_some_and(|run| run.last_at > at || run.turn.is_over || run.ended.is_some()) {
            return None;
        }
        let record = &self.record;
        let kind = match &record.error {
            Some(error) => {
                EventKind::TurnFailed { answer: record.answer.clone(), error: error.clone() }
            }
            None => EventKind::TurnEnded {
                answer: record.answer.clone(),
                stop_hook_active: self.stop_hook_active,
                background_tasks: record.background_tasks.clone(),
            },
        };
        Some(Event {
            agent,
            session_id,
            at,
            process: self.agent.key(),
            name: self.event.clone(),
            agent_id: None,
            facts: Facts {
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

    fn at(&self) -> Option<Timestamp> {
        Timestamp::parse(&self.record.ended_at)
    }

    /// Returns whether `record` is the record of this turn. Codex names a turn once, and its
    /// rollout may have been the first to tell of the end.
    pub fn is_recorded_by(&self, record: &TurnRecord) -> bool {
        let is_same_id = record.notice_id.is_some() && record.notice_id == self.record.notice_id;
        let is_same_turn = self.record.turn_id.is_some() && record.turn_id == self.record.turn_id;
        is_same_id || is_same_turn && self.record.agent == Agent::Codex.as_str()
    }
}

#[cfg(test)]
mod tests;
