//! Builds the text of a message that a thread receives about a reply, with the reason if its run
//! has failed or was interrupted.

use crate::ids::Agent;
use crate::replies::run_result::{Reason, RunResult};
use crate::replies::thread_message::ThreadMessage;
use crate::text::texts::{Language, failure_reason, with_reason};

/// Returns the text of a message. `agent` is the reply's, `end` is the result of its run; both if
/// known.
pub fn text_of(
    message: ThreadMessage,
    agent: Option<Agent>,
    end: Option<&RunResult>,
    language: Language,
) -> String {
    let reason = end.and_then(|end| end.reason);
    let reason = match message {
        ThreadMessage::Failed => Some(reason.unwrap_or(Reason::NotStarted)),
        ThreadMessage::Interrupted => reason,
        _ => None,
    };
    let code = end.and_then(|end| end.code);
    let reason = reason.map(|reason| failure_reason(language, agent, reason, code));
    match message.sentence(language) {
        Some(sentence) => with_reason(language, sentence, reason.as_deref()),
        None => end.and_then(|end| end.output.clone()).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replies::run_result::RunOutcome;
    use crate::timestamp::Timestamp;

    #[test]
    fn slv_84_86_x40_what_is_said_is_the_fixed_text_and_a_failure_has_its_reason() {
        let say = |message, end: Option<&RunResult>| {
            text_of(message, Some(Agent::Claude), end, Language::English)
        };
        for message in [ThreadMessage::Receipt, ThreadMessage::TerminalReceipt] {
            assert_eq!(Some(say(message, None).as_str()), message.sentence(Language::English));
        }
        let done = RunResult::new(RunOutcome::Done, Timestamp::default());
        let printed = RunResult { output: Some("cost: 0".into()), ..done };
        assert_eq!(say(ThreadMessage::Output, Some(&printed)), "cost: 0");
        let failed = RunResult::failed(Reason::ProgramMissing, None, Timestamp::default());
        insta::assert_snapshot!(say(ThreadMessage::Failed, Some(&failed)), @"
        The `resume` failed.
        Please see the CLI's log for details.
        (Reason: the program was not found: `claude`)
        ");
        let killed = RunResult {
            outcome: RunOutcome::Interrupted,
            ..RunResult::failed(Reason::Signal, Some(9), Timestamp::default())
        };
        insta::assert_snapshot!(say(ThreadMessage::Interrupted, Some(&killed)), @"
        The run of this reply was cut off: its process ended before its turn did. What it had done by then stays done. It is not run again; please send it once more if it is needed.
        (Reason: ended by signal: `9`)
        ");
        let lost = RunResult::new(RunOutcome::Interrupted, Timestamp::default());
        let lost = text_of(ThreadMessage::Interrupted, None, Some(&lost), Language::Japanese);
        assert_eq!(Some(lost.as_str()), ThreadMessage::Interrupted.sentence(Language::Japanese));
    }
}
