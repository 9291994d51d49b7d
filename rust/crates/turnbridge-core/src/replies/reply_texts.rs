//! What a step of the plan says in the thread.

use crate::agents::codex::rollout_tail::Obstacle;
use crate::ids::Agent;
use crate::replies::reply_plan::Step;
use crate::replies::reply_wire::Reason;
use crate::text::texts::{Language, Text, failure_reason, interrupted, resume_failed};

/// `None`: the step says nothing. `agent` is the reply's, when it has one.
pub fn text_of(step: &Step, agent: Option<Agent>, language: Language) -> Option<String> {
    let text = match step {
        Step::Receipt(_) => Text::ReplyReceived,
        Step::TerminalReceipt(_) => Text::ReplyReceivedForTerminal,
        Step::TellQueued(_) => Text::ReplyQueued,
        Step::TellHeld(_) => Text::ReplyHeld,
        Step::TellObstacle(_, Obstacle::Exec) => Text::ReplyBehindExec,
        Step::TellObstacle(_, Obstacle::Aborted) => Text::ReplyAfterAbort,
        Step::TellNotBegun(_) => Text::ReplyNotBegun,
        Step::TellStopped(_) => Text::ReplyStopped,
        Step::TellUncertain(_) => Text::ReplyUncertain,
        Step::TellNoRoute(_) => Text::ReplyWithoutRoute,
        Step::TellRefused(_) => Text::CommandRefused,
        Step::TellNothingToStop(_) => Text::NothingToStop,
        Step::TellOutput(_, output) => return Some(output.clone()),
        Step::TellFailed(_, result) => {
            let reason = result.reason.unwrap_or(Reason::NotStarted);
            let reason = failure_reason(language, agent, reason, result.code);
            return Some(resume_failed(language, &reason));
        }
        Step::TellInterrupted(_, result) => {
            let reason = result.reason;
            let reason = reason.map(|reason| failure_reason(language, agent, reason, result.code));
            return Some(interrupted(language, reason.as_deref()));
        }
        Step::Run(_) | Step::Stop(_) | Step::FindOut(_) | Step::Finish(_) => return None,
    };
    Some(text.text(language).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replies::reply_wire::{Outcome, RunResult};

    #[test]
    fn slv_84_86_x40_what_is_said_is_the_fixed_text_and_a_failure_has_its_reason() {
        let id = || "a".to_owned();
        let say = |step: Step| text_of(&step, Some(Agent::Claude), Language::English);
        let receipt = Text::ReplyReceived.text(Language::English);
        assert_eq!(say(Step::Receipt(id())).as_deref(), Some(receipt));
        let receipt = Text::ReplyReceivedForTerminal.text(Language::English);
        assert_eq!(say(Step::TerminalReceipt(id())).as_deref(), Some(receipt));
        assert_eq!(say(Step::TellOutput(id(), "cost: 0".into())).as_deref(), Some("cost: 0"));
        assert_eq!(say(Step::Run(id())), None);
        let failed = RunResult::failed(Reason::ProgramMissing, None, String::new());
        insta::assert_snapshot!(say(Step::TellFailed(id(), failed)).unwrap(), @"
        The `resume` failed.
        Please see the CLI's log for details.
        (Reason: the program was not found: `claude`)
        ");
        let killed = RunResult {
            outcome: Outcome::Interrupted,
            ..RunResult::failed(Reason::Signal, Some(9), String::new())
        };
        insta::assert_snapshot!(say(Step::TellInterrupted(id(), killed)).unwrap(), @"
        The run of this reply was cut off: its process ended before its turn did. What it had done by then stays done. It is not run again; please send it once more if it is needed.
        (Reason: ended by signal: `9`)
        ");
        let lost = RunResult::new(Outcome::Interrupted, String::new());
        let lost = text_of(&Step::TellInterrupted(id(), lost), None, Language::Japanese).unwrap();
        assert_eq!(lost, Text::ReplyInterrupted.text(Language::Japanese));
    }
}
