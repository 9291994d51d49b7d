//! How far a notice has come on one channel: replaced before and after every call.

use crate::timestamp::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// What is sent, fixed at the first attempt: another version of Turnbridge may split a text
    /// elsewhere. The first is the parent.
    pub messages: Vec<Message>,
    /// The place on the channel: of Slack the id of the direct message.
    pub channel: Option<String>,
    /// The name of what was newest there before: nothing of ours is older. Slack's names are its `ts`.
    pub after_ts: Option<String>,
    /// The name of each message that has arrived, in order.
    pub posted: Vec<String>,
    /// A call is under way: the next message may have arrived already.
    pub intent: bool,
    pub route_saved: bool,
    /// It has arrived on this channel, and not yet on all others.
    pub has_arrived: bool,
    pub attempts: u32,
    /// Not before; absent: at once.
    pub next_attempt_at: Option<Timestamp>,
    /// The pause that was planned after the last attempt.
    pub pause_seconds: u64,
    /// All pauses between attempts so far.
    pub waited_seconds: u64,
    /// What went wrong last.
    pub last_error: Option<String>,
    /// It waits for the user: what is wrong does not go away by itself.
    pub held: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Escaped, as sent.
    pub text: String,
    /// The same for the `markdown` block. Absent: the text alone is sent.
    pub markdown: Option<String>,
}

impl Progress {
    /// The user wants it tried at once, and as long as if it were new.
    pub fn retry_now(&mut self) {
        self.held = false;
        self.next_attempt_at = None;
        (self.pause_seconds, self.waited_seconds) = (0, 0);
    }
}
