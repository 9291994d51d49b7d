//! Signs a browser in to the board for the command that started it: by a page in the state folder,
//! then by a code if no browser fetches the page; or by a code alone. `turnbridge_core` decides the
//! next step.

use std::process::Child;
use std::time::Instant;

use anyhow::{Context, Result};
use turnbridge_config::Config;
use turnbridge_core::board::board_wire::BoardFile;
use turnbridge_core::board::sign_in::{
    CODE_VALID, SignInProgress, SignInStep, TICKET_VALID, file_url, next_step,
};
use turnbridge_core::board::sign_in_texts::SignInText;
use turnbridge_core::text::texts::Language;
use turnbridge_daemon::board::sign_in::{Code, Ticket};
use turnbridge_store::paths::StatePaths;
use turnbridge_system::browser::{BrowserOpener, is_remote};
use turnbridge_system::daemon_control;

use crate::failure::{hinted, tell};

/// A sign-in that has begun. Its secrets become invalid when it is dropped.
pub struct BoardSignIn {
    paths: StatePaths,
    board: BoardFile,
    language: Language,
    way: SignInWay,
    began: Instant,
    ticket: Option<Ticket>,
    code: Option<(Code, Instant)>,
    /// The program that opens addresses, and its process.
    opener: Option<BrowserOpener>,
    started: Option<Child>,
}

/// The first method of a sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SignInWay {
    /// A browser that this command opens.
    Browser,
    /// A code, for a browser that is open already or on another machine.
    Code,
}

/// The result of one step.
#[derive(Debug, PartialEq, Eq)]
pub enum SignInState {
    GoesOn,
    Ended,
}

impl BoardSignIn {
    /// Starts a sign-in and opens a browser.
    pub fn open(paths: &StatePaths, board: &BoardFile) -> Result<BoardSignIn> {
        let mut sign_in = BoardSignIn::new(paths, board, SignInWay::Browser);
        sign_in.opener = BrowserOpener::find();
        if let Some(opener) = &sign_in.opener {
            let ticket = Ticket::make(paths, board.port);
            let ticket = ticket.context("could not write to the state folder")?;
            sign_in.started = opener.start(&file_url(ticket.page().as_os_str().as_encoded_bytes()));
            sign_in.ticket = Some(ticket);
        }
        Ok(sign_in)
    }

    /// Starts a sign-in by code, without a browser.
    pub fn by_code(paths: &StatePaths, board: &BoardFile) -> BoardSignIn {
        BoardSignIn::new(paths, board, SignInWay::Code)
    }

    fn new(paths: &StatePaths, board: &BoardFile, way: SignInWay) -> BoardSignIn {
        BoardSignIn {
            paths: paths.clone(),
            board: board.clone(),
            language: Config::read().unwrap_or_default().spoken_language(),
            way,
            began: Instant::now(),
            ticket: None,
            code: None,
            opener: None,
            started: None,
        }
    }

    /// Takes the next step.
    pub fn poll(&mut self) -> Result<SignInState> {
        let progress = self.progress();
        if progress.waited >= TICKET_VALID && progress.code.is_some() {
            self.ticket = None;
        }
        let failed = |error: SignInText, hint: SignInText| {
            Err(hinted(error.text(self.language), hint.text(self.language)))
        };
        match next_step(&progress) {
            SignInStep::Wait => Ok(SignInState::GoesOn),
            SignInStep::ShowCode => {
                self.show_code(progress.has_no_browser)?;
                Ok(SignInState::GoesOn)
            }
            SignInStep::Done => {
                if self.code.is_some() {
                    tell(SignInText::SignedIn.text(self.language));
                }
                Ok(SignInState::Ended)
            }
            SignInStep::Replaced => {
                tell(SignInText::Replaced.text(self.language));
                Ok(SignInState::Ended)
            }
            SignInStep::BoardGone => failed(SignInText::BoardGone, SignInText::StartDaemon),
            SignInStep::TooManyWrongCodes => {
                failed(SignInText::TooManyWrongCodes, SignInText::TryAgain)
            }
            SignInStep::CodeExpired => failed(SignInText::CodeExpired, SignInText::TryAgain),
        }
    }

    fn progress(&mut self) -> SignInProgress {
        let has_failed = |child: &mut Child| {
            child.try_wait().is_ok_and(|ended| ended.is_some_and(|status| !status.success()))
        };
        let ticket = self.ticket.as_ref().map(Ticket::standing);
        let code = self.code.as_ref().map(|(code, _)| code.standing());
        // Ticket and code are read before `board.json`: a daemon that ends removes `board.json`
        // first, and their removal would otherwise look like a sign-in.
        let is_board_there = daemon_control::is_running(&self.paths)
            && daemon_control::read_board(&self.paths)
                .is_some_and(|board| board.token == self.board.token);
        SignInProgress {
            ticket,
            code,
            waited: self.began.elapsed(),
            waited_for_code: self.code.as_ref().map(|(_, at)| at.elapsed()).unwrap_or_default(),
            has_no_browser: self.started.as_mut().is_none_or(has_failed),
            is_board_there,
        }
    }

    fn show_code(&mut self, has_no_browser: bool) -> Result<()> {
        let code = Code::make(&self.paths).context("could not write to the state folder")?;
        let (url, port) = (self.board.plain_url(), self.board.port.to_string());
        let minutes = (CODE_VALID.as_secs() / 60).to_string();
        let shown = code.shown();
        self.code = Some((code, Instant::now()));
        let values = [url.as_str(), &port, &shown, &minutes];
        let mut texts = Vec::new();
        match (self.way, has_no_browser) {
            (SignInWay::Browser, false) => texts.push(SignInText::NotOpened),
            (SignInWay::Browser, true) => texts.push(SignInText::NoBrowser),
            (SignInWay::Code, _) => {}
        }
        if is_remote() {
            texts.push(SignInText::ByForwarding);
        }
        texts.push(SignInText::TypeCode);
        let texts = texts.iter().map(|text| text.with(self.language, &values));
        tell(&texts.collect::<Vec<_>>().join("\n\n"));
        if let Some(opener) = &self.opener {
            self.started = opener.start(&url);
        }
        Ok(())
    }
}
