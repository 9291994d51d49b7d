//! Defines the record of a finished turn, and builds it from the session and the event that ends
//! the turn. Notices and views of a turn's answer are made from it.

use crate::ids::SessionKey;
use crate::session::advance::{is_addition, is_other_turn};
use crate::session::event::{Event, EventKind};
use crate::session::{Detail, Session, Turn};
use crate::timestamp::Timestamp;

/// A finished turn, with its texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRecord {
    pub session: SessionKey,
    pub turn_id: Option<String>,
    /// The id of the turn's notice, whether a notice was wanted or not. Records of 0.1 have none.
    pub notice_id: Option<String>,
    pub prompt: Option<String>,
    /// The prompts typed and given to the agent while the turn ran; of a long one the beginning.
    pub additions: Vec<String>,
    /// The answers before the Stop gate held the turn: often the real answer, followed only by "I
    /// have spoken.".
    pub earlier_answers: Vec<String>,
    pub answer: Option<String>,
    /// `Interrupted` if the Stop gate had held the turn and no end came.
    pub detail: RecordedDetail,
    pub started_at: Option<Timestamp>,
    /// `None` if the stored text is no time.
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

    /// Returns the kind of API error that ended the turn.
    pub fn error(&self) -> Option<&str> {
        self.detail.error()
    }
}

/// How a turn ended, according to its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedDetail {
    Known(Detail),
    /// A word that this version does not know. It is kept unchanged, with its error.
    Unknown {
        word: String,
        error: Option<String>,
    },
}

impl RecordedDetail {
    /// Reads the words that `as_str` and `error` return.
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

/// The texts of a turn that are stored outside the session file: the whole prompt, of which the
/// session file may hold only the beginning, and the answer of a Stop that the gate blocked.
#[derive(Debug, Clone, Default)]
pub struct FullTexts {
    pub prompt: Option<String>,
    pub earlier_answer: Option<String>,
}

/// Returns the record of the turn that `event` ends, or `None` if it ends none.
pub fn finished_turn(session: &Session, event: &Event, kept: FullTexts) -> Option<TurnRecord> {
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
    // The known facts belong to another turn, so they are not used.
    let (turn, kept) = match is_other_turn(turn, event) {
        true => (&Turn::default(), FullTexts::default()),
        false => (turn, kept),
    };
    Some(TurnRecord {
        turn_id: event.facts.prompt_id.clone().or_else(|| turn.prompt_id.clone()),
        answer: answer.clone(),
        background_tasks,
        ..record(session, turn, event, kept, detail)
    })
}

/// Returns the record of a turn that the gate had held, if `event` shows that it will have no end:
/// the next prompt came, the run has ended, or another turn ends. The record keeps the held answer.
/// `session` is the state before the event.
pub fn abandoned_turn(session: &Session, event: &Event, kept: FullTexts) -> Option<TurnRecord> {
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

fn record(
    session: &Session,
    turn: &Turn,
    event: &Event,
    kept: FullTexts,
    detail: Detail,
) -> TurnRecord {
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
