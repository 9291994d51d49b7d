//! `turnbridge board`: the address of the page that the daemon serves, and a browser for it.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use clap::Args;
use serde_json::json;
use turnbridge_core::board_wire::BoardFile;
use turnbridge_daemon::board::ticket;
use turnbridge_store::paths::StatePaths;

use super::daemon;
use crate::failure::{hinted, note};
use crate::programs;

/// Show your sessions in a browser, and answer them there
///
/// Prints an address on this machine. Whoever has it may make your agents run: keep it to yourself.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Open it in the browser
    #[arg(long)]
    open: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let paths = super::state_paths()?;
    let board = find(&paths)?;
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let shown = json!({
            "version": 1, "url": board.url(), "port": board.port, "token": board.token,
            "pid": board.pid,
        });
        writeln!(out, "{shown}")?;
    } else {
        writeln!(out, "{}", board.url())?;
    }
    if arguments.open {
        open(&paths, &board)?;
    }
    Ok(())
}

pub fn find(paths: &StatePaths) -> Result<BoardFile> {
    if !daemon::is_running(paths) {
        return Err(hinted(
            "no daemon runs, and the board is its page",
            "start it with `turnbridge daemon`, then run `turnbridge board` again",
        ));
    }
    let file = fs::read(paths.board_file()).ok();
    file.and_then(|bytes| serde_json::from_slice(&bytes).ok()).ok_or_else(|| {
        hinted("the daemon serves no board", "`turnbridge logs daemon` says why it cannot")
    })
}

/// By whatever opens addresses here. A failure is worth a word; the address has been printed.
pub fn open(paths: &StatePaths, board: &BoardFile) -> Result<()> {
    let ticket = ticket::make(paths).context("could not write to the state folder")?;
    let url = board.url_with_ticket(&ticket);
    let openers: &[(&str, &[&str])] = if cfg!(windows) {
        &[("rundll32", &["url.dll,FileProtocolHandler"])]
    } else if cfg!(target_os = "macos") {
        &[("open", &[])]
    } else {
        &[("wslview", &[]), ("xdg-open", &[])]
    };
    for (name, arguments) in openers {
        let Some(program) = programs::find(name, None) else { continue };
        let mut command = Command::new(program);
        command.args(*arguments).arg(&url);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if command.spawn().is_ok() {
            return Ok(());
        }
    }
    note("no program was found that opens addresses; open it yourself");
    Ok(())
}
