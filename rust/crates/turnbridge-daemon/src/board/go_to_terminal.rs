//! Handles "Go to terminal": switches to the session's pane, or resumes the session in a new one.
//! If neither is possible, it returns a command for the user, unless the agent has the session open
//! and may not open it twice.

use serde_json::{Value, json};
use turnbridge_core::ids::SessionKey;
use turnbridge_store::clock;
use turnbridge_store::paths::StatePaths;
use turnbridge_system::focus::{FocusAction, Focused};
use turnbridge_system::observe::current_sessions::current_session;

use super::failure::failure_json;
use super::http::HttpResponse;

/// Goes to the session's terminal. Returns `None` if the session does not exist.
pub fn go(paths: &StatePaths, key: &SessionKey) -> Option<HttpResponse> {
    let session = current_session(paths, key, clock::now())?;
    let focused = Focused::go(paths, session, |_| {});
    let answer = focused.map_or_else(|error| failure_json(&error), |focused| shown(&focused));
    Some(HttpResponse::json(200, &answer))
}

fn shown(focused: &Focused) -> Value {
    let mut answer = focused.to_json();
    let is_done = !matches!(focused.done, FocusAction::OnlyCommand);
    let mut shown = json!({
        "ok": is_done, "done": answer["done"].take(), "terminal": answer["terminal"].take(),
        "open": focused.is_open,
    });
    if !is_done && !focused.is_open_elsewhere() {
        shown["command"] = answer["command"].take();
    }
    shown
}
