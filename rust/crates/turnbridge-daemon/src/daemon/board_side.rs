//! The board while the daemon lives: there is one from the first config on, or without any.

use std::sync::mpsc::Sender;

use turnbridge_config::Config;
use turnbridge_core::texts::Language;
use turnbridge_store::log::Field;
use turnbridge_store::paths::StatePaths;

use super::event::Event;
use super::log::DaemonLog;
use crate::board::Board;
use crate::notifier::language;

pub struct BoardSide {
    paths: StatePaths,
    events: Sender<Event>,
    log: DaemonLog,
    /// What the config says.
    port: u16,
    language: Language,
    open: Option<Board>,
    /// What has been logged: it is not logged again while it stays the same.
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
        self.language = language(config);
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
        if self.open.is_some() {
            return;
        }
        let events = self.events.clone();
        let tell = move || drop(events.send(Event::ReplyKept));
        match Board::start(self.paths.clone(), self.port, self.language, tell) {
            Ok(board) => {
                let fields = [("port", Field::Number(u64::from(board.port())))];
                self.log.info("the board is open", &fields);
                self.open = Some(board);
                self.told = None;
            }
            Err(error) => {
                let error = error.to_string();
                if self.told.as_ref() != Some(&error) {
                    let fields = [
                        ("port", Field::Number(u64::from(self.port))),
                        ("error", Field::Text(error.clone())),
                        ("hint", Field::Text("choose another `[board] port`".to_owned())),
                    ];
                    self.log.error("the board cannot be served", &fields);
                    self.told = Some(error);
                }
            }
        }
    }

    pub fn stop(&mut self) {
        self.open = None;
    }
}
