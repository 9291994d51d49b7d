//! Reads a session's ended turns page by page, the newest page first, and its open turn.

use std::fs;

use serde_json::{Value, json};
use turnbridge_core::session::turn_record::TurnRecord;
use turnbridge_core::session::turn_wire::read_turn;
use turnbridge_core::session::{Session, State};
use turnbridge_core::text::one_line::shown_prompt;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::turn_store;

const USUAL: usize = 20;
const MOST: usize = 200;

/// A page of a session's turns, oldest first.
pub struct TurnPage {
    pub turns: Vec<TurnRecord>,
    /// The number of turns before them.
    pub first: usize,
    pub total: usize,
}

/// Returns the last turns before number `before`, or the last turns of all.
pub fn page(
    paths: &StatePaths,
    session: &Session,
    before: Option<usize>,
    limit: Option<usize>,
) -> TurnPage {
    let bytes = fs::read(paths.turns_file(&session.key)).unwrap_or_default();
    // The last line may be incomplete; it is then no valid JSON.
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let lines: Vec<&[u8]> = lines.collect();
    let end = before.unwrap_or(lines.len()).min(lines.len());
    let first = end.saturating_sub(limit.unwrap_or(USUAL).clamp(1, MOST));
    let turns = lines[first..end].iter().filter_map(|line| read_turn(line, &session.key));
    let turns = turns.map(shown).collect();
    TurnPage { turns, first, total: lines.len() }
}

fn shown(turn: TurnRecord) -> TurnRecord {
    let prompt = turn.prompt.as_deref().map(|prompt| shown_prompt(prompt).to_owned());
    TurnRecord { prompt, ..turn }
}

/// Returns the turn that has not ended, or `None` if there is none.
pub fn open_turn(paths: &StatePaths, session: &Session) -> Option<Value> {
    let run = session.current_run()?;
    let is_open = matches!(session.state(), State::Working | State::WaitingUser);
    if !is_open || run.turn.is_over {
        return None;
    }
    let prompt = turn_store::whole_prompt(paths, session, run.process);
    let started_at = run.turn.started_at.map(|at| at.to_string());
    let prompt = prompt.as_deref().map(shown_prompt);
    Some(json!({ "prompt": prompt, "started_at": started_at }))
}
