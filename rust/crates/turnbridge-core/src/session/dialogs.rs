//! Tracks the dialogs that are open for the user: the part of the state table that sets
//! `waiting_user`.
//!
//! A dialog belongs to a tool call, and only events of that call close it. Claude runs read-only
//! tools in parallel, so other calls begin and end while a dialog is open, also of the same tool;
//! sub-agents have their own dialogs. Both were seen with Claude Code 2.1.197. PermissionRequest
//! does not name its call: tool and input find it among the open calls. The agent's next tool event
//! closes a dialog whose call is unknown.

use std::time::Duration;

use crate::session::advance::{EventOrder, is_addition};
use crate::session::event::{Event, EventKind, NotificationKind, SessionSource, ToolCall};
use crate::session::{OpenCall, Run, Wait};

/// The delay of Claude's dialog notifications: six seconds after the dialog, less half a second for
/// transport. An event newer than the dialog has overtaken the notification.
const NOTIFICATION_DELAY: Duration = Duration::from_millis(5_500);

/// The limit of stored calls. No model has been seen to start more in parallel.
const MAX_CALLS: usize = 64;

/// Opens and closes dialogs and tool calls of the run by an event.
pub(crate) fn track_dialogs(run: &mut Run, event: &Event, order: EventOrder) {
    let agent = event.agent_id.as_deref();
    match (&event.kind, order) {
        (EventKind::ToolStarting { call, .. }, _) => begin_call(run, call, event, order),
        (EventKind::DialogOpened { call: Some(call) }, _) => open_dialog(run, call, event, order),
        (EventKind::ToolEnded { call, .. }, _) => end_call(run, call, agent),
        (EventKind::DialogAnswered { call: Some(call) }, _) => close_dialog(run, call, agent),
        // The arms below depend on the order of events, so they ignore late ones.
        (_, EventOrder::Late) => {}
        (EventKind::DialogOpened { call: None } | EventKind::DialogSeen, _) => {
            run.waits.push(wait(None, None, event));
        }
        (EventKind::DialogAnswered { call: None }, _) => {
            run.waits.retain(|wait| wait.call_id.is_some() || wait.agent_id.as_deref() != agent);
        }
        (EventKind::Notified { kind: NotificationKind::DialogOpen }, _) => {
            let is_overtaken = run.last_at > event.at.minus(NOTIFICATION_DELAY);
            if run.waits.is_empty() && !is_overtaken {
                run.waits.push(wait(None, None, event));
            }
        }
        (EventKind::SessionStarted { source: SessionSource::Fresh }, _)
        | (EventKind::Interrupted, _) => {
            run.waits.clear();
            run.calls.clear();
        }
        (EventKind::DialogsClosed, _) => run.waits.clear(),
        (EventKind::PromptSubmitted { .. }, _) if is_addition(run, event) => {}
        (
            EventKind::TurnStarted
            | EventKind::PromptSubmitted { .. }
            | EventKind::ToolBatchEnded { .. }
            | EventKind::TurnEnded { .. }
            | EventKind::StopBlocked { .. }
            | EventKind::TurnFailed { .. }
            | EventKind::SubagentEnded,
            _,
        ) => forget_agent(run, agent),
        (
            EventKind::SessionStarted { source: SessionSource::Compact }
            | EventKind::Notified { .. }
            | EventKind::SubagentStarted
            | EventKind::RunEnded { .. }
            | EventKind::ProcessGone
            | EventKind::PaneLeft { .. },
            _,
        ) => {}
    }
}

fn begin_call(run: &mut Run, call: &ToolCall, event: &Event, order: EventOrder) {
    let agent = event.agent_id.as_deref();
    if order == EventOrder::InTime {
        close_unknown_dialogs(run, agent);
    }
    let Some(id) = &call.id else {
        if asks_the_user(&call.tool) && order == EventOrder::InTime {
            run.waits.push(wait(None, Some(&call.tool), event));
        }
        return;
    };
    if run.calls.len() >= MAX_CALLS {
        run.calls.remove(0);
    }
    run.calls.push(OpenCall {
        id: id.clone(),
        tool: call.tool.clone(),
        input: call.input,
        agent_id: agent.map(str::to_owned),
    });
    if asks_the_user(&call.tool) {
        run.waits.push(wait(Some(id), Some(&call.tool), event));
    }
}

fn open_dialog(run: &mut Run, call: &ToolCall, event: &Event, order: EventOrder) {
    let agent = event.agent_id.as_deref();
    let is_it = |open: &&OpenCall| {
        open.tool == call.tool && open.input == call.input && open.agent_id.as_deref() == agent
    };
    let has_dialog = |open: &&OpenCall| {
        run.waits.iter().any(|wait| wait.call_id.as_deref() == Some(open.id.as_str()))
    };
    let candidates: Vec<&OpenCall> = run.calls.iter().filter(is_it).collect();
    match candidates.iter().find(|open| !has_dialog(open)) {
        Some(open) => {
            let wait = wait(Some(&open.id), Some(&call.tool), event);
            run.waits.push(wait);
        }
        // A question whose dialog is known from its PreToolUse.
        None if !candidates.is_empty() => {}
        // Late and without an open call: the call has ended meanwhile.
        None if order == EventOrder::Late => {}
        None => run.waits.push(wait(None, Some(&call.tool), event)),
    }
}

fn end_call(run: &mut Run, call: &ToolCall, agent: Option<&str>) {
    close_dialog(run, call, agent);
    run.calls.retain(|open| Some(&open.id) != call.id.as_ref());
}

fn close_dialog(run: &mut Run, call: &ToolCall, agent: Option<&str>) {
    let is_known = run.calls.iter().any(|open| Some(&open.id) == call.id.as_ref());
    run.waits.retain(|wait| {
        if is_known {
            return wait.call_id.is_none() || wait.call_id != call.id;
        }
        // Its beginning was not seen, so only the tool's name can match.
        wait.agent_id.as_deref() != agent || wait.tool.as_ref() != Some(&call.tool)
    });
    close_unknown_dialogs(run, agent);
}

fn close_unknown_dialogs(run: &mut Run, agent: Option<&str>) {
    run.waits.retain(|wait| wait.call_id.is_some() || wait.agent_id.as_deref() != agent);
}

/// Closes an agent's dialogs and calls. A background agent and its dialog outlive their turn.
fn forget_agent(run: &mut Run, agent: Option<&str>) {
    run.waits.retain(|wait| wait.agent_id.as_deref() != agent);
    run.calls.retain(|call| call.agent_id.as_deref() != agent);
}

fn wait(call_id: Option<&String>, tool: Option<&String>, event: &Event) -> Wait {
    Wait {
        call_id: call_id.cloned(),
        tool: tool.cloned(),
        agent_id: event.agent_id.clone(),
        opened_at: event.at,
    }
}

/// Returns whether the tool is itself a dialog; PermissionRequest does not always report these
/// (TV-20). The last one is Codex's (KT-47).
pub fn asks_the_user(tool: &str) -> bool {
    matches!(tool, "AskUserQuestion" | "ExitPlanMode" | "request_user_input")
}
