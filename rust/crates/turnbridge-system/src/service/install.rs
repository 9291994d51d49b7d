//! Installs the service, and restores the earlier state if that fails.

use anyhow::{Context, Result, anyhow};
use turnbridge_config::Config;
use turnbridge_store::files::atomic_file::write_durably;
use turnbridge_store::paths::StatePaths;

use super::uninstall::remove;
use super::{
    BY_HAND, Manager, ManagerReport, ServiceBackend, ServiceState, environment, no_manager,
    read_definition, state_of, wait_until_it_runs, with_hint,
};
use crate::config_file;
use crate::daemon_control;
use crate::failure::{Remark, hinted};
use crate::state_folder::state_paths;

/// The state before the installation.
struct PreviousService<'a> {
    service: &'a dyn ServiceBackend,
    paths: StatePaths,
    definition: Option<Vec<u8>>,
    seen: ManagerReport,
    remark: Remark,
    /// Whether a daemon runs that the manager does not know.
    is_by_hand: bool,
}

#[derive(Debug)]
pub struct InstalledService {
    pub state: ServiceState,
    /// Whether a daemon that was started by hand was stopped for it.
    pub has_stopped_daemon: bool,
}

/// Installs the service. Does nothing if it is as wanted, so that running agents are not disturbed.
/// `config` is called only if the system can have a service.
pub fn install(
    config: impl FnOnce() -> Result<Config>,
    remark: Remark,
) -> Result<InstalledService> {
    try_install(config, remark).map_err(|error| with_hint(error, BY_HAND))
}

fn try_install(
    config: impl FnOnce() -> Result<Config>,
    remark: Remark,
) -> Result<InstalledService> {
    let manager = Manager::of_this_system().ok_or_else(no_manager)?;
    let config = config()?;
    if !config.features.reply_resume {
        let hint = "set `reply_resume = true` under `[features]` in `config.toml`: the service is there \
                    for replies, from Slack or from the board";
        return Err(hinted("`features.reply_resume` is off", hint));
    }
    let service = manager.service()?;
    let wanted = service.render(&environment::job(&config)?);
    let wanted = wanted.map_err(|refusal| anyhow!("could not define the service: {refusal}"))?;
    let before = PreviousService::of(&*service, remark)?;
    let is_done = before.definition.as_ref() == Some(&wanted)
        && before.seen.is_registered
        && before.seen.is_running;
    let seen =
        if is_done { enable().and_then(|()| service.query()) } else { before.replace(&wanted) };
    let mut state = state_of(manager, &*service, seen?)?;
    if !state.is_running {
        let slow = "it is installed but does not run yet; `turnbridge logs daemon` may say why";
        state.note = Some(state.note.map_or(slow.to_owned(), |note| format!("{slow}; {note}")));
    }
    Ok(InstalledService { state, has_stopped_daemon: !is_done && before.is_by_hand })
}

fn enable() -> Result<()> {
    config_file::set("features", "service_enabled", Some(true.into())).map(drop)
}

impl PreviousService<'_> {
    fn of(service: &dyn ServiceBackend, remark: Remark) -> Result<PreviousService<'_>> {
        let paths = state_paths()?;
        let seen = service.query()?;
        let is_by_hand = daemon_control::is_running(&paths) && !seen.is_running;
        let definition = read_definition(service.definition())?;
        Ok(PreviousService { service, paths, definition, seen, remark, is_by_hand })
    }

    fn replace(&self, wanted: &[u8]) -> Result<ManagerReport> {
        if self.is_by_hand {
            daemon_control::stop(&self.paths)?;
        }
        let written = self.write(wanted);
        let replaced = written.and_then(|()| self.take_up().inspect_err(|_| self.put_back()));
        if replaced.is_err() && self.is_by_hand {
            self.start_by_hand();
        }
        replaced
    }

    fn take_up(&self) -> Result<ManagerReport> {
        self.service.take_up()?;
        let seen = wait_until_it_runs(self.service)?;
        enable()?;
        Ok(seen)
    }

    fn write(&self, definition: &[u8]) -> Result<()> {
        let path = self.service.definition();
        write_durably(path, definition)
            .with_context(|| format!("could not write `{}`", path.display()))
    }

    /// Restores the earlier state. Reports a failure besides the error that led here.
    fn put_back(&self) {
        // The manager may not have it yet.
        let _ = self.service.let_go();
        let put_back = match &self.definition {
            Some(definition) => self.write(definition),
            None => remove(self.service),
        };
        self.service.forget();
        let put_back = put_back.and_then(|()| match self.seen.is_registered {
            true => self.service.take_up(),
            false => Ok(()),
        });
        if let Err(error) = put_back {
            (self.remark)(&format!("the service that was there could not be put back: {error:#}"));
        }
    }

    fn start_by_hand(&self) {
        if let Err(error) = daemon_control::launch(&self.paths) {
            (self.remark)(&format!(
                "the daemon that was running could not be started again: {error:#}"
            ));
        }
    }
}
