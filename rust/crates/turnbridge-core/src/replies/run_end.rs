//! Decides the result of a reply's run if its process did not report it: the runner or the agent
//! was killed, another Codex has taken the reply, or the agent has failed.
//!
//! The evidence is the acknowledgement of the agent's hooks, the record of the turn, and the
//! agent's transcript or rollout. That the agent has seen a prompt does not show how its turn
//! ended.

use crate::replies::holder::StartedProgram;
use crate::replies::run_result::{Reason, RunOutcome, RunResult};
use crate::replies::turn_trace::{TurnEnd, TurnTrace};
use crate::timestamp::Timestamp;

/// The traces of a run, from which its result is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The process that the runner started. `None`: no process; it may have typed into a terminal.
    pub way: Option<StartedProgram>,
    /// A hook of the agent has seen the prompt.
    pub is_acknowledged: bool,
    /// The end of the turn that a hook of the agent has seen.
    pub seen_end: Option<TurnEnd>,
    /// The result of the search in the agent's record.
    pub trace: TurnTrace,
    pub is_stop_requested: bool,
    /// The output of the process.
    pub printed: String,
    /// The reply is a command of Claude's, which may have no turn.
    pub is_command: bool,
}

impl Evidence {
    fn end(&self) -> Option<TurnEnd> {
        self.seen_end.or(match self.trace {
            TurnTrace::Ended(end) => Some(end),
            TurnTrace::Absent | TurnTrace::Open | TurnTrace::Left => None,
        })
    }

    fn has_reached_agent(&self) -> bool {
        self.is_acknowledged || self.seen_end.is_some() || self.trace != TurnTrace::Absent
    }

    /// Returns the output if no hook has seen a turn, because then no notice contains it.
    fn untold_output(&self) -> Option<String> {
        let is_told = self.is_acknowledged || self.seen_end.is_some();
        (!is_told && !self.printed.trim().is_empty()).then(|| self.printed.clone())
    }
}

/// Returns the result of a run whose processes have all ended. `now` is when that was observed.
pub fn judge(evidence: &Evidence, now: Timestamp) -> RunResult {
    match evidence.way {
        // The hooks of an agent that Turnbridge did not start do not know the reply.
        None if !evidence.is_acknowledged => RunResult::new(handed_over(evidence), now),
        Some(StartedProgram::Queue) => RunResult::new(queued(evidence), now),
        None | Some(StartedProgram::Agent) => of_agent(evidence, now),
    }
}

/// Judges a reply for an agent that Turnbridge did not start: handed over, or not known.
fn handed_over(evidence: &Evidence) -> RunOutcome {
    if evidence.has_reached_agent() { RunOutcome::HandedOver } else { RunOutcome::Uncertain }
}

/// Returns the outcome of a reply that `codex queue` has taken: it begins only with its record in
/// the rollout.
pub fn queued(evidence: &Evidence) -> RunOutcome {
    let is_taken = evidence.printed.starts_with("Queued message");
    match handed_over(evidence) {
        // A `codex exec` that opened the thread meanwhile begins it at its own end, and aborts it.
        _ if evidence.end() == Some(TurnEnd::Interrupted) => RunOutcome::Interrupted,
        RunOutcome::Uncertain if is_taken => RunOutcome::NotBegun,
        outcome => outcome,
    }
}

/// Returns the present outcome of a reply that had not begun when its result was written, by the
/// turn that the queue has started for it since. Returns `None` if there is no such turn.
pub const fn begun_later(trace: TurnTrace) -> Option<RunOutcome> {
    match trace {
        TurnTrace::Absent => None,
        TurnTrace::Ended(TurnEnd::Interrupted) => Some(RunOutcome::Interrupted),
        TurnTrace::Open | TurnTrace::Left | TurnTrace::Ended(_) => Some(RunOutcome::HandedOver),
    }
}

fn of_agent(evidence: &Evidence, now: Timestamp) -> RunResult {
    let done =
        || RunResult { output: evidence.untold_output(), ..RunResult::new(RunOutcome::Done, now) };
    match evidence.end() {
        Some(TurnEnd::Ok) => done(),
        _ if evidence.is_stop_requested => RunResult::new(RunOutcome::Stopped, now),
        Some(TurnEnd::Failed) => RunResult::failed(Reason::TurnFailed, None, now),
        Some(TurnEnd::Interrupted) => RunResult::new(RunOutcome::Interrupted, now),
        // Claude prints the output of a command when the command is over.
        None if evidence.is_command && evidence.untold_output().is_some() => done(),
        None if evidence.has_reached_agent() => RunResult::new(RunOutcome::Interrupted, now),
        None => RunResult::new(RunOutcome::Uncertain, now),
    }
}

/// Returns the result of a run whose agent has failed or was ended by a signal, while its runner
/// lived on. `result` is the result by the agent's exit status.
pub fn judge_failure(evidence: &Evidence, result: RunResult) -> RunResult {
    let is_cut_off = result.reason == Some(Reason::Signal) && evidence.has_reached_agent();
    match evidence.end() {
        // The agent was killed while it was exiting.
        Some(TurnEnd::Ok) => RunResult {
            outcome: RunOutcome::Done,
            reason: None,
            output: evidence.untold_output(),
            ..result
        },
        Some(TurnEnd::Failed) => result,
        Some(TurnEnd::Interrupted) | None if is_cut_off => {
            RunResult { outcome: RunOutcome::Interrupted, ..result }
        }
        Some(TurnEnd::Interrupted) | None => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: Option<TurnEnd> = Some(TurnEnd::Ok);
    const FAILED: Option<TurnEnd> = Some(TurnEnd::Failed);
    const ENDED_OK: TurnTrace = TurnTrace::Ended(TurnEnd::Ok);

    /// An agent that Turnbridge started, without any evidence.
    fn agent() -> Evidence {
        Evidence {
            way: Some(StartedProgram::Agent),
            is_acknowledged: false,
            seen_end: None,
            trace: TurnTrace::Absent,
            is_stop_requested: false,
            printed: String::new(),
            is_command: false,
        }
    }

    fn seen(seen_end: Option<TurnEnd>) -> Evidence {
        Evidence { is_acknowledged: true, seen_end, ..agent() }
    }

    fn traced(trace: TurnTrace) -> Evidence {
        Evidence { trace, ..agent() }
    }

    fn printed(evidence: Evidence) -> Evidence {
        Evidence { printed: "Answer.\n".into(), ..evidence }
    }

    fn stopped(evidence: Evidence) -> Evidence {
        Evidence { is_stop_requested: true, ..evidence }
    }

    fn name(result: &RunResult) -> String {
        let reason = result.reason.map(|reason| format!(" {}", reason.as_str()));
        let output = result.output.as_deref().map(|output| format!(" `{}`", output.trim()));
        let parts = [reason, output].map(Option::unwrap_or_default);
        format!("{}{}", result.outcome.as_str(), parts.concat())
    }

    /// The table of `docs/decisions/0010`.
    #[test]
    fn a_run_that_died_is_judged_by_the_end_of_its_turn_and_not_by_the_sight_of_its_prompt() {
        let command = |evidence| Evidence { is_command: true, ..evidence };
        for (evidence, expected) in [
            (seen(None), "interrupted"),
            (seen(OK), "done"),
            (seen(FAILED), "failed turn_failed"),
            (traced(TurnTrace::Open), "interrupted"),
            (traced(TurnTrace::Left), "interrupted"),
            (traced(TurnTrace::Ended(TurnEnd::Ok)), "done"),
            (traced(TurnTrace::Ended(TurnEnd::Failed)), "failed turn_failed"),
            (traced(TurnTrace::Ended(TurnEnd::Interrupted)), "interrupted"),
            // The hook of its end was killed; the transcript has it.
            (Evidence { is_acknowledged: true, ..traced(TurnTrace::Ended(TurnEnd::Ok)) }, "done"),
            (agent(), "uncertain"),
            (printed(agent()), "uncertain"),
            // Without hooks no notice contains the answer.
            (printed(traced(TurnTrace::Ended(TurnEnd::Ok))), "done `Answer.`"),
            (printed(seen(OK)), "done"),
            // A hook has seen one or the other: then the notice of the turn has the answer.
            (printed(Evidence { is_acknowledged: false, ..seen(OK) }), "done"),
            (printed(Evidence { is_acknowledged: true, ..traced(ENDED_OK) }), "done"),
            (command(printed(agent())), "done `Answer.`"),
            (command(traced(TurnTrace::Ended(TurnEnd::Ok))), "done"),
            (command(traced(TurnTrace::Open)), "interrupted"),
            (command(agent()), "uncertain"),
            (stopped(seen(None)), "stopped"),
            (stopped(seen(FAILED)), "stopped"),
            (stopped(seen(OK)), "done"),
            (stopped(agent()), "stopped"),
        ] {
            assert_eq!(name(&judge(&evidence, Timestamp::default())), expected, "{evidence:?}");
        }
    }

    #[test]
    fn what_went_to_somebody_elses_agent_is_handed_over_once_it_has_begun_there() {
        let typed = |trace| Evidence { way: None, ..traced(trace) };
        let queued = |trace| Evidence { way: Some(StartedProgram::Queue), ..traced(trace) };
        for evidence in [typed(TurnTrace::Open), typed(TurnTrace::Ended(TurnEnd::Failed))] {
            assert_eq!(name(&judge(&evidence, Timestamp::default())), "handed_over");
        }
        assert_eq!(name(&judge(&typed(TurnTrace::Absent), Timestamp::default())), "uncertain");
        assert_eq!(
            name(&judge(&stopped(typed(TurnTrace::Absent)), Timestamp::default())),
            "uncertain"
        );
        assert_eq!(name(&judge(&queued(TurnTrace::Open), Timestamp::default())), "handed_over");
        assert_eq!(name(&judge(&queued(TurnTrace::Absent), Timestamp::default())), "uncertain");
        let taken = |trace| Evidence { printed: "Queued message q.\n".into(), ..queued(trace) };
        assert_eq!(name(&judge(&taken(TurnTrace::Absent), Timestamp::default())), "not_begun");
        assert_eq!(name(&judge(&taken(TurnTrace::Open), Timestamp::default())), "handed_over");
        let aborted = taken(TurnTrace::Ended(TurnEnd::Interrupted));
        assert_eq!(name(&judge(&aborted, Timestamp::default())), "interrupted");
        // Its hooks know the reply, so Turnbridge started it, even if the file about it is missing.
        let ours = Evidence { way: None, ..seen(None) };
        assert_eq!(name(&judge(&ours, Timestamp::default())), "interrupted");
    }

    #[test]
    fn an_agent_that_was_killed_in_its_turn_is_cut_off_and_one_behind_it_is_done() {
        let killed = || RunResult::failed(Reason::Signal, Some(9), Timestamp::default());
        let exited = || RunResult::failed(Reason::ExitCode, Some(1), Timestamp::default());
        for (evidence, result, expected) in [
            (seen(None), killed(), "interrupted signal"),
            (traced(TurnTrace::Open), killed(), "interrupted signal"),
            (agent(), killed(), "failed signal"),
            (seen(OK), killed(), "done"),
            (seen(OK), exited(), "done"),
            (printed(seen(OK)), killed(), "done"),
            // Without hooks no notice contains the answer.
            (printed(traced(ENDED_OK)), killed(), "done `Answer.`"),
            (traced(TurnTrace::Ended(TurnEnd::Interrupted)), exited(), "failed exit_code"),
            (seen(None), exited(), "failed exit_code"),
            (seen(FAILED), exited(), "failed exit_code"),
        ] {
            assert_eq!(name(&judge_failure(&evidence, result)), expected, "{evidence:?}");
        }
    }
}
