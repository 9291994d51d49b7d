//! Records that the agent has received a reply, or has ended its turn, for the process that runs
//! it. The run has the reply's id in its environment (`TURNBRIDGE_REPLY_ID`). After a crash the
//! record shows whether the reply's turn has ended.

use turnbridge_core::session::event::{Event, EventKind};
use turnbridge_store::paths::StatePaths;
use turnbridge_store::process;
use turnbridge_store::state::inbox;

/// Writes the acknowledgement if the prompt has arrived or its turn has ended. Other events, and
/// those of sub-agents, mean nothing for the reply.
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
    // The event's process is not used, because a Codex thread has none there.
    let agent = process::calling_agent();
    inbox::acknowledge(paths, &id.to_string_lossy(), session, &event.name, agent)
        .map_err(|error| format!("the reply's acknowledgement: {error}"))
}
