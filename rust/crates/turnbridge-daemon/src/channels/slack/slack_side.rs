//! The connection by which replies come. It is there while the config asks for replies
//! (`features.reply_resume`) and names what is needed for them.

use std::io;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};

use turnbridge_config::slack_connection::{speed_up, web_api};
use turnbridge_config::{Config, Slack as SlackConfig};
use turnbridge_core::system::daemon_wire::SlackStatus;
use turnbridge_slack::{Envelope, SocketEvent, SocketMode, SocketWarning, Timing, Token};
use turnbridge_store::clock;
use turnbridge_store::log::Field;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::thread_marks::MarksFile;

use super::asker::{self, Order};
use super::ears::Ears;
use super::hearing::{Hearing, Marks, adopt_inbox};
use crate::channels::slack::machine::machine;
use crate::daemon::event::Event;
use crate::daemon::log::DaemonLog;
use crate::delivery::deliverer::Obstacle;

/// Slack allows an app so many sockets.
const MOST_LISTENERS: usize = 10;

pub struct SlackSide {
    paths: StatePaths,
    events: Sender<Event>,
    open: Option<Open>,
    /// The number of the last connection.
    connection: u64,
    status: SlackStatus,
    /// What could not be opened because of something on this machine, to be tried again.
    unopened: Option<(SlackConfig, Token)>,
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
        let (open, unopened, marks) = (None, None, None);
        SlackSide { paths, events, open, connection: 0, status, unopened, marks }
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
        self.open(wanted.clone(), app_token.clone(), log);
        self.status.clone()
    }

    /// Tries again what could not be opened. Returns `None` if there is no such thing.
    pub fn retry(&mut self, log: &DaemonLog) -> Option<SlackStatus> {
        let (wanted, app_token) = self.unopened.take()?;
        self.open(wanted, app_token, log);
        Some(self.status.clone())
    }

    fn open(&mut self, wanted: SlackConfig, app_token: Token, log: &DaemonLog) {
        self.connection += 1;
        let status = match self.connect(&wanted, app_token.clone()) {
            Ok(open) => {
                self.open = Some(open);
                SlackStatus::Connecting
            }
            Err(obstacle) => {
                self.unopened = Some((wanted, app_token));
                SlackStatus::Refused { error: obstacle.text, hint: Some(obstacle.hint) }
            }
        };
        // Each problem once, however often it is tried.
        if let (SlackStatus::Refused { error, hint }, true) = (&status, status != self.status) {
            let fields = [
                ("error", Field::Text(error.clone())),
                ("hint", Field::Text(hint.clone().unwrap_or_default())),
            ];
            log.error("no replies can be heard", &fields);
        }
        self.status = status;
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
        let timing = Timing::hastened(speed_up());
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
        self.unopened = None;
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

#[cfg(test)]
mod tests {
    use super::*;
    use turnbridge_config::Features;
    use turnbridge_slack::TokenKind;

    #[test]
    fn what_stood_in_the_way_at_the_start_is_looked_at_again_and_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        let slack = SlackConfig {
            bot_token: Token::parse(TokenKind::Bot, "xoxb-1").unwrap(),
            app_token: Token::parse(TokenKind::App, "xapp-1"),
            api_url: Some("http://127.0.0.1:9/api/".to_owned()),
            target_user_id: Some("U0OWNER".to_owned()),
        };
        let features = Features { reply_resume: true, service_enabled: false };
        let config = Config { slack: Some(slack), features, ..Config::default() };
        std::fs::write(paths.machine_file(), "{").unwrap();
        let log = DaemonLog::new(&paths);
        let (events, _incoming) = mpsc::channel();
        let mut slack = SlackSide::new(paths.clone(), events);
        let refused = slack.set_config(&config, &log);
        assert!(matches!(refused, SlackStatus::Refused { .. }), "{refused:?}");
        assert_eq!(slack.retry(&log), Some(refused));
        let told = std::fs::read_to_string(paths.daemon_log()).unwrap();
        assert_eq!(told.matches("no replies can be heard").count(), 1, "{told}");
        std::fs::remove_file(paths.machine_file()).unwrap();
        assert_eq!(slack.retry(&log), Some(SlackStatus::Connecting));
        assert!(slack.is_open());
        assert_eq!(slack.retry(&log), None);
        slack.stop();
    }
}
