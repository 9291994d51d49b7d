//! The record of a finished turn, one JSON line in `turns/<tool>-<id>.jsonl`: the source for
//! everything that shows or sends what an agent said.

use serde::{Deserialize, Serialize};

use crate::event::{Event, EventKind};
use crate::session::{Detail, Session};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRecord {
    pub version: u32,
    pub tool: String,
    pub session_id: String,
    pub turn_id: Option<String>,
    pub prompt: Option<String>,
    pub answer: Option<String>,
    /// `ok` or `failed`, with the kind of error beside it.
    pub detail: String,
    pub error: Option<String>,
    pub started_at: Option<String>,
    pub ended_at: String,
    pub cwd: Option<String>,
    pub permission_mode: Option<String>,
    pub background_tasks: Vec<String>,
}

/// The record that `event` makes, when it ended a turn. `prompt` is the whole prompt, of which
/// the session may hold only the beginning.
pub fn finished_turn(
    session: &Session,
    event: &Event,
    prompt: Option<String>,
) -> Option<TurnRecord> {
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
    let run = session.run(event.process)?;
    Some(TurnRecord {
        version: 1,
        tool: session.tool.as_str().to_owned(),
        session_id: session.id.as_str().to_owned(),
        turn_id: event.facts.prompt_id.clone().or_else(|| run.turn.prompt_id.clone()),
        prompt,
        answer: answer.clone(),
        detail: detail.as_str().to_owned(),
        error: detail.error().map(str::to_owned),
        started_at: run.turn.started_at.map(|at| at.to_string()),
        ended_at: event.at.to_string(),
        cwd: session.cwd.clone(),
        permission_mode: session.permission_mode.clone(),
        background_tasks,
    })
}
