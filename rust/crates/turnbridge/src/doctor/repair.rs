//! Executes `--fix`: the repairs that findings name, of Turnbridge's own state and of its entries
//! in the agents' files. It calls the same functions as the commands.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use turnbridge_config::Config;
use turnbridge_config::codex_notify::NotifyMode;
use turnbridge_core::agents::claude::settings_edit::StopGate;
use turnbridge_system::daemon_control::{self, launch};
use turnbridge_system::failure::hinted;
use turnbridge_system::registration::claude_hooks::{self, WantedHooks};
use turnbridge_system::registration::{Basis, codex_notify};
use turnbridge_system::service;
use turnbridge_system::state_folder::state_paths;
use turnbridge_system::wsl::WslTarget;

use super::deadline::BackgroundWork;
use super::finding::{Finding, Repair, counted, one_line};

/// The timeout. A delivery of a backlog takes longest.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A repair and the findings that asked for it.
#[derive(Debug)]
pub struct Repaired {
    pub ids: Vec<&'static str>,
    pub what: String,
    pub result: Result<(), String>,
}

/// Makes all possible repairs, each once.
pub fn repair(findings: &[Finding]) -> Vec<Repaired> {
    let mut wanted: Vec<(&Repair, Vec<&'static str>)> = Vec::new();
    for finding in findings {
        let Some(repair) = &finding.repair else { continue };
        match wanted.iter_mut().find(|(known, _)| *known == repair) {
            Some((_, ids)) => ids.push(finding.id),
            None => wanted.push((repair, vec![finding.id])),
        }
    }
    wanted
        .into_iter()
        .map(|(repair, ids)| Repaired { ids, what: describe(repair), result: perform(repair) })
        .collect()
}

fn describe(repair: &Repair) -> String {
    let command = match repair {
        Repair::StartDaemon => "`turnbridge daemon`",
        Repair::RestartDaemon => "`turnbridge daemon stop`, `turnbridge daemon`",
        Repair::RestartService => "`turnbridge service restart`",
        Repair::RetryNotices => "`turnbridge outbox retry`",
        Repair::RegisterHooks(StopGate::On) => "`turnbridge hooks apply --gate --yes`",
        Repair::RegisterHooks(StopGate::Off) => "`turnbridge hooks apply --yes`",
        Repair::RegisterNotify => "`turnbridge codex notify apply --yes`",
        Repair::MakePrivate(paths) => return format!("made private: {}", named(paths)),
        Repair::Remove(paths) => return format!("removed: {}", named(paths)),
    };
    command.to_owned()
}

fn named(paths: &[PathBuf]) -> String {
    match paths {
        [path] => format!("`{}`", path.display()),
        _ => counted(paths.len(), "file", "files and folders"),
    }
}

/// Performs a repair in a thread. A late one continues until this program ends.
fn perform(repair: &Repair) -> Result<(), String> {
    let (repair, deadline) = (repair.clone(), Instant::now() + TIMEOUT);
    let performed = BackgroundWork::start(move || act(&repair)).until(deadline);
    performed.unwrap_or_else(|| match Instant::now() < deadline {
        true => Err("it could not be started, or did not come to its end".to_owned()),
        false => Err(format!("not done after {} s", TIMEOUT.as_secs())),
    })
}

fn act(repair: &Repair) -> Result<(), String> {
    let done = match repair {
        Repair::StartDaemon => state_paths().and_then(|paths| launch(&paths).map(drop)),
        Repair::RestartDaemon => restart_daemon(),
        Repair::RestartService => service::restart(),
        Repair::RetryNotices => retry_notices(),
        Repair::RegisterHooks(gate) => register_hooks(*gate),
        Repair::RegisterNotify => register_notify(),
        Repair::MakePrivate(paths) => return each(paths, make_private),
        Repair::Remove(paths) => return each(paths, |path| std::fs::remove_file(path)),
    };
    done.map_err(|error| one_line(&format!("{error:#}")))
}

fn restart_daemon() -> anyhow::Result<()> {
    let paths = state_paths()?;
    daemon_control::stop(&paths)?;
    launch(&paths).map(drop)
}

fn retry_notices() -> anyhow::Result<()> {
    let retried = turnbridge_daemon::delivery::retry::retry_all(&state_paths()?);
    retried.map(drop).map_err(|obstacle| hinted(obstacle.text, obstacle.hint))
}

fn register_hooks(gate: StopGate) -> anyhow::Result<()> {
    let wanted = WantedHooks { gate: gate == StopGate::On, form: None };
    let config = Config::read().unwrap_or_default();
    let registration = wanted.registration(&WslTarget::Here, &config, |_| {})?;
    claude_hooks::plan_registering(&WslTarget::Here, &registration)?.make(Basis::Latest).map(drop)
}

fn register_notify() -> anyhow::Result<()> {
    let registering = codex_notify::plan_registering(&WslTarget::Here, NotifyMode::LeaveExisting)?;
    registering.change.make(Basis::Latest).map(drop)
}

fn each(paths: &[PathBuf], act: impl Fn(&Path) -> io::Result<()>) -> Result<(), String> {
    paths.iter().try_for_each(|path| match act(path) {
        // Another process removed it first.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done.map_err(|error| format!("`{}`: {error}", path.display())),
    })
}

#[cfg(unix)]
fn make_private(path: &Path) -> io::Result<()> {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    let mode = if path.metadata()?.is_dir() { 0o700 } else { 0o600 };
    set_permissions(path, Permissions::from_mode(mode))
}

/// Does nothing: on this system no finding asks for it.
#[cfg(not(unix))]
fn make_private(_path: &Path) -> io::Result<()> {
    Ok(())
}
