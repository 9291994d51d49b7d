//! The board while the daemon lives: there is one from the first config on, or without any.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use turnbridge_config::Config;
use turnbridge_core::system::daemon_wire::BoardStatus;
use turnbridge_core::text::texts::Language;
use turnbridge_store::paths::StatePaths;

use super::event::Event;
use super::log::DaemonLog;
use crate::board::{Board, Refusal, sign_in};

pub struct BoardSide {
    paths: StatePaths,
    events: Sender<Event>,
    log: DaemonLog,
    /// What the config says.
    port: u16,
    language: Language,
    open: Option<Board>,
    /// Why it cannot be served. It is not logged again while it stays the same.
    told: Option<String>,
}

impl BoardSide {
    pub fn new(paths: StatePaths, events: Sender<Event>) -> BoardSide {
        let log = DaemonLog::new(&paths);
        let (port, language) = (0, Language::English);
        BoardSide { paths, events, log, port, language, open: None, told: None }
    }

    /// Moves it only when its port is another one: pages are open.
    pub fn set_config(&mut self, config: &Config) {
        self.language = config.spoken_language();
        if config.board.port != self.port {
            self.open = None;
            self.port = config.board.port;
        }
        if let Some(board) = &self.open {
            board.set_language(self.language);
        }
        self.look();
    }

    /// Opens it, if it is not: whoever had the port may have left it.
    pub fn look(&mut self) {
        sign_in::forget_old(&self.paths);
        if self.open.is_some() {
            return;
        }
        let events = self.events.clone();
        let tell = move || drop(events.send(Event::ReplyKept));
        let refused = log_refusals(self.log.clone());
        match Board::start(self.paths.clone(), self.port, self.language, tell, refused) {
            Ok(board) => {
                let fields = [("port", board.port().into())];
                self.log.info("the board is open", &fields);
                if board.is_ipv6_taken() {
                    self.warn_of_ipv6(board.port());
                }
                self.open = Some(board);
                self.told = None;
            }
            Err(error) => {
                let error = error.to_string();
                if self.told.as_ref() != Some(&error) {
                    let fields = [
                        ("port", self.port.into()),
                        ("error", error.clone().into()),
                        ("hint", "choose another `[board] port`".into()),
                    ];
                    self.log.error("the board cannot be served", &fields);
                    self.told = Some(error);
                }
            }
        }
    }

    /// `None`: it was not tried yet.
    pub fn status(&self) -> Option<BoardStatus> {
        match (&self.open, &self.told) {
            (Some(board), _) => Some(BoardStatus::Served { port: board.port() }),
            (None, Some(error)) => {
                Some(BoardStatus::NotServed { port: self.port, error: error.clone() })
            }
            (None, None) => None,
        }
    }

    fn warn_of_ipv6(&self, port: u16) {
        let hint = format!(
            "use http://127.0.0.1:{port}/ and not `localhost`, or choose another `[board] port`"
        );
        let fields = [("port", port.into()), ("hint", hint.into())];
        self.log.warn("another program listens at [::1] with the board's port", &fields);
    }

    pub fn stop(&mut self) {
        self.open = None;
    }
}

/// How many users are named in the log; nobody fills it by connecting.
const MOST_STRANGERS: usize = 16;

/// Logs each user once whose connections are refused, and once that the system did not tell.
fn log_refusals(log: DaemonLog) -> impl Fn(Refusal) + Send + Sync {
    let told = Mutex::new(BTreeSet::new());
    let is_unreadable_told = AtomicBool::new(false);
    move |refusal| {
        let user = match refusal {
            Refusal::Stranger(user) => user,
            Refusal::Unreadable => {
                if !is_unreadable_told.swap(true, Ordering::SeqCst) {
                    log.warn("the board refused a connection: its user could not be read", &[]);
                }
                return;
            }
            Refusal::Gone => return,
        };
        let Ok(mut told) = told.lock() else { return };
        if told.len() < MOST_STRANGERS && told.insert(user) {
            let fields = [("user", user.into())];
            log.warn("another user of this machine tried to reach the board", &fields);
        }
    }
}
