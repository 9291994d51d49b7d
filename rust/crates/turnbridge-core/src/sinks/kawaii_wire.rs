//! Builds the lines for Kawaii Terminal (KT): one JSON line per reported event, with the session's
//! pane, for the file that the terminal names.

use serde::Serialize;

use crate::agents::hook_table::HookEventName;
use crate::session::event::{Event, EventKind, NotificationKind};
use crate::session::{Detail, Session, State};

#[derive(Debug, Serialize)]
struct KawaiiLine<'a> {
    source: &'static str,
    event: &'static str,
    session_id: &'a str,
    pane_id: &'a str,
    timestamp: String,
    hook: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<&'a str>,
}

/// Returns the line to append after `event`, with its line end. `before` is the session's state
/// before it. The six events of KT-21 always have a line, others only if the state changed (X39).
/// So an idle or overtaken notification (KT-41, KT-42), or a Stop that the gate has blocked (X8),
/// has a line only if it closed a dialog.
pub fn kawaii_line(
    before: Option<State>,
    session: &Session,
    event: &Event,
    pane_id: &str,
    instance_id: Option<&str>,
) -> Option<String> {
    let state = session.state();
    let always = match (&event.kind, HookEventName::parse(&event.name, event.session.agent)) {
        (EventKind::Notified { kind }, _) => {
            *kind == NotificationKind::DialogOpen && state == State::WaitingUser
        }
        // The turn continues.
        (EventKind::StopBlocked { .. }, _) => false,
        (_, Some(name)) => matches!(
            name,
            HookEventName::SessionStart
                | HookEventName::UserPromptSubmit
                | HookEventName::PermissionRequest
                | HookEventName::Stop
                | HookEventName::SessionEnd
        ),
        (_, None) => false,
    };
    if !always && before == Some(state) {
        return None;
    }
    let line = KawaiiLine {
        source: session.key.agent.as_str(),
        event: state.as_str(),
        session_id: session.key.id.as_str(),
        pane_id,
        timestamp: event.at.to_string(),
        hook: &event.name,
        detail: session.detail().map(Detail::as_str),
        error: session.detail().and_then(Detail::error),
        instance_id,
        cwd: session.cwd.as_deref(),
    };
    let mut line = serde_json::to_string(&line).ok()?;
    line.push('\n');
    Some(line)
}
