//! Defines the route of a Slack thread: the session, and the machine, that a reply in the thread is
//! for.

use crate::ids::NamedSession;
use crate::timestamp::Timestamp;

/// The session that a reply in a Slack thread is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// `None` if the stored text is no time.
    pub written_at: Option<Timestamp>,
    pub channel: String,
    pub thread_ts: String,
    pub session: NamedSession,
    pub turn_id: Option<String>,
    pub cwd: Option<String>,
    /// The machine that has the session; absent: this machine.
    pub machine: Option<String>,
}

impl Route {
    pub fn new(
        channel: &str,
        thread_ts: &str,
        session: impl Into<NamedSession>,
        now: Timestamp,
    ) -> Route {
        Route {
            written_at: Some(now),
            channel: channel.to_owned(),
            thread_ts: thread_ts.to_owned(),
            session: session.into(),
            turn_id: None,
            cwd: None,
            machine: None,
        }
    }

    /// Returns whether it is the route of this thread.
    pub fn is_of(&self, channel: &str, thread_ts: &str) -> bool {
        self.channel == channel && self.thread_ts == thread_ts
    }
}
