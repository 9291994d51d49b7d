//! Defines the progress of a notice's delivery on one channel. The file with it is replaced before
//! and after every call.

use crate::timestamp::Timestamp;

/// The progress of a notice's delivery on one channel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NoticeProgress {
    /// The messages as sent, fixed at the first attempt: another version of Turnbridge may split a
    /// text differently. The first is the parent.
    pub messages: Vec<NoticeMessage>,
    /// The place on the channel: for Slack the id of the direct message.
    pub channel: Option<String>,
    /// The name of the newest message there before; this notice's are newer. Slack's name is a
    /// `ts`.
    pub after_ts: Option<String>,
    /// The names of the messages that have arrived, in order.
    pub posted: Vec<String>,
    /// A call was begun and has no result: the next message may have arrived already.
    pub intent: bool,
    pub route_saved: bool,
    /// The notice has arrived on this channel, and not yet on all others.
    pub has_arrived: bool,
    pub attempts: u32,
    /// The earliest time of the next attempt; absent: immediately.
    pub next_attempt_at: Option<Timestamp>,
    /// The pause planned after the last attempt.
    pub pause_seconds: u64,
    /// The sum of all pauses between attempts so far.
    pub waited_seconds: u64,
    /// The last error.
    pub last_error: Option<String>,
    /// The notice waits for the user: the error does not go away by itself.
    pub held: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeMessage {
    /// Escaped, as sent.
    pub text: String,
    /// The text for the `markdown` block. Absent: the text alone is sent.
    pub markdown: Option<String>,
}

impl NoticeProgress {
    /// Makes the notice due immediately and resets its pauses, at the user's request.
    pub fn retry_now(&mut self) {
        self.held = false;
        self.next_attempt_at = None;
        (self.pause_seconds, self.waited_seconds) = (0, 0);
    }
}
