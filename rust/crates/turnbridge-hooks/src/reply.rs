//! Tells whoever runs a reply that the agent has it: the run carries the reply's id in its
//! environment (`TURNBRIDGE_REPLY_ID`). After a crash this is what keeps it from running twice.

use turnbridge_core::event::{Event, EventKind};
use turnbridge_store::inbox;
use turnbridge_store::paths::StatePaths;

/// The prompt has arrived, or its turn has ended; other events say nothing about the reply, nor do
/// those of sub-agents.
pub fn acknowledge(paths: &StatePaths, event: &Event) -> Result<(), String> {
    let is_of_reply = matches!(
        event.kind,
        EventKind::PromptSubmitted { .. }
            | EventKind::TurnEnded { .. }
            | EventKind::TurnFailed { .. }
    );
    if !is_of_reply || event.agent_id.is_some() {
        return Ok(());
    }
    let Some(id) = std::env::var_os("TURNBRIDGE_REPLY_ID").filter(|id| !id.is_empty()) else {
        return Ok(());
    };
    let id = id.to_string_lossy();
    // The agent of a reply may start others, which have its environment.
    if !inbox::is_for(paths, &id, event.tool, &event.session_id) {
        return Ok(());
    }
    inbox::acknowledge(paths, &id, &event.name)
        .map_err(|error| format!("the reply's acknowledgement: {error}"))
}
