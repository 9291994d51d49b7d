//! Queues a notice if the config names somebody who wants it.

use std::io;

use turnbridge_core::notices::notice_switches::wants_slack;
use turnbridge_core::notices::notice_wire::Notice;

use crate::files::bounded_file;
use crate::paths::{StatePaths, config_file};
use crate::state::outbox::{self, Queued};

/// No config is longer.
const LONGEST_CONFIG: u64 = 4 << 20;

/// The text of `config.toml`.
pub fn config() -> io::Result<Vec<u8>> {
    crate::state::folder_trust::check_config()?;
    let path = config_file().ok_or(io::ErrorKind::NotFound)?;
    bounded_file::read(&path, LONGEST_CONFIG)
}

/// Returns `Queued::Known` also if nobody wants it.
pub fn queue_if_wanted(paths: &StatePaths, notice: &Notice) -> Result<Queued, String> {
    let is_wanted = match config() {
        Ok(config) => wants_slack(&config),
        // One that is there and cannot be read may name a Slack: whoever delivers says what is
        // wrong, and the notice waits.
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    };
    if !is_wanted {
        return Ok(Queued::Known);
    }
    outbox::queue(paths, notice).map_err(|error| format!("outbox: {error}"))
}
