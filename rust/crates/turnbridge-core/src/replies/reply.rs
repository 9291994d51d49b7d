//! Defines a reply: a message of the user to the agent of one session, from Slack or from the
//! board.

use crate::ids::{ChannelName, NamedSession, SessionKey, is_safe_component};
use crate::notices::route::Route;
use crate::slack::slack_ts::SlackTs;
use crate::slack::thread_marks::ThreadKey;
use crate::timestamp::Timestamp;

/// A message of the user to the agent of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Also the name of its files. A message from Slack has the same id however often it arrives.
    pub id: String,
    pub source: ReplySource,
    pub event_id: Option<String>,
    /// The thread that contains it. `None`: it is from the board, which has no threads.
    pub thread: Option<ThreadKey>,
    /// Slack's time; for a reply from the board, its arrival in the same format. Orders replies.
    pub ts: String,
    pub user: Option<String>,
    /// As the user typed it.
    pub text: String,
    /// `None` if the stored text is no time.
    pub received_at: Option<Timestamp>,
    /// Empty if the thread is not known (SLV-48).
    pub to: NamedSession,
    pub cwd: Option<String>,
}

/// The session that a reply on the board is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyTo {
    pub key: SessionKey,
    pub cwd: Option<String>,
}

/// Where the user wrote the reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplySource {
    Channel(ChannelName),
    Board,
}

impl ReplySource {
    pub const SLACK: ReplySource = ReplySource::Channel(ChannelName::SLACK);
    const BOARD: &str = "board";

    pub fn as_str(&self) -> &str {
        match self {
            ReplySource::Channel(channel) => channel.as_str(),
            ReplySource::Board => ReplySource::BOARD,
        }
    }

    pub fn parse(text: &str) -> Option<ReplySource> {
        match text {
            ReplySource::BOARD => Some(ReplySource::Board),
            channel => {
                let known = ChannelName::KNOWN.into_iter().find(|known| known.as_str() == channel);
                known.map(ReplySource::Channel)
            }
        }
    }
}

impl Reply {
    /// Returns the reply in a decoded message of a Slack thread. `addressed` sets its session.
    pub fn from_slack(thread: ThreadKey, ts: String, user: String, text: String) -> Reply {
        Reply {
            id: slack_reply_id(&thread.channel, &ts),
            source: ReplySource::SLACK,
            event_id: None,
            thread: Some(thread),
            ts,
            user: Some(user),
            text,
            received_at: None,
            to: NamedSession::nobody(),
            cwd: None,
        }
    }

    /// Returns the reply with the session of `route` and the arrival time `now`. `route` is `None`
    /// if the thread is not known: then the user receives a message (SLV-85), and no agent runs.
    pub fn addressed(self, route: Option<&Route>, now: Timestamp) -> Reply {
        Reply {
            received_at: Some(now),
            to: route.map_or_else(NamedSession::nobody, |route| route.session.clone()),
            cwd: route.and_then(|route| route.cwd.clone()),
            ..self
        }
    }

    /// Returns a reply from the board. `id` is the page's UUID, which deduplicates a reply sent
    /// twice.
    pub fn from_board(id: String, text: String, session: ReplyTo, now: Timestamp) -> Reply {
        let micros = now.as_micros().max(0);
        Reply {
            id,
            source: ReplySource::Board,
            event_id: None,
            thread: None,
            ts: format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000),
            user: None,
            text,
            received_at: Some(now),
            to: session.key.into(),
            cwd: session.cwd,
        }
    }

    /// Returns when the reply was written, by Slack's clock. Returns `None` if it is not from
    /// Slack.
    pub fn written(&self) -> Option<SlackTs> {
        (self.source == ReplySource::SLACK).then(|| SlackTs::parse(&self.ts)).flatten()
    }

    /// Returns the reply's session. Returns `None` if the reply names none, or one that cannot be
    /// resumed.
    pub fn session(&self) -> Option<&SessionKey> {
        self.to.resumable()
    }

    /// Returns the key that orders replies: Slack's time, then the id.
    pub fn order(&self) -> (Option<SlackTs>, &str) {
        (SlackTs::parse(&self.ts), &self.id)
    }
}

/// Returns the id of a Slack reply. The caller has checked both parts to be names.
pub fn slack_reply_id(channel: &str, ts: &str) -> String {
    format!("slack-{channel}-{ts}")
}

/// Returns whether the id may become a file name and an environment variable of hooks.
pub fn is_reply_id(id: &str) -> bool {
    is_safe_component(id)
}

pub fn is_slack_ts(ts: &str) -> bool {
    SlackTs::parse(ts).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Agent;

    const ID: &str = "825c8529-ee09-4cb8-8902-dd785b12ca0a";

    fn from_slack(ts: &str, route: Option<&Route>) -> Reply {
        let thread = ThreadKey::new("D1", "1.0");
        let reply = Reply::from_slack(thread, ts.into(), "U1".into(), "x".into());
        reply.addressed(route, Timestamp::default())
    }

    #[test]
    fn replies_are_ordered_by_slacks_time_as_a_number() {
        let reply = |ts: &str| from_slack(ts, None);
        let mut replies = ["1700000010.000001", "999999999.5", "1700000002.000100", "1700000002.9"];
        replies.sort_by(|a, b| reply(a).order().cmp(&reply(b).order()));
        assert_eq!(
            replies,
            ["999999999.5", "1700000002.000100", "1700000002.9", "1700000010.000001"]
        );
        let to = || ReplyTo { key: SessionKey::of("codex", ID).unwrap(), cwd: None };
        let now = Timestamp::from_micros(1_700_000_002_000_200);
        let board = Reply::from_board("b".into(), "x".into(), to(), now);
        assert!(board.order() > reply("1700000002.000100").order(), "{board:?}");
        assert!(board.order() < reply("1700000002.9").order(), "{board:?}");
        assert_eq!(board.session(), Some(&to().key));
        assert!(is_slack_ts("1700000000.000100"));
        for bad in ["", "1", ".1", "1.", "-1.0", "1.0.0", "../x.1", "1.0000000001"] {
            assert!(!is_slack_ts(bad), "{bad}");
        }
    }

    #[test]
    fn a_session_that_is_no_uuid_or_of_no_known_tool_is_none() {
        let session = |agent: &str, id: &str| {
            let session = NamedSession::of(agent, id);
            let route = Route::new("D1", "1.0", session, Timestamp::default());
            from_slack("2.0", Some(&route)).session().cloned()
        };
        assert_eq!(session("claude", ID).unwrap().agent, Agent::Claude);
        assert_eq!(session("codex", ID).unwrap().id.as_str(), ID);
        assert!(session("rm", ID).is_none());
        assert!(session("codex", "../../x").is_none());
        assert!(session("claude", "last").is_none());
    }
}
