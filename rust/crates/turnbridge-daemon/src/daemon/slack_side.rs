//! The connection by which replies come. It is there while the config asks for replies
//! (`features.reply_resume`) and names what is needed for them.

use std::io;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};

use turnbridge_config::{Config, Slack as SlackConfig};
use turnbridge_core::daemon_wire::SlackStatus;
use turnbridge_slack::{Envelope, SocketEvent, SocketMode, SocketWarning, Timing, Token};
use turnbridge_store::clock;
use turnbridge_store::log::Field;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::thread_marks::MarksFile;

use super::asker::{self, Order};
use super::ears::Ears;
use super::event::Event;
use super::hearing::{Hearing, Marks, adopt_inbox};
use super::log::DaemonLog;
use crate::machine::machine;
use crate::notifier::{Obstacle, haste, web_api};

/// Slack allows an app so many sockets.
const MOST_LISTENERS: usize = 10;

pub struct SlackSide {
    paths: StatePaths,
    events: Sender<Event>,
    open: Option<Open>,
    /// The number of the last connection.
    connection: u64,
    status: SlackStatus,
    /// Read once: there is one writer.
    marks: Option<Marks>,
}

struct Open {
    hearing: Arc<Hearing>,
    asker: Sender<Order>,
    _socket: SocketMode,
}

impl SlackSide {
    pub fn new(paths: StatePaths, events: Sender<Event>) -> SlackSide {
        let status = SlackStatus::Off { reason: "no config has been read".to_owned() };
        SlackSide { paths, events, open: None, connection: 0, status, marks: None }
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
        if self.open.as_ref().is_some_and(|open| open.hearing.slack == *wanted) {
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

    fn connect(&mut self, slack: &SlackConfig, app_token: Token) -> Result<Open, Obstacle> {
        let api = Arc::new(web_api(slack)?);
        let files = |name: &str, error: io::Error| Obstacle {
            text: format!("{name}: {error}"),
            hint: "look at the state folder, and at the space on its disk".to_owned(),
        };
        let machine = machine(&self.paths).map_err(|error| files("machine.json", error))?;
        let marks = self.marks().map_err(|error| files("slack-threads.jsonl", error))?;
        let (paths, events) = (self.paths.clone(), self.events.clone());
        let hearing = Hearing::new(paths, slack.clone(), Arc::clone(&api), machine, marks, events);
        let hearing = Arc::new(hearing);
        let (orders, incoming) = mpsc::channel();
        let threads = |error: io::Error| Obstacle {
            text: format!("no thread for Slack: {error}"),
            hint: "too many processes may be running".to_owned(),
        };
        asker::start(Arc::clone(&hearing), incoming).map_err(threads)?;
        let keep = {
            let ears = Ears { hearing: Arc::clone(&hearing), asker: orders.clone() };
            move |envelope: &Envelope<'_>| ears.take(envelope)
        };
        let events = self.events.clone();
        let connection = self.connection;
        let tell = move |event| drop(events.send(Event::Socket { connection, event }));
        let timing = Timing::hastened(haste());
        let socket = SocketMode::start_telling(api, app_token, timing, keep, tell);
        Ok(Open { hearing, asker: orders, _socket: socket.map_err(threads)? })
    }

    fn marks(&mut self) -> io::Result<Marks> {
        if let Some(marks) = &self.marks {
            return Ok(Arc::clone(marks));
        }
        let mut marks = MarksFile::read(&self.paths)?;
        adopt_inbox(&self.paths, &mut marks)?;
        Ok(Arc::clone(self.marks.insert(Arc::new(Mutex::new(marks)))))
    }

    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// What the asker has to know of the socket.
    fn note(&self, event: &SocketEvent) {
        let Some(open) = &self.open else { return };
        let mut state = open.hearing.state();
        let order = match event {
            SocketEvent::Connected { gap, .. } => {
                state.is_connected = true;
                state.has_too_many = false;
                // A warning follows if there are any.
                state.other_listeners = 0;
                let has_missed = gap.is_none_or(|gap| !gap.is_zero());
                if has_missed { Order::CatchUp } else { Order::Look }
            }
            SocketEvent::Warning(SocketWarning::OtherConnections { num_connections, ours }) => {
                state.other_listeners = num_connections.saturating_sub(*ours) as usize;
                Order::Look
            }
            SocketEvent::Warning(SocketWarning::TooManyConnections) => {
                state.has_too_many = true;
                state.other_listeners = MOST_LISTENERS;
                Order::Look
            }
            SocketEvent::Lost { .. } | SocketEvent::Retrying { .. } | SocketEvent::Fatal { .. } => {
                state.is_connected = false;
                Order::Look
            }
            SocketEvent::Warning(_) => return,
        };
        drop(state);
        let _ = open.asker.send(order);
    }

    /// What the connection tells of itself.
    pub fn hear(&mut self, connection: u64, event: SocketEvent, log: &DaemonLog) -> SlackStatus {
        if self.open.is_none() || connection != self.connection {
            return self.status.clone();
        }
        self.note(&event);
        match event {
            SocketEvent::Connected { num_connections, gap, .. } => {
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
            open.hearing.state().is_stopped = true;
            let _ = open.asker.send(Order::Stop);
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
