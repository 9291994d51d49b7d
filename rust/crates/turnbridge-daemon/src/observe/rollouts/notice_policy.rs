//! Decides which events of a rollout make a notice: a turn that ended or failed, an open question.
//! A turn that the user aborted needs none, and threads that work for another thread have no user.

use std::path::Path;

use turnbridge_core::agents::codex::rollout::{RolloutEvent, is_title_request};
use turnbridge_core::agents::codex::rollout_wire::ThreadKind;
use turnbridge_core::ids::{Agent, NamedSession, is_uuid};
use turnbridge_core::notices::notice::{Notice, codex_turn_id};
use turnbridge_core::session::dialogs::asks_the_user;
use turnbridge_core::session::event::EventKind;

use super::rollout_file::FollowedThread;

/// The limit of a call id's length in a notice id, which must be a valid file name.
const LONGEST_CALL: usize = 40;

/// The notices that are wanted now.
#[derive(Debug, Clone, Copy)]
pub struct NoticePolicy {
    /// `false`: only the state is recorded. Turns that ended before the first start need no notice.
    pub is_on: bool,
    /// `[notify] waiting`.
    pub waiting: bool,
}

impl NoticePolicy {
    /// Returns the notice of an event. `thread` is the state after the event.
    pub fn notice_of(
        self,
        thread: &FollowedThread,
        event: &RolloutEvent,
        path: &Path,
    ) -> Option<Notice> {
        let is_told = match &event.kind {
            EventKind::TurnEnded { .. } | EventKind::TurnFailed { .. } => true,
            EventKind::ToolStarting { call, .. } => asks_the_user(&call.tool) && self.waiting,
            _ => false,
        };
        let rollout = &thread.rollout;
        let meta = rollout.meta().filter(|meta| meta.kind == ThreadKind::User)?;
        let thread_id = meta.id.as_deref().filter(|id| is_uuid(id) && self.is_on && is_told)?;
        // A turn without a prompt is not the user's: `/compact`, a title.
        let prompt = rollout.prompt().filter(|prompt| !is_title_request(prompt))?;
        let id = codex_turn_id(thread_id, rollout.turn_id()).unwrap_or_else(|| {
            let at = thread.said_at.unwrap_or_default();
            format!("{}-{thread_id}-{:x}", Agent::Codex, at.as_micros())
        });
        Some(Notice {
            turn_id: rollout.turn_id().map(str::to_owned),
            cwd: rollout.cwd().map(str::to_owned),
            transcript_path: path.to_str().map(str::to_owned),
            prompt: Some(prompt.to_owned()),
            ..of_kind(event, id, NamedSession::of_agent(Agent::Codex, thread_id))?
        })
    }
}

/// Returns the notice with the event's own texts, or `None` if the event makes none. `id` is the
/// turn's.
fn of_kind(event: &RolloutEvent, id: String, thread: NamedSession) -> Option<Notice> {
    let (notice, answer) = match &event.kind {
        EventKind::TurnEnded { answer, .. } => (Notice::turn(id, thread, event.at), answer),
        EventKind::TurnFailed { answer, error } => {
            (Notice::failed(id, thread, error.clone(), event.at), answer)
        }
        EventKind::ToolStarting { call, .. } => {
            let id = waiting_id(&id, call.id.as_deref());
            (Notice::waiting(id, thread, Some(call.tool.clone()), event.at), &None)
        }
        _ => return None,
    };
    let answers = answer.iter().filter(|answer| !answer.trim().is_empty()).cloned().collect();
    Some(Notice { answers, ..notice })
}

fn waiting_id(turn: &str, call: Option<&str>) -> String {
    let is_safe = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '_';
    let call: String =
        call.unwrap_or("question").chars().filter(is_safe).take(LONGEST_CALL).collect();
    format!("{turn}-waiting-{call}")
}

/// Returns whether a later line may invalidate the notice; such notices are held for a moment.
/// Outside plan mode Codex refuses a question immediately. A thread without end records (before
/// about 0.100) only looks finished after an agent's message, and a tool call may follow.
pub fn may_turn_out_untrue(kind: &EventKind, is_end_record: bool) -> bool {
    match kind {
        EventKind::ToolStarting { .. } => true,
        EventKind::TurnEnded { .. } => !is_end_record,
        _ => false,
    }
}
