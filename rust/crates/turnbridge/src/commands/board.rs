//! `turnbridge board`: prints the address of the page that the daemon serves. With `--open` or
//! `--code` it also signs a browser in.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use turnbridge_core::board::board_wire::BoardFile;
use turnbridge_system::daemon_control::find_board;

use crate::failure::note;
use crate::interrupt::Interrupt;
use crate::output;
use crate::sign_in::{BoardSignIn, SignInState};

/// The poll interval of the sign-in.
const LOOK: Duration = Duration::from_millis(50);

/// Show your sessions in a browser, and answer them there
///
/// Prints an address on this machine. Whoever has it may make your agents run: keep it to yourself.
#[derive(Debug, Args)]
pub struct BoardArgs {
    /// Open it in the browser, and wait until that has signed in
    #[arg(long)]
    open: bool,
    /// Show a code that signs a browser in which is open already, and wait until it was typed
    #[arg(long, conflicts_with_all = ["open", "json"])]
    code: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &BoardArgs) -> Result<()> {
    let paths = super::state_paths()?;
    let board = find_board(&paths)?;
    if !arguments.code {
        print(&board, arguments.json)?;
    }
    if board.is_ipv6_taken {
        note(&format!(
            "another program listens at [::1]:{0}; open 127.0.0.1, never `localhost`",
            board.port
        ));
    }
    match (arguments.open, arguments.code) {
        (true, _) => wait(|| BoardSignIn::open(&paths, &board)),
        (_, true) => wait(|| Ok(BoardSignIn::by_code(&paths, &board))),
        _ => Ok(()),
    }
}

fn print(board: &BoardFile, as_json: bool) -> Result<()> {
    let mut out = output::stdout();
    if as_json {
        let shown = json!({
            "version": 1, "url": board.url(), "port": board.port, "token": board.token,
            "pid": board.pid, "is_ipv6_taken": board.is_ipv6_taken,
        });
        writeln!(out, "{shown}")?;
    } else {
        writeln!(out, "{}", board.url())?;
    }
    Ok(out.flush()?)
}

/// Polls a sign-in until it has ended, or until Ctrl-C. Either way no secret stays behind: the
/// sign-in removes its files when it is dropped.
fn wait(begin: impl FnOnce() -> Result<BoardSignIn>) -> Result<()> {
    let interrupt = Interrupt::listen()?;
    let mut sign_in = begin()?;
    loop {
        match sign_in.poll()? {
            SignInState::Ended => return Ok(()),
            SignInState::GoesOn => {}
        }
        if interrupt.comes_within(LOOK) {
            return Ok(());
        }
    }
}
