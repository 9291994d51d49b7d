//! What is done with an envelope before it is acked: a reply is written down, everything else is
//! dropped, and either is a line in the log. Runs in the thread of the socket.

use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};

use turnbridge_config::Slack as SlackConfig;
use turnbridge_core::reply_check::{Checked, Owner, check_reply};
use turnbridge_core::reply_wire::{Reply, Reported, read_event};
use turnbridge_slack::{Accept, CallError, Envelope, WebApi};
use turnbridge_store::inbox::{self, Accepted};
use turnbridge_store::log::Field;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::{clock, routes};

use super::catch_up::Heard;
use super::event::Event;
use super::log::DaemonLog;

#[derive(Clone)]
pub struct Ears {
    paths: StatePaths,
    pub slack: SlackConfig,
    pub api: Arc<WebApi>,
    /// The direct messages with the owner, once they are needed.
    dm: Arc<OnceLock<String>>,
    pub heard: Heard,
    log: DaemonLog,
    events: Sender<Event>,
}

impl Ears {
    pub fn new(
        paths: StatePaths,
        slack: SlackConfig,
        api: Arc<WebApi>,
        events: Sender<Event>,
    ) -> Ears {
        let log = DaemonLog::new(&paths);
        let heard = Heard::read(paths.clone());
        Ears { paths, slack, api, dm: Arc::new(OnceLock::new()), heard, log, events }
    }

    pub fn take(&self, envelope: &Envelope<'_>) -> Accept {
        if envelope.kind != "events_api" {
            let fields = [
                ("envelope", Field::Text(envelope.id.clone())),
                ("type", Field::Text(envelope.kind.clone())),
            ];
            self.log.info("an envelope of another type is ignored", &fields);
            return Accept::Kept;
        }
        let mut fields = vec![
            ("envelope", Field::Text(envelope.id.clone())),
            ("event_id", Field::Text(envelope.event_id.clone().unwrap_or_default())),
            ("retry", Field::Number(u64::from(envelope.retry_attempt))),
        ];
        self.keep(read_event(envelope.payload.as_bytes()), &mut fields)
    }

    /// One message, however it was heard of.
    pub fn keep(&self, reported: Option<Reported>, fields: &mut Vec<(&str, Field)>) -> Accept {
        let ts = reported.as_ref().and_then(|reported| reported.ts.clone());
        let kept = self.check_and_keep(reported, fields);
        if let (Accept::Kept, Some(ts)) = (kept, ts) {
            self.heard.note(&ts);
        }
        kept
    }

    fn check_and_keep(
        &self,
        reported: Option<Reported>,
        fields: &mut Vec<(&str, Field)>,
    ) -> Accept {
        let dm_channel = match self.dm() {
            Ok(channel) => channel,
            Err(error) => return self.not_kept(fields, &error.to_string()),
        };
        if let Some(reported) = &reported {
            let text = |value: &Option<String>| Field::Text(value.clone().unwrap_or_default());
            fields.push(("channel", text(&reported.channel)));
            fields.push(("thread_ts", text(&reported.thread_ts)));
            fields.push(("message_ts", text(&reported.ts)));
            let length = reported.text.as_ref().map_or(0, |text| text.len() as u64);
            fields.push(("text_bytes", Field::Number(length)));
        }
        let user_id = self.slack.target_user_id.as_deref().unwrap_or_default();
        let known = match routes::read(&self.paths) {
            Ok(routes) => routes,
            Err(error) => return self.not_kept(fields, &format!("routes.jsonl: {error}")),
        };
        let checked = check_reply(reported, Owner { user_id, dm_channel }, &known);
        fields.push(("outcome", Field::Text(checked.word().to_owned())));
        let (message, route) = match checked {
            Checked::Accepted { message, route } => (message, Some(route)),
            Checked::NoRoute(message) => (message, None),
            Checked::Dropped(_) => {
                self.log.info("a message is no reply", fields);
                return Accept::Kept;
            }
        };
        let now = clock::now();
        let reply = Reply::from_slack(message, route.as_ref(), now.to_string());
        match inbox::accept(&self.paths, &reply, now) {
            Ok(accepted) => {
                let message = match accepted {
                    Accepted::New => "a reply has come in",
                    Accepted::Known => "a reply has come in before",
                };
                fields.push(("reply", Field::Text(reply.id)));
                self.log.info(message, fields);
                let _ = self.events.send(Event::ReplyKept);
                Accept::Kept
            }
            Err(error) => self.not_kept(fields, &format!("inbox: {error}")),
        }
    }

    /// Slack sends it again.
    fn not_kept(&self, fields: &[(&str, Field)], error: &str) -> Accept {
        let mut fields = fields.to_vec();
        fields.push(("error", Field::Text(error.to_owned())));
        self.log.error("a message could not be kept; Slack will send it again", &fields);
        Accept::NotKept
    }

    pub fn dm(&self) -> Result<&str, CallError> {
        if let Some(channel) = self.dm.get() {
            return Ok(channel);
        }
        let user = self.slack.target_user_id.as_deref().unwrap_or_default();
        let channel = self.api.open_dm(&self.slack.bot_token, user)?;
        Ok(self.dm.get_or_init(|| channel))
    }
}
