//! What is to be done next with the replies that have come in. Looks at what their files say, and
//! at nothing else: whoever asks may have been started a moment ago, after any kill.
//!
//! The rules: a reply is run at most once, and one that was not run is never forgotten without a
//! word in its thread. Not claimed → it runs. Claimed → never again. Claimed, and nobody alive who
//! could write down its end → evidence of the end is looked for, and what that says is told
//! (`run_end`). Replies of one session run one at a time, in order.

use crate::agents::codex::rollout_tail::Obstacle;
use crate::agents::resume::{self, Live};
use crate::ids::{Agent, SessionId};
use crate::replies::reply_wire::{Outcome, RunResult};
use crate::slack::slack_ts::SlackTs;

/// A reply that is not finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    pub id: String,
    /// `None`: its thread is not known (SLV-85).
    pub session: Option<(Agent, SessionId)>,
    pub text: String,
    /// When it was written, by Slack's clock. `None`: it came from elsewhere.
    pub written: Option<SlackTs>,
    pub told: Vec<Told>,
    pub progress: Progress,
}

impl Pending {
    /// Whether it was written after `other`. Two clocks are not compared: then it is not.
    fn is_later_than(&self, other: &Pending) -> bool {
        self.written.zip(other.written).is_some_and(|(own, other)| own > other)
    }

    fn was_told(&self, told: Told) -> bool {
        self.told.contains(&told)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Nobody has claimed it.
    Waiting,
    /// Its runner lives, or the agent that it started does.
    Running,
    /// Its end was asked for, and its runner died before it had ended the agent, which lives.
    Unstopped,
    /// Claimed; nobody lives who could write down what came of it.
    Lost,
    Ended(RunResult),
}

/// What has been said about a reply where it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Told {
    /// A process of its own is started for it (SLV-84).
    Receipt,
    /// It goes into the terminal that has the session open (X40).
    TerminalReceipt,
    Queued,
    Held,
    /// `Obstacle::Exec`
    BehindExec,
    /// `Obstacle::Aborted`
    AfterAbort,
    NotBegun,
    Failed,
    Output,
    Uncertain,
    Interrupted,
    Stopped,
    NoRoute,
    Refused,
    NothingToStop,
}

impl Told {
    pub const ALL: [Told; 15] = [
        Told::Receipt,
        Told::TerminalReceipt,
        Told::Queued,
        Told::Held,
        Told::BehindExec,
        Told::AfterAbort,
        Told::NotBegun,
        Told::Failed,
        Told::Output,
        Told::Uncertain,
        Told::Interrupted,
        Told::Stopped,
        Told::NoRoute,
        Told::Refused,
        Told::NothingToStop,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Told::Receipt => "receipt",
            Told::TerminalReceipt => "terminal_receipt",
            Told::Queued => "queued",
            Told::Held => "held",
            Told::BehindExec => "behind_exec",
            Told::AfterAbort => "after_abort",
            Told::NotBegun => "not_begun",
            Told::Failed => "failed",
            Told::Output => "output",
            Told::Uncertain => "uncertain",
            Told::Interrupted => "interrupted",
            Told::Stopped => "stopped",
            Told::NoRoute => "no_route",
            Told::Refused => "refused",
            Told::NothingToStop => "nothing_to_stop",
        }
    }

    /// Whether it is said of a reply that is run, or waits to be run, as a `resume`.
    pub const fn is_of_run(self) -> bool {
        !matches!(self, Told::TerminalReceipt | Told::NoRoute | Told::Refused | Told::NothingToStop)
    }

    /// Whether Turnbridge itself has worded it (SLV-84 to 86 and their like); else the agent has.
    pub const fn is_fixed_text(self) -> bool {
        !matches!(self, Told::Output)
    }

    const fn of(obstacle: Obstacle) -> Told {
        match obstacle {
            Obstacle::Exec => Told::BehindExec,
            Obstacle::Aborted => Told::AfterAbort,
        }
    }

    pub fn parse(text: &str) -> Option<Told> {
        Told::ALL.into_iter().find(|told| told.as_str() == text)
    }
}

/// One thing to do. All of a list may be done, in its order; then ask again. A step that has failed
/// comes again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// SLV-84. Never in one list with the run that it announces (SLV-37).
    Receipt(String),
    /// X40: the same, for a reply that goes into an open terminal.
    TerminalReceipt(String),
    TellQueued(String),
    TellHeld(String),
    /// Why a Codex that has the thread open is not given the reply yet.
    TellObstacle(String, Obstacle),
    /// Codex has it in its queue, and has not begun it.
    TellNotBegun(String),
    /// Start a runner. It claims the reply itself.
    Run(String),
    /// End the run of this reply.
    Stop(String),
    /// SLV-86, with what `RunResult` says of the reason.
    TellFailed(String, RunResult),
    /// What the agent printed.
    TellOutput(String, String),
    TellStopped(String),
    TellUncertain(String),
    /// With what `RunResult` says of the reason.
    TellInterrupted(String, RunResult),
    TellNoRoute(String),
    TellRefused(String),
    TellNothingToStop(String),
    /// Write down what came of a run that died, by the evidence that it has left.
    FindOut(String),
    Finish(String),
}

impl Step {
    pub fn id(&self) -> &str {
        match self {
            Step::Receipt(id)
            | Step::TerminalReceipt(id)
            | Step::TellQueued(id)
            | Step::TellHeld(id)
            | Step::TellObstacle(id, _)
            | Step::TellNotBegun(id)
            | Step::Run(id)
            | Step::Stop(id)
            | Step::TellFailed(id, _)
            | Step::TellOutput(id, _)
            | Step::TellStopped(id)
            | Step::TellUncertain(id)
            | Step::TellInterrupted(id, _)
            | Step::TellNoRoute(id)
            | Step::TellRefused(id)
            | Step::TellNothingToStop(id)
            | Step::FindOut(id)
            | Step::Finish(id) => id,
        }
    }

    /// What is on record once it has been done; `None` when nothing is said.
    pub const fn told(&self) -> Option<Told> {
        match self {
            Step::Receipt(_) => Some(Told::Receipt),
            Step::TerminalReceipt(_) => Some(Told::TerminalReceipt),
            Step::TellQueued(_) => Some(Told::Queued),
            Step::TellHeld(_) => Some(Told::Held),
            Step::TellObstacle(_, obstacle) => Some(Told::of(*obstacle)),
            Step::TellNotBegun(_) => Some(Told::NotBegun),
            Step::TellFailed(..) => Some(Told::Failed),
            Step::TellOutput(..) => Some(Told::Output),
            Step::TellStopped(_) => Some(Told::Stopped),
            Step::TellUncertain(_) => Some(Told::Uncertain),
            Step::TellInterrupted(..) => Some(Told::Interrupted),
            Step::TellNoRoute(_) => Some(Told::NoRoute),
            Step::TellRefused(_) => Some(Told::Refused),
            Step::TellNothingToStop(_) => Some(Told::NothingToStop),
            Step::Run(_) | Step::Stop(_) | Step::FindOut(_) | Step::Finish(_) => None,
        }
    }
}

/// What is known beside the files.
pub struct Surroundings<'a> {
    /// A runner was started for it that has not ended: it may be about to claim.
    pub is_launched: &'a dyn Fn(&str) -> bool,
    /// A person has the session open in a terminal, where a run beside it would not be seen; with
    /// `Live::Pane`, in one into which nothing can be typed now.
    pub is_open: &'a dyn Fn(Agent, &SessionId) -> bool,
    /// A reply to it goes into the terminal that has the session open; else a process of its own is
    /// started for it.
    pub goes_into_terminal: &'a dyn Fn(Agent, &SessionId) -> bool,
    /// Why the Codex that has the thread open takes no reply now; `None` for a thread that is free.
    pub obstacle: &'a dyn Fn(Agent, &SessionId) -> Option<Obstacle>,
    pub live: Live,
}

/// `pending` in the order in which they were sent.
pub fn plan(pending: &[Pending], around: &Surroundings<'_>) -> Vec<Step> {
    let mut steps = Vec::new();
    // Sessions in which a reply stands before the next ones.
    let mut taken: Vec<(&(Agent, SessionId), Ahead)> = Vec::new();
    for reply in pending {
        let Some(session) = &reply.session else {
            let tell = Step::TellNoRoute(reply.id.clone());
            steps.push(tell_then_finish(reply, Told::NoRoute, tell));
            continue;
        };
        if reply.progress == Progress::Waiting && is_stop(&reply.text) {
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

/// Why the next reply of the session has to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ahead {
    Run,
    OpenTerminal,
    Codex(Obstacle),
}

/// The next step of one reply, and what it leaves the ones behind it to wait for.
fn next_of(
    reply: &Pending,
    session: &(Agent, SessionId),
    ahead: Option<Ahead>,
    around: &Surroundings<'_>,
) -> (Option<Step>, Option<Ahead>) {
    let id = reply.id.clone();
    match &reply.progress {
        Progress::Ended(result) => (Some(tell_end(reply, result)), None),
        Progress::Running => (None, Some(Ahead::Run)),
        Progress::Unstopped => (Some(Step::Stop(id)), Some(Ahead::Run)),
        Progress::Lost => (Some(Step::FindOut(id)), Some(Ahead::Run)),
        Progress::Waiting if (around.is_launched)(&id) => (None, Some(Ahead::Run)),
        Progress::Waiting if resume::is_refused(session.0, &reply.text) => {
            let tell = Step::TellRefused(id);
            (Some(tell_then_finish(reply, Told::Refused, tell)), None)
        }
        Progress::Waiting => {
            let is_held = || around.live != Live::Run && (around.is_open)(session.0, &session.1);
            let in_codex = || (around.obstacle)(session.0, &session.1).map(Ahead::Codex);
            let ahead =
                ahead.or_else(|| is_held().then_some(Ahead::OpenTerminal)).or_else(in_codex);
            let is_typed = (around.goes_into_terminal)(session.0, &session.1);
            let step = receipt(reply, ahead, is_typed).or_else(|| start(reply, ahead));
            (step, Some(ahead.unwrap_or(Ahead::Run)))
        }
    }
}

/// SLV-37: the receipt first, and on record, before anything runs. A reply that has waited may go
/// another way by now than its receipt said: then the other receipt follows before it starts (X40).
fn receipt(reply: &Pending, ahead: Option<Ahead>, goes_into_terminal: bool) -> Option<Step> {
    let id = reply.id.clone();
    let step = if goes_into_terminal { Step::TerminalReceipt(id) } else { Step::Receipt(id) };
    let is_received = reply.was_told(Told::Receipt) || reply.was_told(Told::TerminalReceipt);
    let is_true = step.told().is_some_and(|told| reply.was_told(told));
    let is_due = !is_received || (ahead.is_none() && !is_true);
    is_due.then_some(step)
}

fn start(reply: &Pending, ahead: Option<Ahead>) -> Option<Step> {
    let id = reply.id.clone();
    match ahead {
        None => Some(Step::Run(id)),
        Some(Ahead::Run) => (!reply.was_told(Told::Queued)).then_some(Step::TellQueued(id)),
        Some(Ahead::OpenTerminal) => (!reply.was_told(Told::Held)).then_some(Step::TellHeld(id)),
        Some(Ahead::Codex(obstacle)) => {
            let is_told = reply.was_told(Told::of(obstacle));
            (!is_told).then_some(Step::TellObstacle(id, obstacle))
        }
    }
}

fn tell_end(reply: &Pending, result: &RunResult) -> Step {
    let id = reply.id.clone();
    match (result.outcome, &result.output) {
        (Outcome::Done, Some(output)) if !output.trim().is_empty() => {
            tell_then_finish(reply, Told::Output, Step::TellOutput(id, output.clone()))
        }
        (Outcome::Done | Outcome::HandedOver | Outcome::Dropped, _) => Step::Finish(id),
        (Outcome::NotBegun, _) => tell_then_finish(reply, Told::NotBegun, Step::TellNotBegun(id)),
        (Outcome::Failed, _) => {
            tell_then_finish(reply, Told::Failed, Step::TellFailed(id, result.clone()))
        }
        (Outcome::Stopped, _) => tell_then_finish(reply, Told::Stopped, Step::TellStopped(id)),
        (Outcome::Uncertain, _) => {
            tell_then_finish(reply, Told::Uncertain, Step::TellUncertain(id))
        }
        (Outcome::Interrupted, _) => {
            let tell = Step::TellInterrupted(id, result.clone());
            tell_then_finish(reply, Told::Interrupted, tell)
        }
    }
}

fn tell_then_finish(reply: &Pending, told: Told, tell: Step) -> Step {
    if reply.was_told(told) { Step::Finish(reply.id.clone()) } else { tell }
}

/// A reply that is no prompt: it ends the run of its session that is under way, unless that run's
/// prompt was written later.
pub fn is_stop(text: &str) -> bool {
    let text = text.trim();
    text.eq_ignore_ascii_case("stop") || text.eq_ignore_ascii_case("/stop")
}

fn stop(reply: &Pending, pending: &[Pending], around: &Surroundings<'_>) -> Vec<Step> {
    let is_under_way = |other: &&Pending| {
        let is_launched = || (around.is_launched)(&other.id);
        match other.progress {
            Progress::Running | Progress::Unstopped => true,
            Progress::Waiting => is_launched(),
            Progress::Lost | Progress::Ended(_) => false,
        }
    };
    let is_meant = |other: &&Pending| other.session == reply.session && !other.is_later_than(reply);
    let mut of_session = pending.iter().filter(is_meant);
    match of_session.find(is_under_way) {
        Some(running) => vec![Step::Stop(running.id.clone()), Step::Finish(reply.id.clone())],
        None => {
            let tell = Step::TellNothingToStop(reply.id.clone());
            vec![tell_then_finish(reply, Told::NothingToStop, tell)]
        }
    }
}

#[cfg(test)]
mod tests;
