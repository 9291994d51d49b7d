//! Renders sessions as JSON for the board: one card, or the snapshot of all cards with which a page
//! begins.

use std::fs;

use serde_json::{Value, json};
use turnbridge_core::ids::SessionKey;
use turnbridge_core::session::{Detail, Run, Session, State};
use turnbridge_core::terminals::panes::{PaneView, Panes};
use turnbridge_core::text::one_line::shown_prompt;
use turnbridge_core::text::texts::Language;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::{pane_store, session_store};

use super::board_replies;

/// The limit of stopped sessions in the list; the newest come first.
const MOST_STOPPED: usize = 500;

/// The limit of a prompt in characters. The thread shows all of it.
const PROMPT: usize = 300;

/// Returns the complete initial state for a page.
pub fn snapshot(paths: &StatePaths, language: Language) -> Value {
    let mut sessions = session_store::read_all(paths).unwrap_or_default();
    sessions.sort_by_key(|session| std::cmp::Reverse(session.since()));
    let mut stopped = 0;
    sessions.retain(|session| {
        stopped += usize::from(session.state() == State::Stopped);
        session.state() != State::Stopped || stopped <= MOST_STOPPED
    });
    let panes = pane_store::read(paths);
    let cards: Vec<Value> = sessions.iter().map(|session| card(paths, &panes, session)).collect();
    json!({
        "version": 1,
        "language": match language { Language::Japanese => "ja", Language::English => "en" },
        "sessions": cards,
        "replies": board_replies::pending(paths),
    })
}

/// Returns a session's card, or `None` if the session no longer exists.
pub fn current(paths: &StatePaths, key: &SessionKey) -> Option<Value> {
    let session = session_store::read(paths, key)?;
    Some(card(paths, &pane_store::read(paths), &session))
}

pub fn card(paths: &StatePaths, panes: &Panes, session: &Session) -> Value {
    let PaneView { is_shown, has_fallen_silent } = panes.view_of(session);
    let run = session.current_run();
    let prompt = run.and_then(|run| run.turn.prompt.as_ref());
    // The length grows with every ended turn, which shows an open page that there are more.
    let turns = fs::metadata(paths.turns_file(&session.key));
    json!({
        "tool": session.key.agent.as_str(),
        "session_id": session.key.id.as_str(),
        "state": session.state().as_str(),
        "detail": session.detail().map(Detail::as_str),
        "error": session.detail().and_then(Detail::error),
        "since": session.since().to_string(),
        "created_at": session.created_at.to_string(),
        "project": session.project(),
        "project_dir": session.project_dir(),
        "model": session.model,
        "prompt": prompt.map(|prompt| beginning(shown_prompt(&prompt.text))),
        "prompt_at": run.and_then(|run| run.turn.started_at).map(|at| at.to_string()),
        "waiting_for": run.map_or_else(Vec::new, waiting_for),
        "background_tasks": run.map_or(0, |run| run.background_tasks.len()),
        "has_pane": is_shown,
        "has_fallen_silent": has_fallen_silent,
        "turns_bytes": turns.map_or(0, |turns| turns.len()),
    })
}

fn waiting_for(run: &Run) -> Vec<&str> {
    run.waits.iter().filter_map(|wait| wait.tool.as_deref()).collect()
}

fn beginning(text: &str) -> &str {
    let end = text.char_indices().nth(PROMPT).map_or(text.len(), |(at, _)| at);
    &text[..end]
}
