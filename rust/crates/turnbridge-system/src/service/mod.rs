//! Installs, removes, restarts and checks the daemon's service: a manager starts the daemon at
//! login, and again whenever it ends.
//!
//! launchd, systemd and the Task Scheduler implement one trait (`ServiceBackend`).
//! `turnbridge_core::system::service_files` makes their definitions; this module stores them and
//! calls the managers. A failed installation restores the earlier state, or reports that it cannot.

mod call;
mod environment;
mod install;
mod launchd;
mod systemd;
mod task_scheduler;
mod uninstall;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use turnbridge_config::Config;
use turnbridge_core::system::service_files::{EnvironmentVariables, Job, Unwritable};
use turnbridge_store::test_switch::{self, TestSwitch};

use crate::failure::{Hinted, hinted};
use crate::programs;
pub use install::{InstalledService, install};
use launchd::Launchd;
use systemd::Systemd;
use task_scheduler::TaskScheduler;
pub use uninstall::uninstall;

/// The hint for systems without a service.
const BY_HAND: &str = "`turnbridge daemon` starts it by hand, until you log out";

/// The timeout for the manager to report that the daemon runs.
const START: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manager {
    Launchd,
    Systemd,
    TaskScheduler,
}

#[derive(Debug)]
pub struct ServiceState {
    pub manager: Manager,
    pub definition: PathBuf,
    /// Whether the manager has it, and starts it at login.
    pub is_installed: bool,
    /// Whether the definition is the one that `install` would write now.
    pub is_current: bool,
    pub is_running: bool,
    pub pid: Option<u32>,
    /// A fact that the user should know, and a remedy.
    pub note: Option<String>,
}

/// A manager's report on the daemon.
#[derive(Debug, Default)]
struct ManagerReport {
    is_registered: bool,
    is_running: bool,
    pid: Option<u32>,
    note: Option<String>,
}

/// The operations of every manager.
trait ServiceBackend {
    fn definition(&self) -> &Path;

    /// Returns the bytes of the definition.
    fn render(&self, job: &Job) -> Result<Vec<u8>, Unwritable>;

    /// Returns the variables in a definition that was rendered earlier.
    fn environment_in(&self, definition: &[u8]) -> EnvironmentVariables;

    fn query(&self) -> Result<ManagerReport>;

    /// Makes the manager read the stored definition, and run it.
    fn take_up(&self) -> Result<()>;

    /// Ends the daemon and removes it from the manager; the definition stays.
    fn let_go(&self) -> Result<()>;

    /// Called after the definition was removed.
    fn forget(&self) {}

    fn restart(&self) -> Result<()>;

    /// Returns the files besides the definition, and folders if they are empty, that exist because
    /// of it.
    fn leavings(&self) -> Vec<PathBuf>;
}

impl Manager {
    /// Returns the manager of this system, or `None` in containers and under other inits.
    pub fn of_this_system() -> Option<Manager> {
        if let Some(chosen) = Manager::chosen() {
            return Some(chosen);
        }
        let manager = Manager::of_this_platform()?;
        (manager != Manager::Systemd || systemd::answers()).then_some(manager)
    }

    fn of_this_platform() -> Option<Manager> {
        Manager::chosen().or(match std::env::consts::OS {
            "macos" => Some(Manager::Launchd),
            "linux" => Some(Manager::Systemd),
            "windows" => Some(Manager::TaskScheduler),
            _ => None,
        })
    }

    /// Returns the manager that a test has chosen, so that one system can test all of them.
    fn chosen() -> Option<Manager> {
        let chosen = test_switch::value(TestSwitch::ServiceManager)?;
        Manager::ALL.into_iter().find(|manager| manager.as_str() == chosen)
    }

    const ALL: [Manager; 3] = [Manager::Launchd, Manager::Systemd, Manager::TaskScheduler];

    pub fn as_str(self) -> &'static str {
        match self {
            Manager::Launchd => "launchd",
            Manager::Systemd => "systemd",
            Manager::TaskScheduler => "task-scheduler",
        }
    }

    /// Returns the name for the user.
    pub fn title(self) -> &'static str {
        match self {
            Manager::Launchd => "launchd",
            Manager::Systemd => "systemd",
            Manager::TaskScheduler => "Task Scheduler",
        }
    }

    fn service(self) -> Result<Box<dyn ServiceBackend>> {
        Ok(match self {
            Manager::Launchd => Box::new(Launchd::new()?),
            Manager::Systemd => Box::new(Systemd::new()?),
            Manager::TaskScheduler => Box::new(TaskScheduler::new()?),
        })
    }
}

/// Returns the state of the service, or `None` if this system cannot have one.
pub fn state() -> Result<Option<ServiceState>> {
    let Some(manager) = Manager::of_this_system() else { return Ok(None) };
    let service = manager.service()?;
    let state = service.query().and_then(|seen| state_of(manager, &*service, seen));
    let hint = "`turnbridge daemon status` says whether a daemon runs";
    state.map(Some).map_err(|error| with_hint(error, hint))
}

fn state_of(
    manager: Manager,
    service: &dyn ServiceBackend,
    seen: ManagerReport,
) -> Result<ServiceState> {
    let definition = read_definition(service.definition())?;
    Ok(ServiceState {
        manager,
        definition: service.definition().to_owned(),
        is_installed: seen.is_registered && definition.is_some(),
        is_current: definition.is_some_and(|definition| is_current(service, &definition)),
        is_running: seen.is_running,
        pid: seen.pid,
        note: seen.note,
    })
}

/// Returns whether the definition is current. Another terminal's PATH does not make it outdated:
/// see `environment::as_installed`.
fn is_current(service: &dyn ServiceBackend, definition: &[u8]) -> bool {
    let config = Config::read().unwrap_or_default();
    let Ok(job) = environment::job(&config) else { return false };
    let job = environment::as_installed(job, service.environment_in(definition));
    service.render(&job).is_ok_and(|wanted| wanted == definition)
}

/// Restarts the service. Returns an error if the daemon does not run afterwards.
pub fn restart() -> Result<()> {
    let manager = Manager::of_this_system().ok_or_else(no_manager)?;
    let service = manager.service()?;
    restart_it(&*service).map_err(|error| {
        let hint = "`turnbridge service status` shows how it stands; `turnbridge logs daemon` and \
                    `turnbridge daemon --foreground` may say why";
        with_hint(error, hint)
    })
}

fn restart_it(service: &dyn ServiceBackend) -> Result<()> {
    if !service.query()?.is_registered {
        let hint = "`turnbridge service install` makes one; `turnbridge daemon stop` and \
                    `turnbridge daemon` restart one that was started by hand";
        return Err(hinted("there is no service to restart", hint));
    }
    service.restart()?;
    let seen = wait_until_it_runs(service)?;
    if seen.is_running { Ok(()) } else { Err(anyhow!("the daemon did not come up again")) }
}

fn wait_until_it_runs(service: &dyn ServiceBackend) -> Result<ManagerReport> {
    let deadline = Instant::now() + START.min(call::timeout());
    loop {
        let seen = service.query()?;
        if seen.is_running || Instant::now() >= deadline {
            return Ok(seen);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Adds the hint, unless the error has a better one.
fn with_hint(error: anyhow::Error, hint: &str) -> anyhow::Error {
    if error.is::<Hinted>() { error } else { hinted(format!("{error:#}"), hint) }
}

fn no_manager() -> anyhow::Error {
    let error = match programs::find("systemctl", None) {
        Some(_) => "no systemd of yours answers here",
        None => "there is no service manager here that Turnbridge knows",
    };
    hinted(error, BY_HAND)
}

fn read_definition(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("could not read `{}`", path.display())),
    }
}

/// Returns the user's id, as managers name a user.
#[cfg(unix)]
fn user_id() -> String {
    rustix::process::getuid().as_raw().to_string()
}

/// Only the managers of Unix name a user by an id.
#[cfg(not(unix))]
fn user_id() -> String {
    String::new()
}
