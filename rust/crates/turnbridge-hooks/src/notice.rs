//! Queues a notice for the channels that want it, and wakes the process that delivers it. The hook
//! itself opens no connection, so its cost does not depend on Slack.

use turnbridge_core::notices::notice::Notice;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::process::detached_process;
use turnbridge_store::state::config_text::ConfigText;
use turnbridge_store::state::notice_queue;
use turnbridge_store::state::outbox::Queued;

pub fn queue(paths: &StatePaths, config: &ConfigText, notice: &Notice) -> Result<(), String> {
    match notice_queue::queue_if_wanted(paths, config, notice)? {
        Queued::New => detached_process::wake(paths),
        Queued::Known => Ok(()),
    }
}
