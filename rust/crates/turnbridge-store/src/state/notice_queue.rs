//! Queues a notice if the config names a channel that wants it, or cannot be read.

use std::io;

use turnbridge_core::notices::notice::Notice;
use turnbridge_core::notices::notice_switches::wanted_channels;

use crate::paths::StatePaths;
use crate::state::config_text::ConfigText;
use crate::state::outbox::{self, Queued};

/// Queues the notice for the channels that want it. Returns `Queued::Known` also if none does.
pub fn queue_if_wanted(
    paths: &StatePaths,
    config: &ConfigText,
    notice: &Notice,
) -> Result<Queued, String> {
    let channels = match config.trusted() {
        Ok(config) => wanted_channels(config),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        // A config that cannot be read may name a channel. The notice waits, and the process that
        // delivers it reports the problem.
        Err(_) => notice.channels().cloned().collect(),
    };
    if channels.is_empty() {
        return Ok(Queued::Known);
    }
    outbox::queue(paths, &notice.sent_to(channels)).map_err(|error| format!("outbox: {error}"))
}
