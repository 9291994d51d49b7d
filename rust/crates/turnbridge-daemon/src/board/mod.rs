//! Serves the board: a local web page that shows every session and its turns, and accepts replies
//! (KT-76..83, X36). Its threads read the files that hooks and the daemon have written, and hold
//! none of their locks. A reply goes into the inbox, like one from Slack.
//!
//! The holder of the token can make an agent run. Requests for data and actions are therefore
//! refused without it: see `guard`, and `sign_in` for how a browser gets it.

mod api;
mod board_replies;
mod cards;
mod failure;
mod go_to_terminal;
mod guard;
mod http;
mod live;
mod peer;
mod server;
mod settings;
pub mod sign_in;
mod static_files;
mod token;
mod turns;
mod unauthenticated;

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use turnbridge_core::board::board_wire::BoardFile;
use turnbridge_core::text::texts::Language;
use turnbridge_store::files::atomic_file::write_atomically;
use turnbridge_store::paths::StatePaths;

use api::BoardState;
use guard::Address;
use live::LiveUpdates;
pub use peer::PeerRefusal;
use server::{BoardServer, Listening};
use sign_in::SignIn;

/// The running board, which stops when it is dropped.
pub struct Board {
    paths: StatePaths,
    state: Arc<BoardState>,
    server: BoardServer,
}

impl Board {
    /// Starts the board. It calls `tell` after it has stored a reply, and `refused` after it has
    /// refused a connection because of its user.
    pub fn start(
        paths: StatePaths,
        port: u16,
        language: Language,
        tell: impl Fn() + Send + Sync + 'static,
        refused: impl Fn(PeerRefusal) + Send + Sync + 'static,
    ) -> io::Result<Board> {
        let Listening { listeners, port, is_ipv6_taken } = server::listen(port)?;
        let token = token::make()?;
        // Removes the files of a killed daemon, which lead to no board.
        sign_in::forget(&paths);
        let state = Arc::new(BoardState {
            paths: paths.clone(),
            address: Address { port, is_ipv6_taken },
            token: token.clone(),
            sign_in: SignIn::default(),
            is_japanese: AtomicBool::new(language == Language::Japanese),
            live: LiveUpdates::start(paths.clone())?,
            tell: Box::new(tell),
            refused: Box::new(refused),
        });
        let server = BoardServer::start(listeners, Arc::clone(&state))?;
        let pid = std::process::id();
        let file = BoardFile { version: 1, pid, port, token, is_ipv6_taken };
        write_atomically(&paths.board_file(), &serde_json::to_vec(&file)?)?;
        Ok(Board { paths, state, server })
    }

    pub fn port(&self) -> u16 {
        self.state.address.port
    }

    /// Returns whether another program has this port at `[::1]`.
    pub fn is_ipv6_taken(&self) -> bool {
        self.state.address.is_ipv6_taken
    }

    pub fn set_language(&self, language: Language) {
        self.state.is_japanese.store(language == Language::Japanese, Ordering::Relaxed);
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.paths.board_file());
        sign_in::forget(&self.paths);
        self.server.stop();
        self.state.live.stop();
    }
}
