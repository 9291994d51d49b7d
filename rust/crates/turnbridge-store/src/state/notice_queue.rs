//! Queues a notice if the config names somebody who wants it.

use std::io;

use turnbridge_core::notices::notice::Notice;
use turnbridge_core::notices::notice_switches::wanted_channels;

use crate::paths::StatePaths;
use crate::state::config_text::ConfigText;
use crate::state::outbox::{self, Queued};

/// Returns `Queued::Known` also if nobody wants it.
pub fn queue_if_wanted(
    paths: &StatePaths,
    config: &ConfigText,
    notice: &Notice,
) -> Result<Queued, String> {
    let channels = match config.trusted() {
        Ok(config) => wanted_channels(config),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        // One that is there and cannot be read may name a channel: whoever delivers says what is
        // wrong, and the notice waits.
        Err(_) => notice.channels().cloned().collect(),
    };
    if channels.is_empty() {
        return Ok(Queued::Known);
    }
    outbox::queue(paths, &notice.sent_to(channels)).map_err(|error| format!("outbox: {error}"))
}
