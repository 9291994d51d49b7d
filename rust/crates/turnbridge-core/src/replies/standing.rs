//! Returns the state of a reply as one word, the same for the board and for `turnbridge watch`.

use crate::agents::resume;
use crate::replies::reply::Reply;
use crate::replies::reply_plan::{PendingReply, ReplyProgress, is_stop};
use crate::replies::run_result::{RunOutcome, RunResult};
use crate::replies::thread_message::ThreadMessage;

/// Returns the state of a reply that is not finished: `received`, why it waits, `running`, or its
/// outcome.
pub fn of_pending(pending: &PendingReply) -> &'static str {
    match &pending.progress {
        ReplyProgress::Ended(result) => of_finished(&pending.reply, Some(result)),
        ReplyProgress::Running | ReplyProgress::Unstopped | ReplyProgress::Lost => "running",
        ReplyProgress::Waiting => {
            let last = pending.told.iter().rev().find(|message| says_why_it_waits(**message));
            last.map_or("received", |message| message.as_str())
        }
    }
}

const fn says_why_it_waits(message: ThreadMessage) -> bool {
    matches!(
        message,
        ThreadMessage::Held
            | ThreadMessage::Queued
            | ThreadMessage::BehindExec
            | ThreadMessage::AfterAbort
    )
}

/// Returns the state of a finished reply. Without a result it was no prompt, or its runner was
/// killed in version 0.1, which wrote no result then.
pub fn of_finished(reply: &Reply, result: Option<&RunResult>) -> &'static str {
    let is_refused =
        || reply.session().is_some_and(|key| resume::is_refused(key.agent, &reply.text));
    match result {
        Some(result) => result.outcome.as_str(),
        None if is_refused() => "refused",
        None if reply.session().is_none() => "no_route",
        None if is_stop(&reply.text) => "stop",
        None => RunOutcome::Uncertain.as_str(),
    }
}
