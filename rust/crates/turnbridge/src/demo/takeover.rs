//! Who plays a session: its own agent, until somebody has answered it on the board. From then on the
//! agent that answers has it alone; the first has only to be alive, as an open terminal is.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use turnbridge_store::paths::home_dir;

/// The player looks ten times a second, and may be in the middle of a hook.
const PATIENCE: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(20);

fn mark(session_id: &str, ending: &str) -> Option<PathBuf> {
    home_dir().map(|home| home.join(format!("{session_id}.{ending}")))
}

fn make(session_id: &str, ending: &str) {
    // Without it both play, which is a worse show and no more.
    let _ = mark(session_id, ending).map(|path| fs::write(path, ""));
}

fn is_there(session_id: &str, ending: &str) -> bool {
    mark(session_id, ending).is_some_and(|path| path.exists())
}

/// By the one that answers; comes back when the other has left the stage.
pub fn take(session_id: &str) {
    make(session_id, "taken");
    let deadline = Instant::now() + PATIENCE;
    while !is_there(session_id, "left") && Instant::now() < deadline {
        std::thread::sleep(LOOK);
    }
}

pub fn is_taken(session_id: &str) -> bool {
    is_there(session_id, "taken")
}

pub fn leave(session_id: &str) {
    make(session_id, "left");
}
