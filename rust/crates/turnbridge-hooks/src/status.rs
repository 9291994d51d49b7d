//! Runs `turnbridge-status`: records every event except Claude's Stop, allows Turnbridge's own
//! speak, and ends a speech when the user types a prompt.

use std::io::Write;

use turnbridge_core::agents::hook_table::HookProgram;
use turnbridge_core::session::event::{Event, EventKind};
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::state::config_text::ConfigText;
use turnbridge_store::state::folder_trust::trusted_state;
use turnbridge_store::state::speech_mark;

use crate::arguments::HookOptions;
use crate::call::{self, Announce};
use crate::own_speak;

/// The output by which Claude continues without asking.
const ALLOW: &[u8] = b"{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\
    \"permissionDecision\":\"allow\",\
    \"permissionDecisionReason\":\"Turnbridge's own speak\"}}\n";

pub fn handle(options: &HookOptions, config: &ConfigText, at: Timestamp) -> u8 {
    let Some(mut received) = call::receive(HookProgram::Status, options, at) else {
        return 0;
    };
    received.announce();
    let event = &received.event;
    match &event.kind {
        EventKind::ToolStarting { call, server, .. }
            if own_speak::is_allowed(options, event, &call.tool, server.as_deref()) =>
        {
            let _ = std::io::stdout().write_all(ALLOW);
        }
        EventKind::PromptSubmitted { prompt } if is_typed(event, prompt) => fall_silent(at),
        _ => {}
    }
    call::record(HookProgram::Status, received, Announce::Yes, config);
    0
}

/// Returns whether the user typed the prompt, and so has stopped listening. This does not hold for
/// a script's prompt, or for one that Claude gives itself because a background task has ended.
fn is_typed(event: &Event, prompt: &str) -> bool {
    let is_headless = event.host.as_ref().is_some_and(|host| host.is_headless());
    !is_headless && !prompt.starts_with("<task-notification>")
}

fn fall_silent(at: Timestamp) {
    let Some(paths) = trusted_state() else { return };
    if let Err(error) = speech_mark::cut_off(&paths) {
        let fields = [("reason", error.to_string().into())];
        call::log_problem(HookProgram::Status, at, "the speech could not be cut off", &fields);
    }
}
