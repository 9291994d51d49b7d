//! Delivers the queued notices once, for `turnbridge-notify` and for commands that retry. It also
//! deletes old files for hooks without a daemon.

use std::path::Path;

use turnbridge_config::Config;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::folder_trust::trusted_state;
use turnbridge_store::state::{prune, recovery};
use turnbridge_store::{clock, log};

use super::deliverer::Deliverer;
use crate::channels::obstacle::DeliveryObstacle;
use crate::delivery::DrainResult;

/// The main function of `turnbridge-notify`. It reports no error to its caller.
pub fn run() {
    let Some(paths) = trusted_state() else { return };
    if let Err(obstacle) = deliver(&paths) {
        let fields = [("error", obstacle.text.into()), ("hint", obstacle.hint.into())];
        let message = "could not deliver notices";
        log::write_log(&paths.notify_log(), clock::now(), "error", message, &fields);
    }
}

/// Deletes old files, for hooks without a daemon.
pub fn prune() {
    let Some(paths) = trusted_state() else { return };
    if let Err(error) = prune::prune_daily(&paths) {
        let fields = [("error", error.to_string().into())];
        let message = "could not remove old files";
        log::write_log(&paths.notify_log(), clock::now(), "warn", message, &fields);
    }
}

/// Delivers the queued notices with the current config.
pub fn deliver(paths: &StatePaths) -> Result<DrainResult, DeliveryObstacle> {
    let config = Config::read()?;
    warn_if_exposed(&config, &paths.notify_log());
    for problem in recovery::recover(paths).problems {
        let fields = [("problem", problem.into())];
        let message = "could not complete a turn that a hook left";
        log::write_log(&paths.notify_log(), clock::now(), "warn", message, &fields);
    }
    Deliverer::new(config).deliver(paths)
}

/// Logs a warning if other users can read the tokens in the config.
pub fn warn_if_exposed(config: &Config, log: &Path) {
    if config.is_exposed {
        let fields = [("hint", "run `chmod 600` on it".into())];
        let message = "others can read the tokens in config.toml";
        log::write_log(log, clock::now(), "warn", message, &fields);
    }
}
