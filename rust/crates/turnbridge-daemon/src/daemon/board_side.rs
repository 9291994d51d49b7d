//! Starts, restarts and stops the board for the daemon, and logs its problems. The board runs from
//! the first read of the config on, whether or not the config is valid.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use turnbridge_config::Config;
use turnbridge_core::system::daemon_wire::BoardStatus;
use turnbridge_core::text::texts::Language;
use turnbridge_store::paths::StatePaths;

use super::event::DaemonEvent;
use super::log::DaemonLog;
use crate::board::{Board, PeerRefusal, sign_in};

/// The board, or the error of its last start.
pub struct BoardSide {
    paths: StatePaths,
    events: Sender<DaemonEvent>,
    log: DaemonLog,
    /// The port of the config.
    port: u16,
    language: Language,
    open: Option<Board>,
    /// The error of the last start, which is not logged again while it stays the same.
    told: Option<String>,
}

impl BoardSide {
    pub fn new(paths: StatePaths, events: Sender<DaemonEvent>) -> BoardSide {
        let log = DaemonLog::new(&paths);
        let (port, language) = (0, Language::English);
        BoardSide { paths, events, log, port, language, open: None, told: None }
    }

    /// Applies a config. It restarts the board only if the port has changed, because pages are
    /// open.
    pub fn set_config(&mut self, config: &Config) {
        self.language = config.spoken_language();
        if config.board.port != self.port {
            self.open = None;
            self.port = config.board.port;
        }
        if let Some(board) = &self.open {
            board.set_language(self.language);
        }
        self.open_if_closed();
    }

    /// Starts the board if it is not running: the port may be free by now.
    pub fn open_if_closed(&mut self) {
        sign_in::forget_old(&self.paths);
        if self.open.is_some() {
            return;
        }
        let events = self.events.clone();
        let tell = move || drop(events.send(DaemonEvent::ReplyKept));
        let refused = log_refusals(self.log.clone());
        match Board::start(self.paths.clone(), self.port, self.language, tell, refused) {
            Ok(board) => {
                let fields = [("port", board.port().into())];
                self.log.info("board started", &fields);
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
                    self.log.error("could not serve the board", &fields);
                    self.told = Some(error);
                }
            }
        }
    }

    /// Returns whether the board is served, or `None` if no start was tried yet.
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

/// The limit of users named in the log, so that connections cannot fill it.
const MOST_OTHER_USERS: usize = 16;

/// Logs each refused user once, and once that a user could not be read.
fn log_refusals(log: DaemonLog) -> impl Fn(PeerRefusal) + Send + Sync {
    let told = Mutex::new(BTreeSet::new());
    let is_unreadable_told = AtomicBool::new(false);
    move |refusal| {
        let user = match refusal {
            PeerRefusal::OtherUser(user) => user,
            PeerRefusal::Unreadable => {
                if !is_unreadable_told.swap(true, Ordering::SeqCst) {
                    log.warn("refused a connection to the board: its user is not known", &[]);
                }
                return;
            }
            PeerRefusal::Gone => return,
        };
        let Ok(mut told) = told.lock() else { return };
        if told.len() < MOST_OTHER_USERS && told.insert(user) {
            let fields = [("user", user.into())];
            log.warn("another user of this machine tried to reach the board", &fields);
        }
    }
}
