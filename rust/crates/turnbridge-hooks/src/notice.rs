//! Queues what a turn came to for whoever wants to be told, and wakes whoever delivers it.
//! The hook itself never talks to anybody: its cost does not depend on Slack.

use std::io;

use turnbridge_core::event::{Event, EventKind};
use turnbridge_core::ids::Tool;
use turnbridge_core::notice_switches::wants_slack;
use turnbridge_core::notice_wire::{Notice, codex_turn_id};
use turnbridge_store::outbox::{self, Queued};
use turnbridge_store::paths::{StatePaths, config_file};
use turnbridge_store::{bounded_file, companion};

/// No config is longer.
const LONGEST_CONFIG: u64 = 4 << 20;

/// The text of `config.toml`.
pub fn config() -> io::Result<Vec<u8>> {
    let path = config_file().ok_or(io::ErrorKind::NotFound)?;
    bounded_file::read(&path, LONGEST_CONFIG)
}

pub fn queue(paths: &StatePaths, notice: &Notice) -> Result<(), String> {
    let is_wanted = match config() {
        Ok(config) => wants_slack(&config),
        // One that is there and cannot be read may name a Slack: whoever delivers says what is
        // wrong, and the notice waits.
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    };
    if !is_wanted {
        return Ok(());
    }
    match outbox::queue(paths, notice) {
        Ok(Queued::New) => companion::wake(paths),
        Ok(Queued::Known) => Ok(()),
        Err(error) => Err(format!("outbox: {error}")),
    }
}

/// The id of the notice that `event` makes; `payload` is its hash. Its second report makes the same
/// id, and no second notice.
pub fn notice_id(event: &Event, payload: u64) -> String {
    let ends_turn =
        matches!(event.kind, EventKind::TurnEnded { .. } | EventKind::TurnFailed { .. });
    let turn = event.facts.prompt_id.as_deref().filter(|_| event.tool == Tool::Codex && ends_turn);
    let of_turn = codex_turn_id(event.session_id.as_str(), turn);
    of_turn.unwrap_or_else(|| format!("{}-{payload:016x}", event.tool))
}
