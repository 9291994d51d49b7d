//! Runs a demo from its start to its end: starts its processes, shows the board when the daemon
//! serves it, and waits. The user, the time limit or the end of the terminal ends it.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Result;
use turnbridge_core::board::board_wire::BoardFile;
use turnbridge_system::daemon_control;

use super::company::DemoProcesses;
use super::home::DemoHome;
use super::terminal::ParentTerminal;
use crate::failure::{hinted, tell};
use crate::interrupt::Interrupt;
use crate::output;
use crate::sign_in::{BoardSignIn, SignInState};

/// The timeout for the start of the daemon.
const TIMEOUT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

/// The options of a demo.
pub struct Performance<'a> {
    pub home: &'a DemoHome,
    pub opens_browser: bool,
    /// The time limit, or `None` to run until the user or the terminal ends it.
    pub length: Option<Duration>,
    pub interrupt: &'a Interrupt,
}

impl Performance<'_> {
    pub fn run(&self, company: &mut DemoProcesses) -> Result<()> {
        company.start_daemon(self.home)?;
        company.start_players(self.home)?;
        let Some(board) = self.wait_for_board(company)? else { return Ok(()) };
        self.print(&board)?;
        // With the user's own environment: it is their browser.
        let mut sign_in = match self.opens_browser {
            true => Some(BoardSignIn::open(&company.paths, &board)?),
            false => None,
        };
        let last = self.length.map(|length| Instant::now() + length);
        let terminal = ParentTerminal::of_stdin();
        while last.is_none_or(|last| Instant::now() < last) && !terminal.is_gone() {
            if self.interrupt.comes_within(PAUSE) {
                break;
            }
            if company.has_lost_daemon() {
                return Err(hinted("the demo's daemon has ended", "start the demo again"));
            }
            match sign_in.as_mut().map(BoardSignIn::poll) {
                None | Some(Ok(SignInState::GoesOn)) => {}
                Some(Ok(SignInState::Ended)) => sign_in = None,
                // Its address is printed above.
                Some(Err(error)) => {
                    tell(&error.to_string());
                    sign_in = None;
                }
            }
        }
        Ok(())
    }

    /// Waits until the daemon serves the board. Returns `None` if the user has ended the demo
    /// before.
    fn wait_for_board(&self, company: &mut DemoProcesses) -> Result<Option<BoardFile>> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            match daemon_control::find_board(&company.paths) {
                Ok(found) => return Ok(Some(found)),
                Err(error) if Instant::now() >= deadline || company.has_lost_daemon() => {
                    return Err(error.context("the demo's daemon did not start"));
                }
                Err(_) if self.interrupt.comes_within(PAUSE) => return Ok(None),
                Err(_) => {}
            }
        }
    }

    fn print(&self, board: &BoardFile) -> Result<()> {
        let end = if self.length.is_none() { "Ctrl-C ends the demo.\n" } else { "" };
        let url = board.url();
        let text = format!("{url}\nOpen it and answer one of the agents; they only play.\n{end}");
        let mut out = output::stdout();
        // One write: a reader that wants only the address may be gone after the first line.
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }
}
