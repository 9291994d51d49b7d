//! What `daemon.log` says of a word in a reply's thread (SLV-83): ids, kinds and times, no text.

use turnbridge_core::replies::reply_plan::Told;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::log::Field;
use turnbridge_store::state::inbox::Entry;

/// How far a word has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// It waits in the outbox.
    Queued,
    /// Slack has it.
    Arrived,
    /// Slack has refused it for good.
    Refused,
}

/// `now` ends the duration, which begins when the reply came in.
pub fn fields(entry: &Entry, told: Told, word: Word, now: Timestamp) -> Vec<(&'static str, Field)> {
    let text = |text: &str| Field::Text(text.to_owned());
    let yes_or_no = |is_so: bool| text(if is_so { "yes" } else { "no" });
    let reply = &entry.reply;
    let mut fields = vec![
        ("reply", text(&reply.id)),
        // Slack reports a reply by no other event (SLV-41).
        ("event", text("message")),
        ("word", text(told.as_str())),
        ("resume", yes_or_no(told.is_of_run())),
    ];
    if word != Word::Queued {
        let is_sent = word == Word::Arrived && told.is_fixed_text();
        fields.push(("fixed_text_sent", yes_or_no(is_sent)));
        let received_at = Timestamp::parse(&reply.received_at);
        let millis = |at| u64::try_from(now.since(at).as_millis()).unwrap_or(u64::MAX);
        fields.extend(received_at.map(|at| ("duration_ms", Field::Number(millis(at)))));
    }
    fields.extend(reply.channel.as_deref().map(|channel| ("channel", text(channel))));
    fields.extend(reply.thread_ts.as_deref().map(|thread| ("thread_ts", text(thread))));
    fields
}
