//! Builds the message for tvine (TV): the JSON of `status.json`, which is also sent to tvine's
//! socket as one line. Its three words are a projection of Turnbridge's states (X3).

use serde::Serialize;

use crate::session::event::{Event, EventKind, NotificationKind};
use crate::session::{Detail, Session, State};

#[derive(Debug, Serialize)]
struct TvineStatus<'a> {
    status: &'static str,
    event: &'a str,
    updated_at: String,
    session_id: &'a str,
    /// The agent's own id, which changes with `/clear` while the host's stays.
    agent_session_id: &'a str,
    #[serde(rename = "tool")]
    agent: &'static str,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    cwd: Option<&'a str>,
}

/// Returns tvine's word for a state (TV-2).
pub const fn tvine_status(state: State) -> &'static str {
    match state {
        State::Working => "Busy",
        State::WaitingUser => "Waiting",
        State::Completed | State::Stopped => "Idle",
    }
}

/// Returns the JSON to publish after `event`, without a line end; `None` if there is none (X4).
pub fn tvine_message(session: &Session, event: &Event, tvine_session_id: &str) -> Option<String> {
    let is_idle_notice = matches!(event.kind, EventKind::Notified { kind: NotificationKind::Idle });
    if is_idle_notice && session.state() != State::Completed {
        return None;
    }
    let status = TvineStatus {
        status: tvine_status(session.state()),
        event: &event.name,
        updated_at: event.at.to_string(),
        session_id: tvine_session_id,
        agent_session_id: session.key.id.as_str(),
        agent: session.key.agent.as_str(),
        state: session.state().as_str(),
        detail: session.detail().map(Detail::as_str),
        error: session.detail().and_then(Detail::error),
        cwd: session.cwd.as_deref(),
    };
    serde_json::to_string(&status).ok()
}
