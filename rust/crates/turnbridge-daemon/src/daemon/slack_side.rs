//! The connection by which replies come. It is there while the config asks for replies
//! (`features.reply_resume`) and names what is needed for them.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use turnbridge_config::{Config, Slack as SlackConfig};
use turnbridge_core::daemon_wire::SlackStatus;
use turnbridge_slack::{Envelope, SocketEvent, SocketMode, Timing, Token};
use turnbridge_store::clock;
use turnbridge_store::log::Field;
use turnbridge_store::paths::StatePaths;

use super::catch_up;
use super::ears::Ears;
use super::event::Event;
use super::log::DaemonLog;
use crate::notifier::{Obstacle, haste, web_api};

pub struct SlackSide {
    paths: StatePaths,
    events: Sender<Event>,
    open: Option<Open>,
    /// The number of the last connection.
    connection: u64,
    status: SlackStatus,
}

struct Open {
    ears: Ears,
    _socket: SocketMode,
}

/// A gap that Slack's own retries do not bridge, or may not.
const GAP: Duration = Duration::from_secs(30);

impl SlackSide {
    pub fn new(paths: StatePaths, events: Sender<Event>) -> SlackSide {
        let status = SlackStatus::Off { reason: "no config has been read".to_owned() };
        SlackSide { paths, events, open: None, connection: 0, status }
    }

    /// Opens, closes, or leaves as it is.
    pub fn set_config(&mut self, config: &Config, log: &DaemonLog) -> SlackStatus {
        let (wanted, app_token) = match wanted(config) {
            Ok(wanted) => wanted,
            Err(reason) => {
                self.stop();
                self.status = SlackStatus::Off { reason: reason.to_owned() };
                return self.status.clone();
            }
        };
        if self.open.as_ref().is_some_and(|open| open.ears.slack == *wanted) {
            return self.status.clone();
        }
        // The old one is closed before the new one is opened: they may be of different apps.
        self.stop();
        self.connection += 1;
        self.status = match self.connect(wanted, app_token.clone()) {
            Ok(open) => {
                self.open = Some(open);
                SlackStatus::Connecting
            }
            Err(obstacle) => {
                let fields = [
                    ("error", Field::Text(obstacle.text.clone())),
                    ("hint", Field::Text(obstacle.hint.clone())),
                ];
                log.error("no replies can be heard", &fields);
                SlackStatus::Refused { error: obstacle.text, hint: Some(obstacle.hint) }
            }
        };
        self.status.clone()
    }

    fn connect(&self, slack: &SlackConfig, app_token: Token) -> Result<Open, Obstacle> {
        let api = Arc::new(web_api(slack)?);
        let ears =
            Ears::new(self.paths.clone(), slack.clone(), Arc::clone(&api), self.events.clone());
        let timing = Timing::hastened(haste());
        let keep = {
            let ears = ears.clone();
            move |envelope: &Envelope<'_>| ears.take(envelope)
        };
        let events = self.events.clone();
        let connection = self.connection;
        let tell = move |event| drop(events.send(Event::Socket { connection, event }));
        let socket = SocketMode::start_telling(api, app_token, timing, keep, tell);
        let socket = socket.map_err(|error| Obstacle {
            text: format!("no thread for Slack: {error}"),
            hint: "too many processes may be running".to_owned(),
        })?;
        Ok(Open { ears, _socket: socket })
    }

    /// What the connection tells of itself.
    pub fn hear(&mut self, connection: u64, event: SocketEvent, log: &DaemonLog) -> SlackStatus {
        if self.open.is_none() || connection != self.connection {
            return self.status.clone();
        }
        match event {
            SocketEvent::Connected { num_connections, gap, .. } => {
                if gap.is_none_or(|gap| gap >= GAP / haste())
                    && let Some(open) = &self.open
                {
                    catch_up::start(open.ears.clone(), log.clone());
                }
                let gap = gap.map_or(0, |gap| u64::try_from(gap.as_millis()).unwrap_or(u64::MAX));
                let fields = [
                    ("connections", Field::Number(u64::from(num_connections))),
                    ("gap_ms", Field::Number(gap)),
                ];
                log.info("connected to Slack", &fields);
                let since = clock::now().to_string();
                self.status = SlackStatus::Connected { since, num_connections };
            }
            SocketEvent::Lost { reason } => {
                log.info(
                    "a connection to Slack is gone",
                    &[("reason", Field::Text(reason.to_string()))],
                );
                self.status = SlackStatus::Connecting;
            }
            SocketEvent::Retrying { error, after } => {
                let fields = [
                    ("error", Field::Text(error.to_string())),
                    (
                        "after_ms",
                        Field::Number(u64::try_from(after.as_millis()).unwrap_or(u64::MAX)),
                    ),
                ];
                log.warn("Slack cannot be reached", &fields);
                self.status = SlackStatus::Connecting;
            }
            SocketEvent::Warning(warning) => {
                log.warn("Slack", &[("warning", Field::Text(warning.to_string()))]);
            }
            SocketEvent::Fatal { error, hint } => {
                let hint = hint.map(str::to_owned);
                let mut fields = vec![("error", Field::Text(error.to_string()))];
                fields.extend(hint.clone().map(|hint| ("hint", Field::Text(hint))));
                log.error("Slack has refused the connection; no replies are heard", &fields);
                self.status = SlackStatus::Refused { error: error.to_string(), hint };
            }
        }
        self.status.clone()
    }

    pub fn stop(&mut self) {
        if let Some(open) = self.open.take() {
            open.ears.heard.save();
        }
    }
}

/// What is needed for replies, or why they are not heard.
fn wanted(config: &Config) -> Result<(&SlackConfig, &Token), &'static str> {
    let slack = config.slack.as_ref().ok_or("no Slack is configured")?;
    if !config.features.reply_resume {
        return Err("`features.reply_resume` is not on");
    }
    let app_token = slack.app_token.as_ref().ok_or("`slack.app_token` is missing")?;
    if slack.target_user_id.is_none() {
        return Err("`destinations.dm.target_user_id` is missing");
    }
    Ok((slack, app_token))
}
