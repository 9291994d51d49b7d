//! Sends replies like the board: stores each in the inbox with a unique id. The daemon passes it to
//! the agent; its progress and its result are read from the inbox.

use turnbridge_core::replies::reply::{Reply, ReplyTo};
use turnbridge_core::replies::run_result::{RunOutcome, RunResult};
use turnbridge_core::replies::standing;
use turnbridge_core::session::Session;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::inbox;
use turnbridge_system::daemon_control;
use turnbridge_system::random;

/// The unfinished replies, each with its project.
#[derive(Debug, Default)]
pub struct SentReplies(Vec<SentReply>);

#[derive(Debug)]
struct SentReply {
    reply: Reply,
    project: String,
    /// The last reported state.
    state: &'static str,
}

impl SentReplies {
    /// Sends a reply. Returns a message for the user.
    pub fn send(
        &mut self,
        paths: &StatePaths,
        session: &Session,
        text: String,
        now: Timestamp,
    ) -> String {
        let project = session.project().unwrap_or("-").to_owned();
        let to = ReplyTo {
            key: session.key.clone(),
            // An agent finds a session only in the folder where it was started.
            cwd: session.project_dir().map(str::to_owned),
        };
        let sent = random::uuid().and_then(|id| {
            let reply = Reply::from_board(id, text, to, now);
            inbox::accept(paths, &reply, now).map(|_| reply)
        });
        match sent {
            Err(error) => format!("could not write the reply down: {error}"),
            Ok(reply) => {
                self.0.push(SentReply { reply, project: project.clone(), state: "received" });
                match daemon_control::is_running(paths) {
                    true => format!("sent to {project}"),
                    false => format!(
                        "the reply to {project} waits for the daemon; start it: turnbridge daemon"
                    ),
                }
            }
        }
    }

    /// Returns a message if the state of one of them has changed. The loop calls it once a second.
    pub fn next_news(&mut self, paths: &StatePaths) -> Option<String> {
        let news =
            |(index, sent): (usize, &mut SentReply)| sent.check(paths).map(|news| (index, news));
        let (index, news) = self.0.iter_mut().enumerate().find_map(news)?;
        Some(match news {
            ReplyNews::GoesOn(said) => said,
            ReplyNews::Ended(said) => {
                self.0.remove(index);
                said
            }
        })
    }
}

const NOT_BEGUN: &str = RunOutcome::NotBegun.as_str();

enum ReplyNews {
    GoesOn(String),
    Ended(String),
}

impl SentReply {
    fn check(&mut self, paths: &StatePaths) -> Option<ReplyNews> {
        let id = &self.reply.id;
        let pending = inbox::entry(paths, id).ok()?;
        // This follows the read of the entry: a process writes the result before it finishes the
        // reply.
        match inbox::read_result(paths, id) {
            // The reply may still begin.
            Some(result) if result.outcome == RunOutcome::NotBegun => {
                let is_new = self.state != NOT_BEGUN;
                self.state = NOT_BEGUN;
                return is_new.then(|| ReplyNews::GoesOn(self.end(&result)));
            }
            Some(result) => return Some(ReplyNews::Ended(self.end(&result))),
            // The result was deleted.
            None if self.state == NOT_BEGUN => return None,
            None => {}
        }
        let Some(pending) = pending else {
            let state = standing::of_finished(&self.reply, None);
            return Some(ReplyNews::Ended(format!("the reply to {}: {state}", self.project)));
        };
        let state = standing::of_pending(&pending);
        if state == self.state {
            return None;
        }
        self.state = state;
        Some(ReplyNews::GoesOn(format!("the reply to {} {}", self.project, so_far(state))))
    }

    fn end(&self, result: &RunResult) -> String {
        let project = &self.project;
        match (result.outcome, result.reason) {
            (RunOutcome::Done, _) => format!("the reply to {project} was run"),
            (RunOutcome::HandedOver, _) => format!("{project} has the reply where it is open"),
            (RunOutcome::NotBegun, _) => {
                format!("{project} has the reply in its queue, and has not begun it yet")
            }
            (outcome, Some(reason)) => {
                format!("the reply to {project}: {} ({})", outcome.as_str(), reason.as_str())
            }
            (outcome, None) => format!("the reply to {project}: {}", outcome.as_str()),
        }
    }
}

/// Describes the state of a reply that has not ended.
fn so_far(state: &str) -> &'static str {
    match state {
        "queued" => "waits: an earlier reply is still running",
        "held" => {
            "waits: the session is open in a terminal; it runs when that has been closed, or can take it"
        }
        "behind_exec" => {
            "waits: a turn that takes no reply, such as one of `codex exec`, is running in this thread; \
             it runs when that has ended"
        }
        "after_abort" => {
            "waits: the last turn in the open Codex CLI was interrupted; it runs after the next prompt \
             there, or when that CLI has been quit"
        }
        "running" => "is running",
        _ => "waits",
    }
}

#[cfg(test)]
mod tests {
    use turnbridge_core::ids::{Agent, SessionId, SessionKey};
    use turnbridge_core::replies::thread_message::ThreadMessage;
    use turnbridge_store::clock;

    use super::*;

    #[test]
    fn a_reply_that_waits_is_said_to_wait_and_why_as_on_the_board() {
        let hermetic = testkit::Hermetic::new();
        let paths = StatePaths::below(&hermetic.state_dir());
        let id = SessionId::parse("825c8529-ee09-4cb8-8902-dd785b12ca0a").unwrap();
        let session = Session::new(SessionKey::new(Agent::Codex, id), clock::now());
        let mut replies = SentReplies::default();
        replies.send(&paths, &session, "go on".to_owned(), clock::now());
        assert_eq!(replies.next_news(&paths), None);
        let id = inbox::entries(&paths).unwrap()[0].reply.id.clone();
        inbox::mark_message_sent(&paths, &id, ThreadMessage::Receipt).unwrap();
        inbox::mark_message_sent(&paths, &id, ThreadMessage::AfterAbort).unwrap();
        insta::assert_snapshot!(replies.next_news(&paths).unwrap(), @"the reply to - waits: the last turn in the open Codex CLI was interrupted; it runs after the next prompt there, or when that CLI has been quit");
        assert_eq!(replies.next_news(&paths), None, "once");
        inbox::save_result(&paths, &id, &RunResult::new(RunOutcome::Done, clock::now())).unwrap();
        assert_eq!(replies.next_news(&paths).as_deref(), Some("the reply to - was run"));
        assert_eq!(replies.next_news(&paths), None);
    }

    #[test]
    fn a_reply_that_codex_begins_later_is_said_to_have_begun() {
        let hermetic = testkit::Hermetic::new();
        let paths = StatePaths::below(&hermetic.state_dir());
        let id = SessionId::parse("825c8529-ee09-4cb8-8902-dd785b12ca0a").unwrap();
        let session = Session::new(SessionKey::new(Agent::Codex, id), clock::now());
        let mut replies = SentReplies::default();
        replies.send(&paths, &session, "go on".to_owned(), clock::now());
        let id = inbox::entries(&paths).unwrap()[0].reply.id.clone();
        let ended = |outcome| {
            inbox::save_result(&paths, &id, &RunResult::new(outcome, clock::now())).unwrap();
        };
        ended(RunOutcome::NotBegun);
        let said = replies.next_news(&paths).unwrap();
        assert_eq!(said, "- has the reply in its queue, and has not begun it yet");
        assert_eq!(replies.next_news(&paths), None);
        inbox::finish(&paths, &id).unwrap();
        assert_eq!(replies.next_news(&paths), None);
        ended(RunOutcome::HandedOver);
        assert_eq!(replies.next_news(&paths).as_deref(), Some("- has the reply where it is open"));
        assert_eq!(replies.next_news(&paths), None);
    }

    /// Such a reply has no result.
    #[test]
    fn a_reply_that_is_not_run_is_said_to_be_refused() {
        let hermetic = testkit::Hermetic::new();
        let paths = StatePaths::below(&hermetic.state_dir());
        let id = SessionId::parse("825c8529-ee09-4cb8-8902-dd785b12ca0a").unwrap();
        let session = Session::new(SessionKey::new(Agent::Claude, id), clock::now());
        let mut replies = SentReplies::default();
        replies.send(&paths, &session, "/clear".to_owned(), clock::now());
        let id = inbox::entries(&paths).unwrap()[0].reply.id.clone();
        inbox::finish(&paths, &id).unwrap();
        assert_eq!(replies.next_news(&paths).as_deref(), Some("the reply to -: refused"));
        assert_eq!(replies.next_news(&paths), None);
    }
}
