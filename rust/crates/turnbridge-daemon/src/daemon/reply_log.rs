//! Returns the fields that `daemon.log` has about a message in a reply's thread (SLV-83): ids,
//! kinds and a duration, no text.

use turnbridge_core::replies::reply_plan::PendingReply;
use turnbridge_core::replies::thread_message::ThreadMessage;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::log::LogValue;

/// The progress of a message for a reply's thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadMessageState {
    /// It waits in the outbox.
    Queued,
    /// Slack has accepted it.
    Arrived,
    /// Slack has refused it permanently.
    Refused,
}

/// Returns the log fields. The duration runs from the receipt of the reply to `now`.
pub fn fields(
    entry: &PendingReply,
    told: ThreadMessage,
    word: ThreadMessageState,
    now: Timestamp,
) -> Vec<(&'static str, LogValue)> {
    let yes_or_no = |is_so: bool| if is_so { "yes" } else { "no" }.into();
    let reply = &entry.reply;
    let mut fields = vec![
        ("reply", reply.id.as_str().into()),
        // Slack reports replies only by this event (SLV-41).
        ("event", "message".into()),
        ("word", told.as_str().into()),
        ("resume", yes_or_no(told.is_of_run())),
    ];
    if word != ThreadMessageState::Queued {
        let is_sent = word == ThreadMessageState::Arrived && told.is_fixed_text();
        fields.push(("fixed_text_sent", yes_or_no(is_sent)));
        let millis = |at| u64::try_from(now.since(at).as_millis()).unwrap_or(u64::MAX);
        fields.extend(reply.received_at.map(|at| ("duration_ms", millis(at).into())));
    }
    if let Some(thread) = &reply.thread {
        fields.push(("channel", thread.channel.as_str().into()));
        fields.push(("thread_ts", thread.thread_ts.as_str().into()));
    }
    fields
}
