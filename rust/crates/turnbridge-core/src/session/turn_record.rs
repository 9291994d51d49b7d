//! The record of a finished turn: the source for everything that shows or sends what an agent said.

use crate::ids::SessionKey;
use crate::session::advance::{is_addition, is_other_turn};
use crate::session::event::{Event, EventKind};
use crate::session::{Detail, Session, Turn};
use crate::timestamp::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRecord {
    pub session: SessionKey,
    pub turn_id: Option<String>,
    /// The id of the notice that tells of it, whether anybody wanted one or not. Records of 0.1
    /// have none.
    pub notice_id: Option<String>,
    pub prompt: Option<String>,
    /// What was typed while it ran and was given to the agent in it; of a long one the beginning.
    pub additions: Vec<String>,
    /// What the agent had said when the Stop gate sent it on: often the real answer, with
    /// nothing but "I have spoken." after it.
    pub earlier_answers: Vec<String>,
    pub answer: Option<String>,
    /// `Interrupted` when the Stop gate had sent the agent on and no end came.
    pub detail: RecordedDetail,
    pub started_at: Option<Timestamp>,
    /// `None`: what stands there is no time.
    pub ended_at: Option<Timestamp>,
    pub cwd: Option<String>,
    pub permission_mode: Option<String>,
    pub background_tasks: Vec<String>,
}

impl TurnRecord {
    pub const fn new(session: SessionKey, detail: Detail, ended_at: Timestamp) -> TurnRecord {
        TurnRecord {
            session,
            turn_id: None,
            notice_id: None,
            prompt: None,
            additions: Vec::new(),
            earlier_answers: Vec::new(),
            answer: None,
            detail: RecordedDetail::Known(detail),
            started_at: None,
            ended_at: Some(ended_at),
            cwd: None,
            permission_mode: None,
            background_tasks: Vec::new(),
        }
    }

    /// The kind of API error that has ended the turn.
    pub fn error(&self) -> Option<&str> {
        self.detail.error()
    }
}

/// How a turn ended, as its record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedDetail {
    Known(Detail),
    /// A word that this version does not know. It is kept, with the error beside it, as it stands.
    Unknown {
        word: String,
        error: Option<String>,
    },
}

impl RecordedDetail {
    /// Reads what `as_str` and `error` give.
    pub fn of(word: String, error: Option<String>) -> RecordedDetail {
        match Detail::of(&word, error.clone()) {
            Some(detail) => RecordedDetail::Known(detail),
            None => RecordedDetail::Unknown { word, error },
        }
    }

    pub const fn known(&self) -> Option<&Detail> {
        match self {
            RecordedDetail::Known(detail) => Some(detail),
            RecordedDetail::Unknown { .. } => None,
        }
    }

    pub fn as_str(&self) -> &str {
        match self {
            RecordedDetail::Known(detail) => detail.as_str(),
            RecordedDetail::Unknown { word, .. } => word,
        }
    }

    pub fn error(&self) -> Option<&str> {
        match self {
            RecordedDetail::Known(detail) => detail.error(),
            RecordedDetail::Unknown { error, .. } => error.as_deref(),
        }
    }
}

/// What the session file has no room for: the whole prompt, of which it may hold only the
/// beginning, and the answer of a Stop that the gate blocked.
#[derive(Debug, Clone, Default)]
pub struct Kept {
    pub prompt: Option<String>,
    pub earlier_answer: Option<String>,
}

/// The record that `event` makes, when it ended a turn.
pub fn finished_turn(session: &Session, event: &Event, kept: Kept) -> Option<TurnRecord> {
    if event.agent_id.is_some() {
        return None;
    }
    let (answer, detail, background_tasks) = match &event.kind {
        EventKind::TurnEnded { answer, background_tasks, .. } => {
            (answer, Detail::Ok, background_tasks.clone())
        }
        EventKind::TurnFailed { answer, error } => {
            (answer, Detail::Failed { error: error.clone() }, Vec::new())
        }
        _ => return None,
    };
    let turn = &session.run(event.process)?.turn;
    // What is known of another turn is none of this one's.
    let (turn, kept) = match is_other_turn(turn, event) {
        true => (&Turn::default(), Kept::default()),
        false => (turn, kept),
    };
    Some(TurnRecord {
        turn_id: event.facts.prompt_id.clone().or_else(|| turn.prompt_id.clone()),
        answer: answer.clone(),
        background_tasks,
        ..record(session, turn, event, kept, detail)
    })
}

/// The record of a turn that the gate had sent on and that `event` shows to have no end of its
/// own: the user stopped it, the process is gone, another turn ends. Its answer must not be lost
/// with it. `session` is as it was before the event.
pub fn abandoned_turn(session: &Session, event: &Event, kept: Kept) -> Option<TurnRecord> {
    let run = session.run(event.process)?;
    let turn = &run.turn;
    let is_left = matches!(
        event.kind,
        EventKind::PromptSubmitted { .. }
            | EventKind::RunEnded { .. }
            | EventKind::ProcessGone
            | EventKind::PaneLeft { .. }
    );
    let is_end = matches!(
        event.kind,
        EventKind::TurnEnded { .. } | EventKind::TurnFailed { .. } | EventKind::StopBlocked { .. }
    );
    let is_left = is_left && !is_addition(run, event) || is_end && is_other_turn(turn, event);
    let is_left = is_left && event.agent_id.is_none();
    (is_left && turn.is_reminded && !turn.is_over)
        .then(|| record(session, turn, event, kept, Detail::Interrupted))
}

fn read_additions(turn: &Turn) -> Vec<String> {
    let read = turn.additions.iter().filter(|addition| addition.is_read);
    read.map(|addition| addition.prompt.text.clone()).collect()
}

fn record(session: &Session, turn: &Turn, event: &Event, kept: Kept, detail: Detail) -> TurnRecord {
    TurnRecord {
        turn_id: turn.prompt_id.clone(),
        prompt: kept.prompt,
        additions: read_additions(turn),
        earlier_answers: kept.earlier_answer.into_iter().collect(),
        started_at: turn.started_at,
        cwd: session.cwd.clone(),
        permission_mode: session.permission_mode.clone(),
        ..TurnRecord::new(session.key.clone(), detail, event.at)
    }
}
