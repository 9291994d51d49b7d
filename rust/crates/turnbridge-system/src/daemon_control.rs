//! Starts and ends the daemon, and reads its status and the address of its board.
//! `turnbridge-daemon` does the daemon's work.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use turnbridge_core::board::board_wire::BoardFile;
use turnbridge_core::system::daemon_wire::{BoardStatus, DaemonStatus};
use turnbridge_store::files::atomic_file::write_atomically;
use turnbridge_store::files::file_lock;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::process;
use turnbridge_store::process::detached_process::{self, Detachment};

use crate::failure::hinted;

/// The timeout of a start or a stop: enough for a slow machine; it takes some milliseconds.
const TIMEOUT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);
/// The timeout for a daemon that holds its lock to write its status.
const STATUS_TIMEOUT: Duration = Duration::from_secs(2);

/// The hint for a daemon that runs but has not written its status.
pub const MUTE_HINT: &str = "the disk of the state folder may be full, or `daemon.json` not writable; the daemon tries \
     again every 30 s";

/// Starts a daemon in the background, and returns its pid when it is up.
pub fn launch(paths: &StatePaths) -> Result<u32> {
    if is_running(paths) {
        return Err(already_running());
    }
    let mut child = detached_process::start(
        "turnbridge",
        &["daemon", "--foreground"],
        Detachment::InItsOwnGroup,
    )
    .context("could not start `turnbridge` in the background")?;
    // A status that a killed daemon has left does not count.
    let pid = child.id();
    let is_up = || is_running(paths) && read_status(paths).is_some_and(|status| status.pid == pid);
    let deadline = Instant::now() + TIMEOUT;
    while !is_up() {
        let has_ended = child.try_wait().is_ok_and(|ended| ended.is_some());
        if has_ended || Instant::now() >= deadline {
            // It holds its lock before it writes anything.
            if !has_ended && is_running(paths) {
                return Err(mute(paths, pid));
            }
            return Err(hinted(
                "the daemon did not start",
                "`turnbridge daemon --foreground` says why; `turnbridge logs daemon` too",
            ));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(pid)
}

/// Returns the error for a daemon that runs but has not written its status.
fn mute(paths: &StatePaths, pid: u32) -> anyhow::Error {
    let file = paths.daemon_status();
    hinted(
        format!(
            "the daemon runs (pid {pid}), but has not written its state (`{}`)",
            file.display()
        ),
        MUTE_HINT,
    )
}

pub fn already_running() -> anyhow::Error {
    hinted(
        "a daemon is already running",
        "`turnbridge daemon status` shows it; `turnbridge daemon stop` ends it",
    )
}

/// Ends the daemon, and returns whether one ran.
pub fn stop(paths: &StatePaths) -> Result<bool> {
    if !is_running(paths) {
        return Ok(false);
    }
    write_atomically(&paths.daemon_stop(), b"").context("could not write to the state folder")?;
    if let Some(status) = read_status(paths).filter(is_suspended) {
        // A suspended daemon could not stop.
        process::let_go_on(status.pid);
    }
    let deadline = Instant::now() + TIMEOUT;
    while is_running(paths) {
        if Instant::now() >= deadline {
            return Err(hinted(
                "the daemon has not stopped yet",
                "it may wait for an answer from Slack; `turnbridge daemon status` names its process",
            ));
        }
        std::thread::sleep(PAUSE);
    }
    let _ = fs::remove_file(paths.daemon_stop());
    Ok(true)
}

pub fn is_running(paths: &StatePaths) -> bool {
    file_lock::is_held(&paths.daemon_lock())
}

/// Returns whether a daemon runs, and its status. Waits for a daemon that has just been started and
/// has no status yet.
pub fn wait_for_status(paths: &StatePaths) -> (bool, Option<DaemonStatus>) {
    let deadline = Instant::now() + STATUS_TIMEOUT;
    loop {
        if !is_running(paths) {
            return (false, None);
        }
        let status = read_status(paths);
        if status.is_some() || Instant::now() >= deadline {
            return (true, status);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Returns `None` if there is no status, or none that can be read.
pub fn read_status(paths: &StatePaths) -> Option<DaemonStatus> {
    serde_json::from_slice(&fs::read(paths.daemon_status()).ok()?).ok()
}

/// Returns the address of the daemon's board, or `None` if there is none.
pub fn read_board(paths: &StatePaths) -> Option<BoardFile> {
    serde_json::from_slice(&fs::read(paths.board_file()).ok()?).ok()
}

/// Returns the address of the running daemon's board. If there is none, the error has the reason.
pub fn find_board(paths: &StatePaths) -> Result<BoardFile> {
    if !is_running(paths) {
        return Err(hinted(
            "no daemon runs, and the board is its page",
            "start it with `turnbridge daemon`, then run `turnbridge board` again",
        ));
    }
    let status = read_status(paths);
    if let Some(status) = status.as_ref().filter(|status| is_suspended(status)) {
        let what = "the daemon was suspended by a signal, and the board does not answer";
        return Err(hinted(what, how_to_let_go_on(status)));
    }
    read_board(paths).ok_or_else(|| {
        let told = status.and_then(|status| status.board);
        match told.as_ref().and_then(not_served) {
            Some((what, hint)) => hinted(what, hint),
            None => {
                hinted("the daemon serves no board", "`turnbridge logs daemon` says why it cannot")
            }
        }
    })
}

/// Returns whether a signal has stopped the daemon's process (`kill -STOP`, Ctrl-Z). It still holds
/// its lock then, and `daemon.json` still has its last status.
pub fn is_suspended(status: &DaemonStatus) -> bool {
    process::is_suspended(status.pid)
}

/// Returns the hint for a suspended daemon.
pub fn how_to_let_go_on(status: &DaemonStatus) -> String {
    format!(
        "`kill -CONT {}` lets it go on; `turnbridge daemon stop`, then `turnbridge daemon`, starts it anew",
        status.pid
    )
}

/// Returns the reason why there is no board, and a remedy.
pub fn not_served(board: &BoardStatus) -> Option<(String, &'static str)> {
    let BoardStatus::NotServed { port, error } = board else { return None };
    Some(match port {
        0 => (
            format!("the daemon serves no board: {error}"),
            "`turnbridge logs daemon` says more; it is tried again every 30 s",
        ),
        port => (
            format!("the daemon serves no board: port {port}: {error}"),
            "end the program that has the port, or choose another `[board] port` in `config.toml`; \
             it is tried again every 30 s",
        ),
    })
}
