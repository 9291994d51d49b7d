//! Handles each envelope from Slack's socket before the ack, in the socket's thread: stores or
//! drops its message, and logs which. It makes no network call, so the ack waits for the disk
//! alone. A message that cannot be judged yet is stored in `heard/`, and the asker judges it later.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use turnbridge_core::replies::reply_wire::{Reported, read_event};
use turnbridge_core::slack::reply_check::{Checked, DropReason, check_message, check_reply};
use turnbridge_slack::{Accept, Envelope};
use turnbridge_store::clock;
use turnbridge_store::log::LogValue;
use turnbridge_store::state::heard;

use super::asker::AskerCommand;
use super::hearing::Hearing;

#[derive(Clone)]
pub struct SlackIntake {
    pub hearing: Arc<Hearing>,
    pub asker: Sender<AskerCommand>,
}

impl SlackIntake {
    /// Stores or drops the message of an envelope. Returns `NotKept` if it could not be stored;
    /// Slack then sends it again.
    pub fn receive(&self, envelope: &Envelope<'_>) -> Accept {
        if envelope.kind != "events_api" {
            let fields =
                [("envelope", envelope.id.clone().into()), ("type", envelope.kind.clone().into())];
            self.hearing.log.info("envelope ignored: not an event", &fields);
            return Accept::Kept;
        }
        let mut fields = vec![
            ("envelope", envelope.id.clone().into()),
            ("event_id", envelope.event_id.clone().unwrap_or_default().into()),
            ("retry", envelope.retry_attempt.into()),
        ];
        self.keep(read_event(envelope.payload.as_bytes()), &mut fields)
    }

    fn keep(&self, reported: Option<Reported>, fields: &mut Vec<(&str, LogValue)>) -> Accept {
        if let Some(reported) = &reported {
            describe(reported, fields);
        }
        let place = self.hearing.place();
        let owner = self.hearing.owner(place.as_ref());
        let reply = match check_message(reported.clone(), owner) {
            Ok(reply) => reply,
            Err(drop) => {
                self.note_echo(drop, reported.as_ref());
                fields.push(("outcome", drop.as_str().into()));
                self.hearing.log.info("message ignored: not a reply", fields);
                return Accept::Kept;
            }
        };
        // Older messages that wait are judged first.
        let is_next = || heard::all(&self.hearing.paths).is_ok_and(|heard| heard.is_empty());
        if place.is_some() && self.hearing.hears_in_order() && is_next() {
            let routes = match self.hearing.routes.get(&self.hearing.paths) {
                Ok(routes) => routes,
                Err(error) => return self.not_kept(fields, &format!("routes.jsonl: {error}")),
            };
            let checked = check_reply(reported.clone(), owner, &routes);
            if let Checked::Accepted { reply, route } = checked {
                fields.push(("outcome", "accepted".into()));
                return match self.hearing.keep_reply(reply, Some(&route), fields) {
                    Ok(()) => Accept::Kept,
                    Err(error) => self.not_kept(fields, &format!("inbox: {error}")),
                };
            }
        }
        let reported = reported.unwrap_or_default();
        match heard::keep(&self.hearing.paths, &reply.id, &reported, clock::now()) {
            Ok(()) => {
                self.hearing.log.info("message stored until its thread is known", fields);
                let _ = self.asker.send(AskerCommand::Judge);
                Accept::Kept
            }
            Err(error) => self.not_kept(fields, &format!("heard: {error}")),
        }
    }

    /// Requests a look if the app's own post has no route here. Such a parent may be another
    /// machine's, and Slack may deliver this machine's replies to that machine's socket.
    fn note_echo(&self, drop: DropReason, reported: Option<&Reported>) {
        let parent = reported.filter(|it| drop == DropReason::Bot && it.thread_ts.is_none());
        let Some(ts) = parent.and_then(|parent| parent.ts.as_ref()) else { return };
        let routes = self.hearing.routes.get(&self.hearing.paths).unwrap_or_default();
        if !routes.iter().any(|route| route.thread_ts == *ts) {
            let _ = self.asker.send(AskerCommand::LookNow);
        }
    }

    /// Logs the failure. Slack sends the message again, and the asker fetches it too.
    fn not_kept(&self, fields: &[(&str, LogValue)], error: &str) -> Accept {
        let mut fields = fields.to_vec();
        fields.push(("error", error.into()));
        self.hearing.log.error("could not store a message; Slack will send it again", &fields);
        Accept::NotKept
    }
}

/// Adds log fields that describe the message without its text.
pub fn describe(reported: &Reported, fields: &mut Vec<(&str, LogValue)>) {
    let text = |value: &Option<String>| value.clone().unwrap_or_default().into();
    fields.push(("channel", text(&reported.channel)));
    fields.push(("thread_ts", text(&reported.thread_ts)));
    fields.push(("message_ts", text(&reported.ts)));
    let length = reported.text.as_ref().map_or(0, |text| text.len() as u64);
    fields.push(("text_bytes", length.into()));
}
