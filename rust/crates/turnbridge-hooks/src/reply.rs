//! Tells whoever runs a reply that the agent has it: the run carries the reply's id in its
//! environment (`TURNBRIDGE_REPLY_ID`). After a crash this tells whether its turn has ended.

use turnbridge_core::session::event::{Event, EventKind};
use turnbridge_store::paths::StatePaths;
use turnbridge_store::process;
use turnbridge_store::state::inbox;

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
    let Some(id) = std::env::var_os(inbox::REPLY_ID).filter(|id| !id.is_empty()) else {
        return Ok(());
    };
    let session = &event.session;
    // Not the event's: a Codex thread has no process of its own there.
    let agent = process::calling_agent();
    inbox::acknowledge(paths, &id.to_string_lossy(), session, &event.name, agent)
        .map_err(|error| format!("the reply's acknowledgement: {error}"))
}
