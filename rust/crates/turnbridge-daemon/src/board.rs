//! The board: a page on this machine that shows every session, its turns, and takes replies (KT-76..83,
//! X36). Files are the truth here too: it reads what hooks and daemon have written, in threads of its
//! own, and holds no lock of theirs. A reply goes into the inbox, like one from Slack.
//!
//! Whoever has the token may make an agent run, so that nothing else is listened to: see `guard`.

mod api;
mod cards;
mod children;
mod guard;
mod http;
mod live;
mod replies;
mod server;
mod static_files;
pub mod ticket;
mod token;
mod turns;

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use turnbridge_core::board_wire::BoardFile;
use turnbridge_core::texts::Language;
use turnbridge_store::atomic_file::write_atomically;
use turnbridge_store::paths::StatePaths;

use api::Desk;
use live::Live;
use server::Server;

/// Serves until it is dropped.
pub struct Board {
    paths: StatePaths,
    desk: Arc<Desk>,
    server: Server,
}

impl Board {
    /// `tell` is called when a reply has been written down.
    pub fn start(
        paths: StatePaths,
        port: u16,
        language: Language,
        tell: impl Fn() + Send + Sync + 'static,
    ) -> io::Result<Board> {
        let listeners = server::listen(port)?;
        let port = listeners[0].local_addr()?.port();
        let token = token::make()?;
        let desk = Arc::new(Desk {
            paths: paths.clone(),
            port,
            token: token.clone(),
            is_japanese: AtomicBool::new(language == Language::Japanese),
            live: Live::start(paths.clone())?,
            tell: Box::new(tell),
        });
        let server = Server::start(listeners, Arc::clone(&desk))?;
        let file = BoardFile { version: 1, pid: std::process::id(), port, token };
        write_atomically(&paths.board_file(), &serde_json::to_vec(&file)?)?;
        Ok(Board { paths, desk, server })
    }

    pub fn port(&self) -> u16 {
        self.desk.port
    }

    pub fn set_language(&self, language: Language) {
        self.desk.is_japanese.store(language == Language::Japanese, Ordering::Relaxed);
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        for file in [self.paths.board_file(), self.paths.board_ticket()] {
            let _ = fs::remove_file(file);
        }
        self.server.stop();
        self.desk.live.stop();
    }
}
