//! Plans the next steps of the replies in the inbox from the state in their files and from facts
//! that the caller passes. The caller may have just started, after a kill at any moment.
//!
//! The rules: a reply runs at most once, so only an unclaimed one is started. If a reply was
//! claimed and no live process can record its end, its result is found from the evidence
//! (`run_end`). A reply that was not run is never dropped without a message in its thread. Replies
//! of one session run one at a time, in order.

use crate::agents::codex::rollout_tail::QueueObstacle;
use crate::agents::resume::{self, LiveSession};
use crate::ids::SessionKey;
use crate::replies::reply::Reply;
use crate::replies::run_result::{RunOutcome, RunResult};
use crate::replies::thread_message::ThreadMessage;

/// A reply in the inbox, and its progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingReply {
    pub reply: Reply,
    pub progress: ReplyProgress,
    /// The messages about it that its thread has received.
    pub told: Vec<ThreadMessage>,
    /// The message that a killed process was about to post: it may have arrived.
    pub telling: Option<ThreadMessage>,
}

impl PendingReply {
    pub fn id(&self) -> &str {
        &self.reply.id
    }

    /// Returns whether it was written after `other`. Returns false for two different clocks.
    fn is_later_than(&self, other: &PendingReply) -> bool {
        let written = self.reply.written().zip(other.reply.written());
        written.is_some_and(|(own, other)| own > other)
    }

    fn was_told(&self, message: ThreadMessage) -> bool {
        self.told.contains(&message)
    }

    /// Returns the step that posts the message, or `None` if the thread has received it.
    fn tell(&self, message: ThreadMessage) -> Option<ReplyStep> {
        (!self.was_told(message)).then(|| ReplyStep::PostMessage(self.id().to_owned(), message))
    }

    fn tell_then_finish(&self, message: ThreadMessage) -> ReplyStep {
        self.tell(message).unwrap_or_else(|| ReplyStep::Finish(self.id().to_owned()))
    }
}

/// How far the processing of a reply has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyProgress {
    /// No process has claimed it.
    Waiting,
    /// Its runner lives, or the agent that the runner started.
    Running,
    /// A stop was requested, and the runner died before it had ended the agent, which lives.
    Unstopped,
    /// It was claimed, and no live process can record its result.
    Lost,
    Ended(RunResult),
}

/// A step of the plan. The caller does the steps of a list in order, then plans again. A failed
/// step is planned again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyStep {
    /// A receipt is never in one list with the run that it announces (SLV-37).
    PostMessage(String, ThreadMessage),
    /// Start a runner, which claims the reply.
    Run(String),
    /// End the run of this reply.
    Stop(String),
    /// Record the result of a run that died, from the evidence that it has left.
    FindOut(String),
    Finish(String),
}

impl ReplyStep {
    pub fn id(&self) -> &str {
        match self {
            ReplyStep::PostMessage(id, _)
            | ReplyStep::Run(id)
            | ReplyStep::Stop(id)
            | ReplyStep::FindOut(id)
            | ReplyStep::Finish(id) => id,
        }
    }
}

/// The facts that decide about a reply and are not in its files.
pub struct ReplyConditions<'a> {
    /// A runner was started for the reply and has not ended: it may be about to claim.
    pub is_launched: &'a dyn Fn(&str) -> bool,
    /// The user has the session open in a terminal, where a run beside it would not be visible;
    /// with `LiveSession::Pane`, in a terminal that can receive no input now.
    pub is_open: &'a dyn Fn(&SessionKey) -> bool,
    /// A reply to the session is typed into the terminal that has it open; otherwise a separate
    /// process is started.
    pub goes_into_terminal: &'a dyn Fn(&SessionKey) -> bool,
    /// Why the Codex that has the thread open accepts no reply now; `None` if the thread is free.
    pub obstacle: &'a dyn Fn(&SessionKey) -> Option<QueueObstacle>,
    pub live: LiveSession,
}

/// Returns the next steps. `pending` is in the order in which the replies were sent.
pub fn plan(pending: &[PendingReply], around: &ReplyConditions<'_>) -> Vec<ReplyStep> {
    let mut steps = Vec::new();
    // The sessions in which an earlier reply precedes the next ones.
    let mut taken: Vec<(&SessionKey, WaitReason)> = Vec::new();
    for reply in pending {
        let Some(session) = reply.reply.session() else {
            steps.push(reply.tell_then_finish(ThreadMessage::NoRoute));
            continue;
        };
        if reply.progress == ReplyProgress::Waiting && is_stop(&reply.reply.text) {
            steps.extend(stop(reply, pending, around));
            continue;
        }
        let ahead = taken.iter().find(|(other, _)| *other == session).map(|(_, ahead)| *ahead);
        let (step, left) = next_of(reply, session, ahead, around);
        steps.extend(step);
        if let (None, Some(left)) = (ahead, left) {
            taken.push((session, left));
        }
    }
    steps
}

/// Why the session's next reply has to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitReason {
    Run,
    OpenTerminal,
    Codex(QueueObstacle),
}

/// Returns the next step of a reply, and the reason for which later ones wait.
fn next_of(
    reply: &PendingReply,
    session: &SessionKey,
    ahead: Option<WaitReason>,
    around: &ReplyConditions<'_>,
) -> (Option<ReplyStep>, Option<WaitReason>) {
    let id = reply.id().to_owned();
    match &reply.progress {
        ReplyProgress::Ended(result) => (Some(tell_end(reply, result)), None),
        ReplyProgress::Running => (None, Some(WaitReason::Run)),
        ReplyProgress::Unstopped => (Some(ReplyStep::Stop(id)), Some(WaitReason::Run)),
        ReplyProgress::Lost => (Some(ReplyStep::FindOut(id)), Some(WaitReason::Run)),
        ReplyProgress::Waiting if (around.is_launched)(&id) => (None, Some(WaitReason::Run)),
        ReplyProgress::Waiting if resume::is_refused(session.agent, &reply.reply.text) => {
            (Some(reply.tell_then_finish(ThreadMessage::Refused)), None)
        }
        ReplyProgress::Waiting => {
            let is_held = || around.live != LiveSession::Run && (around.is_open)(session);
            let in_codex = || (around.obstacle)(session).map(WaitReason::Codex);
            let ahead =
                ahead.or_else(|| is_held().then_some(WaitReason::OpenTerminal)).or_else(in_codex);
            let is_typed = (around.goes_into_terminal)(session);
            let step = receipt(reply, ahead, is_typed).or_else(|| start(reply, ahead));
            (step, Some(ahead.unwrap_or(WaitReason::Run)))
        }
    }
}

/// Returns the receipt, which is posted and recorded before any run (SLV-37). A reply that has
/// waited may now run the other way: then the other receipt is posted before it starts (X40).
fn receipt(
    reply: &PendingReply,
    ahead: Option<WaitReason>,
    goes_into_terminal: bool,
) -> Option<ReplyStep> {
    let (way, other) = match goes_into_terminal {
        true => (ThreadMessage::TerminalReceipt, ThreadMessage::Receipt),
        false => (ThreadMessage::Receipt, ThreadMessage::TerminalReceipt),
    };
    let is_received_otherwise = ahead.is_some() && reply.was_told(other);
    reply.tell(way).filter(|_| !is_received_otherwise)
}

fn start(reply: &PendingReply, ahead: Option<WaitReason>) -> Option<ReplyStep> {
    match ahead {
        None => Some(ReplyStep::Run(reply.id().to_owned())),
        Some(WaitReason::Run) => reply.tell(ThreadMessage::Queued),
        Some(WaitReason::OpenTerminal) => reply.tell(ThreadMessage::Held),
        Some(WaitReason::Codex(obstacle)) => reply.tell(ThreadMessage::of_obstacle(obstacle)),
    }
}

fn tell_end(reply: &PendingReply, result: &RunResult) -> ReplyStep {
    let has_printed = || result.output.as_ref().is_some_and(|output| !output.trim().is_empty());
    let message = match result.outcome {
        RunOutcome::Done if has_printed() => ThreadMessage::Output,
        RunOutcome::Done | RunOutcome::HandedOver | RunOutcome::Dropped => {
            return ReplyStep::Finish(reply.id().to_owned());
        }
        RunOutcome::NotBegun => ThreadMessage::NotBegun,
        RunOutcome::Failed => ThreadMessage::Failed,
        RunOutcome::Stopped => ThreadMessage::Stopped,
        RunOutcome::Uncertain => ThreadMessage::Uncertain,
        RunOutcome::Interrupted => ThreadMessage::Interrupted,
    };
    reply.tell_then_finish(message)
}

/// Returns whether a reply's text is a request to end its session's current run, and no prompt. It
/// does not end a run whose prompt was written later.
pub fn is_stop(text: &str) -> bool {
    let text = text.trim();
    text.eq_ignore_ascii_case("stop") || text.eq_ignore_ascii_case("/stop")
}

fn stop(
    reply: &PendingReply,
    pending: &[PendingReply],
    around: &ReplyConditions<'_>,
) -> Vec<ReplyStep> {
    let is_under_way = |other: &&PendingReply| {
        let is_launched = || (around.is_launched)(other.id());
        match other.progress {
            ReplyProgress::Running | ReplyProgress::Unstopped => true,
            ReplyProgress::Waiting => is_launched(),
            ReplyProgress::Lost | ReplyProgress::Ended(_) => false,
        }
    };
    let is_meant = |other: &&PendingReply| {
        other.reply.session() == reply.reply.session() && !other.is_later_than(reply)
    };
    let mut of_session = pending.iter().filter(is_meant);
    match of_session.find(is_under_way) {
        Some(running) => {
            vec![ReplyStep::Stop(running.id().to_owned()), ReplyStep::Finish(reply.id().to_owned())]
        }
        None => {
            vec![reply.tell_then_finish(ThreadMessage::NothingToStop)]
        }
    }
}

#[cfg(test)]
mod tests;
