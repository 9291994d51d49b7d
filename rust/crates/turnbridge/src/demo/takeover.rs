//! Hands a session over to the answering agent when the user answers it on the board. From then on
//! that agent plays it alone; the first one only stays alive, like an open terminal.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use turnbridge_store::paths::home_dir;

/// The timeout. The player polls ten times a second, and may be in the middle of a hook.
const TIMEOUT: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(20);

fn mark(session_id: &str, ending: &str) -> Option<PathBuf> {
    home_dir().map(|home| home.join(format!("{session_id}.{ending}")))
}

fn make(session_id: &str, ending: &str) {
    // Without the file both agents play, which only looks worse.
    let _ = mark(session_id, ending).map(|path| fs::write(path, ""));
}

fn is_there(session_id: &str, ending: &str) -> bool {
    mark(session_id, ending).is_some_and(|path| path.exists())
}

/// Takes the session over; called by the answering agent. Returns when the first one has stopped.
pub fn begin(session_id: &str) {
    make(session_id, "taken");
    let deadline = Instant::now() + TIMEOUT;
    while !is_there(session_id, "left") && Instant::now() < deadline {
        std::thread::sleep(LOOK);
    }
}

/// Returns whether the answering agent has taken the session over.
pub fn is_taken(session_id: &str) -> bool {
    is_there(session_id, "taken")
}

/// Marks that the first agent has stopped; called by that agent.
pub fn leave(session_id: &str) {
    make(session_id, "left");
}
