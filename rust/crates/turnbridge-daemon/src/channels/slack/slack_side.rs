//! Opens, closes and retries the connection that receives replies from Slack. It is open while the
//! config enables replies (`features.reply_resume`) and contains the settings they need.

use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use turnbridge_config::slack_connection::{speed_up, web_api};
use turnbridge_config::{Config, SlackConfig};
use turnbridge_core::ids::ChannelName;
use turnbridge_core::system::daemon_wire::{ChannelStatus, ListenerStatus, RepliesStatus};
use turnbridge_slack::{Envelope, SocketEvent, SocketMode, SocketWarning, Timing, Token};
use turnbridge_store::clock;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::thread_marks::MarksFile;

use super::asker::{self, AskerCommand};
use super::hearing::{Hearing, Marks, adopt_inbox};
use super::slack_intake::SlackIntake;
use crate::channels::listener::Listener;
use crate::channels::obstacle::DeliveryObstacle;
use crate::channels::slack::machine::machine;
use crate::daemon::event::DaemonEvent;
use crate::daemon::log::DaemonLog;

/// The number of sockets that Slack allows an app.
const MOST_LISTENERS: usize = 10;

/// The pause before a connection that Slack has refused is retried.
const REFUSED_PAUSE: Duration = Duration::from_secs(5 * 60);

/// The receiving side of Slack, with at most one open connection.
pub struct SlackSide {
    paths: StatePaths,
    events: Sender<DaemonEvent>,
    open: Option<OpenSlack>,
    /// The number of the last connection.
    connection: u64,
    status: ListenerStatus,
    replies: Option<RepliesStatus>,
    report: Sender<ListenerReport>,
    reports: Receiver<ListenerReport>,
    /// The settings of a connection that failed because of this machine, for a retry.
    unopened: Option<(SlackConfig, Token)>,
    /// The refusal of the open connection.
    refusal: Option<Refusal>,
    /// The read marks, read once because there is one writer.
    marks: Option<Marks>,
}

/// A report of a connection's thread. A closed connection may still send some.
struct ListenerReport {
    connection: u64,
    news: ListenerNews,
}

enum ListenerNews {
    Socket(SocketEvent),
    /// The asker's status.
    Replies(Box<RepliesStatus>),
}

/// Sends reports, and wakes the daemon.
#[derive(Clone)]
struct ListenerReporter {
    connection: u64,
    reports: Sender<ListenerReport>,
    events: Sender<DaemonEvent>,
}

impl ListenerReporter {
    fn send(&self, news: ListenerNews) {
        let _ = self.reports.send(ListenerReport { connection: self.connection, news });
        let _ = self.events.send(DaemonEvent::Channel(ChannelName::SLACK));
    }
}

struct OpenSlack {
    hearing: Arc<Hearing>,
    asker: Sender<AskerCommand>,
    socket: SocketMode,
}

/// A refusal by Slack that lasts until a person repairs its cause. The repair, such as a new
/// installation of the app, may need no change of the config.
struct Refusal {
    error: String,
    tried_at: Instant,
}

impl SlackSide {
    pub fn new(paths: StatePaths, events: Sender<DaemonEvent>) -> SlackSide {
        let status = ListenerStatus::Off { reason: "no config has been read".to_owned() };
        let (open, replies, unopened, marks) = (None, None, None, None);
        let (report, reports) = mpsc::channel();
        SlackSide {
            paths,
            events,
            open,
            connection: 0,
            status,
            replies,
            report,
            reports,
            unopened,
            refusal: None,
            marks,
        }
    }

    fn open(&mut self, wanted: SlackConfig, app_token: Token, log: &DaemonLog) {
        self.connection += 1;
        let status = match self.connect(&wanted, app_token.clone()) {
            Ok(open) => {
                self.open = Some(open);
                ListenerStatus::Connecting
            }
            Err(obstacle) => {
                self.unopened = Some((wanted, app_token));
                let DeliveryObstacle { text: error, hint } = obstacle;
                ListenerStatus::Refused { error, hint: Some(hint), is_local: true }
            }
        };
        // Logs each problem once, however often the open is retried.
        if let (ListenerStatus::Refused { error, hint, .. }, true) =
            (&status, status != self.status)
        {
            let fields = [
                ("error", error.clone().into()),
                ("hint", hint.clone().unwrap_or_default().into()),
            ];
            log.error("could not start to listen for replies", &fields);
        }
        self.status = status;
    }

    fn connect(
        &mut self,
        slack: &SlackConfig,
        app_token: Token,
    ) -> Result<OpenSlack, DeliveryObstacle> {
        let api = Arc::new(web_api(slack)?);
        let files = |name: &str, error: io::Error| DeliveryObstacle {
            text: format!("{name}: {error}"),
            hint: "look at the state folder, and at the space on its disk".to_owned(),
        };
        let machine = machine(&self.paths).map_err(|error| files("machine.json", error))?;
        let marks = self.marks().map_err(|error| files("slack-threads.jsonl", error))?;
        let (paths, events) = (self.paths.clone(), self.events.clone());
        let hearing = Hearing::new(paths, slack.clone(), Arc::clone(&api), machine, marks, events);
        let hearing = Arc::new(hearing);
        let (orders, incoming) = mpsc::channel();
        let threads = |error: io::Error| DeliveryObstacle {
            text: format!("no thread for Slack: {error}"),
            hint: "too many processes may be running".to_owned(),
        };
        let reporter = self.reporter();
        let tell = move |status| reporter.send(ListenerNews::Replies(Box::new(status)));
        asker::start(Arc::clone(&hearing), Box::new(tell), incoming).map_err(threads)?;
        let keep = {
            let intake = SlackIntake { hearing: Arc::clone(&hearing), asker: orders.clone() };
            move |envelope: &Envelope<'_>| intake.receive(envelope)
        };
        let reporter = self.reporter();
        let tell = move |event| reporter.send(ListenerNews::Socket(event));
        let timing = Timing::scaled(speed_up());
        let socket = SocketMode::start_telling(api, app_token, timing, keep, tell);
        Ok(OpenSlack { hearing, asker: orders, socket: socket.map_err(threads)? })
    }

    fn retry_at(&mut self, now: Instant, log: &DaemonLog) {
        if let Some((wanted, app_token)) = self.unopened.take() {
            self.open(wanted, app_token, log);
        }
        if let (Some(open), Some(refusal)) = (&self.open, self.refusal.as_mut())
            && now.saturating_duration_since(refusal.tried_at) >= REFUSED_PAUSE
        {
            refusal.tried_at = now;
            open.socket.retry();
        }
    }

    /// Stores a refusal. Returns whether to log it: each error once, however often the connection
    /// is retried.
    fn note_refusal(&mut self, error: &str) -> bool {
        let before = self.refusal.take();
        let is_new = before.as_ref().is_none_or(|before| before.error != error);
        let tried_at = before.map_or_else(Instant::now, |before| before.tried_at);
        self.refusal = Some(Refusal { error: error.to_owned(), tried_at });
        is_new
    }

    fn reporter(&self) -> ListenerReporter {
        let (reports, events) = (self.report.clone(), self.events.clone());
        ListenerReporter { connection: self.connection, reports, events }
    }

    fn close(&mut self) {
        self.unopened = None;
        self.refusal = None;
        self.replies = None;
        if let Some(open) = self.open.take() {
            open.hearing.state().is_stopped = true;
            let _ = open.asker.send(AskerCommand::Stop);
        }
    }

    fn marks(&mut self) -> io::Result<Marks> {
        if let Some(marks) = &self.marks {
            return Ok(Arc::clone(marks));
        }
        let mut marks = MarksFile::read(&self.paths)?;
        adopt_inbox(&self.paths, &mut marks)?;
        Ok(Arc::clone(self.marks.insert(Arc::new(Mutex::new(marks)))))
    }

    /// Updates the asker's state from a socket event.
    fn note(&self, event: &SocketEvent) {
        let Some(open) = &self.open else { return };
        let mut state = open.hearing.state();
        let order = match event {
            SocketEvent::Connected { gap, .. } => {
                state.is_connected = true;
                state.has_too_many = false;
                // A warning follows if there are other connections.
                state.other_listeners = 0;
                let has_missed = gap.is_none_or(|gap| !gap.is_zero());
                if has_missed { AskerCommand::CatchUp } else { AskerCommand::Look }
            }
            SocketEvent::Warning(SocketWarning::OtherConnections { num_connections, ours }) => {
                state.other_listeners = num_connections.saturating_sub(*ours) as usize;
                AskerCommand::Look
            }
            SocketEvent::Warning(SocketWarning::TooManyConnections) => {
                state.has_too_many = true;
                state.other_listeners = MOST_LISTENERS;
                AskerCommand::Look
            }
            SocketEvent::Lost { .. } | SocketEvent::Retrying { .. } | SocketEvent::Fatal { .. } => {
                state.is_connected = false;
                AskerCommand::Look
            }
            SocketEvent::Warning(_) => return,
        };
        drop(state);
        let _ = open.asker.send(order);
    }

    fn take_socket_event(&mut self, event: SocketEvent, log: &DaemonLog) {
        self.note(&event);
        match event {
            SocketEvent::Connected { num_connections, gap, .. } => {
                let gap = gap.map_or(0, |gap| u64::try_from(gap.as_millis()).unwrap_or(u64::MAX));
                let fields = [("connections", num_connections.into()), ("gap_ms", gap.into())];
                log.info("connected to Slack", &fields);
                let since = clock::now().to_string();
                self.status = ListenerStatus::Connected { since, num_connections };
                self.refusal = None;
            }
            SocketEvent::Lost { reason } => {
                log.info("connection to Slack lost", &[("reason", reason.to_string().into())]);
                // A refused successor of this connection plans no other one.
                if self.refusal.is_none() {
                    self.status = ListenerStatus::Connecting;
                }
            }
            SocketEvent::Retrying { error, after } => {
                let fields = [
                    ("error", error.to_string().into()),
                    ("after_ms", u64::try_from(after.as_millis()).unwrap_or(u64::MAX).into()),
                ];
                log.warn("Slack cannot be reached", &fields);
                self.status = ListenerStatus::Connecting;
            }
            SocketEvent::Warning(warning) => {
                log.warn("Slack", &[("warning", warning.to_string().into())]);
            }
            SocketEvent::Fatal { error, hint } => {
                let (error, hint) = (error.to_string(), hint.map(str::to_owned));
                if self.note_refusal(&error) {
                    let mut fields = vec![("error", error.clone().into())];
                    fields.extend(hint.clone().map(|hint| ("hint", hint.into())));
                    log.error("Slack refused the connection; replies do not arrive", &fields);
                }
                self.status = ListenerStatus::Refused { error, hint, is_local: false };
            }
        }
    }
}

impl Listener for SlackSide {
    fn name(&self) -> ChannelName {
        ChannelName::SLACK
    }

    fn set_config(&mut self, config: &Config, log: &DaemonLog) {
        let (wanted, app_token) = match wanted(config) {
            Ok(wanted) => wanted,
            Err(reason) => return self.stop(&with_slips(reason, config)),
        };
        if self.open.as_ref().is_some_and(|open| open.hearing.slack == *wanted) {
            return;
        }
        // The old connection closes before the new one opens: they may belong to different apps.
        self.close();
        self.open(wanted.clone(), app_token.clone(), log);
    }

    fn retry(&mut self, log: &DaemonLog) {
        self.retry_at(Instant::now(), log);
    }

    fn take_reports(&mut self, log: &DaemonLog) {
        while let Ok(ListenerReport { connection, news }) = self.reports.try_recv() {
            if self.open.is_none() || connection != self.connection {
                continue;
            }
            match news {
                ListenerNews::Socket(event) => self.take_socket_event(event, log),
                ListenerNews::Replies(status) => self.replies = Some(*status),
            }
        }
    }

    fn status(&self) -> ChannelStatus {
        ChannelStatus { listener: self.status.clone(), replies: self.replies.clone() }
    }

    fn stop(&mut self, reason: &str) {
        self.close();
        self.status = ListenerStatus::Off { reason: reason.to_owned() };
    }
}

/// Returns the settings for replies, or the reason why they are off.
fn wanted(config: &Config) -> Result<(&SlackConfig, &Token), &'static str> {
    let slack = config.slack().ok_or("no Slack is configured")?;
    if !config.features.reply_resume {
        return Err("`features.reply_resume` is not on");
    }
    let app_token = slack.app_token.as_ref().ok_or("`slack.app_token` is missing")?;
    if slack.target_user_id.is_none() {
        return Err("`destinations.dm.target_user_id` is missing");
    }
    Ok((slack, app_token))
}

/// Returns the reason, and the unknown keys of the config, which may be misspelt.
fn with_slips(reason: &str, config: &Config) -> String {
    let is_of_slack = |key: &str| match key.split_once('.') {
        Some((section, _)) => ["slack", "destinations", "features"].contains(&section),
        None => true,
    };
    let unknown = config.unknown.iter().filter(|unknown| is_of_slack(&unknown.key));
    let unknown: Vec<_> = unknown.map(ToString::to_string).collect();
    match unknown.is_empty() {
        true => reason.to_owned(),
        false => format!("{reason}; not known in config.toml: {}", unknown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::slack::{SlackApi, SlackSetup};
    use turnbridge_config::Features;
    use turnbridge_slack::{SocketLoss, TokenKind};

    const TIMEOUT: Duration = Duration::from_secs(60);

    fn config(app_token: &str, api_url: String) -> Config {
        let slack = SlackConfig {
            bot_token: Token::parse(TokenKind::Bot, &SlackSetup::default().bot_token).unwrap(),
            app_token: Token::parse(TokenKind::App, app_token),
            api_url: Some(api_url),
            target_user_id: Some("U0OWNER".to_owned()),
        };
        let features = Features { reply_resume: true, service_enabled: false };
        Config { channels: [slack.named()].into(), features, ..Config::default() }
    }

    #[test]
    fn what_stood_in_the_way_at_the_start_is_looked_at_again_and_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        let config = config("xapp-1", "http://127.0.0.1:9/api/".to_owned());
        std::fs::write(paths.machine_file(), "{").unwrap();
        let log = DaemonLog::new(&paths);
        let (events, _incoming) = mpsc::channel();
        let mut slack = SlackSide::new(paths.clone(), events);
        slack.set_config(&config, &log);
        let refused = slack.status().listener;
        assert!(matches!(refused, ListenerStatus::Refused { is_local: true, .. }), "{refused:?}");
        slack.retry(&log);
        assert_eq!(slack.status().listener, refused);
        let told = std::fs::read_to_string(paths.daemon_log()).unwrap();
        assert_eq!(told.matches("could not start to listen for replies").count(), 1, "{told}");
        std::fs::remove_file(paths.machine_file()).unwrap();
        slack.retry(&log);
        assert_eq!(slack.status().listener, ListenerStatus::Connecting);
        assert!(slack.open.is_some() && slack.unopened.is_none());
        slack.stop("the test ends");
    }

    /// A repair in Slack, such as a new installation of the app, causes no event for the daemon.
    #[test]
    fn a_connection_that_slack_refused_is_tried_again_every_five_minutes_and_logged_once() {
        let api = SlackApi::start(SlackSetup::default());
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        let log = DaemonLog::new(&paths);
        let (events, _incoming) = mpsc::channel();
        let mut slack = SlackSide::new(paths.clone(), events);
        slack.set_config(&config("xapp-wrong", api.base_url()), &log);
        testkit::wait_until(TIMEOUT, "the refusal", || {
            slack.take_reports(&log);
            let listener = slack.status().listener;
            matches!(listener, ListenerStatus::Refused { is_local: false, .. }).then_some(())
        });
        let refused = slack.status().listener;

        let mut minute = 0;
        let mut retry_after = |slack: &mut SlackSide, minutes: u64| {
            minute += minutes;
            slack.retry_at(Instant::now() + Duration::from_secs(60 * minute), &log);
        };
        retry_after(&mut slack, 4);
        assert_eq!(api.calls_of("apps.connections.open").len(), 1);
        // The connection that the refused one was to replace ends now.
        let reason = SocketLoss::Closed { code: None };
        slack.take_socket_event(SocketEvent::Lost { reason }, &log);
        assert_eq!(slack.status().listener, refused);
        retry_after(&mut slack, 2);
        retry_after(&mut slack, 1);
        api.wait_for_calls("apps.connections.open", 2, TIMEOUT);
        slack.take_reports(&log);
        assert_eq!(slack.status().listener, refused);

        api.change(|setup| setup.app_token = "xapp-wrong".to_owned());
        testkit::wait_until(TIMEOUT, "the connection", || {
            retry_after(&mut slack, 6);
            slack.take_reports(&log);
            matches!(slack.status().listener, ListenerStatus::Connected { .. }).then_some(())
        });
        let told = std::fs::read_to_string(paths.daemon_log()).unwrap();
        assert_eq!(told.matches("Slack refused the connection").count(), 1, "{told}");
        slack.stop("the test ends");
    }
}
