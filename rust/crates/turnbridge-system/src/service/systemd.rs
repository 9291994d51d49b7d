//! Implements the service as a unit of the user's systemd, and reports if that ends with the user's
//! last session.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use turnbridge_core::system::service_files::systemd::{self, UNIT};
use turnbridge_core::system::service_files::{EnvironmentVariables, Job, Unwritable};
use turnbridge_store::paths::config_file;

use super::call::{ask, demand, refused};
use super::{ManagerReport, ServiceBackend, user_id};
use crate::failure::hinted;
use crate::programs;

/// The timeout of a call: a live manager answers in milliseconds.
const TIMEOUT: Duration = Duration::from_secs(5);

pub struct Systemd {
    /// `systemd/user`.
    folder: PathBuf,
    definition: PathBuf,
}

/// Returns whether the user's systemd answers. In containers and under other inits a `systemctl`
/// may exist without it.
pub fn answers() -> bool {
    let Some(program) = programs::find("systemctl", None) else { return false };
    let mut command = Command::new(program);
    command.args(["--user", "show", "--property=Version"]);
    programs::ask(&mut command, TIMEOUT)
        .is_ok_and(|answer| answer.status.success() && answer.text().starts_with("Version="))
}

impl Systemd {
    pub fn new() -> Result<Systemd> {
        // `~/.config` or `$XDG_CONFIG_HOME`, which also contains Turnbridge's folder.
        let config = config_file().and_then(|file| Some(file.parent()?.parent()?.to_owned()));
        let config = config.ok_or_else(|| hinted("could not find your home folder", "set HOME"))?;
        let folder = config.join("systemd").join("user");
        Ok(Systemd { definition: folder.join(UNIT), folder })
    }
}

impl ServiceBackend for Systemd {
    fn definition(&self) -> &Path {
        &self.definition
    }

    fn render(&self, job: &Job) -> Result<Vec<u8>, Unwritable> {
        systemd::render(job).map(String::into_bytes)
    }

    fn environment_in(&self, definition: &[u8]) -> EnvironmentVariables {
        systemd::environment_in(&String::from_utf8_lossy(definition))
    }

    fn query(&self) -> Result<ManagerReport> {
        let properties = "--property=LoadState,UnitFileState,ActiveState,MainPID";
        let arguments = ["--user", "show", UNIT, properties];
        let answer = ask("systemctl", &arguments)?;
        // A missing unit is shown too, as `not-found`.
        if !answer.status.success() {
            return Err(refused("systemctl", &arguments, &answer));
        }
        let text = answer.text();
        let value = |key: &str| {
            let mut lines = text.lines();
            lines.find_map(|line| line.split_once('=').filter(|(name, _)| *name == key)?.1.into())
        };
        // A unit that the user disabled does not start at login, so it is not installed.
        let is_enabled = value("UnitFileState").is_some_and(|state: &str| state == "enabled");
        let is_registered = value("LoadState") == Some("loaded") && is_enabled;
        let is_running = value("ActiveState") == Some("active");
        let pid = value("MainPID").and_then(|pid| pid.parse().ok()).filter(|pid| *pid != 0);
        let note = if is_registered { linger_note() } else { None };
        Ok(ManagerReport { is_registered, is_running, pid: pid.filter(|_| is_running), note })
    }

    fn take_up(&self) -> Result<()> {
        demand("systemctl", &["--user", "daemon-reload"])?;
        let was_running = self.query()?.is_running;
        demand("systemctl", &["--user", "enable", "--now", UNIT])?;
        // A running unit continues with its old definition.
        if was_running { self.restart() } else { Ok(()) }
    }

    fn let_go(&self) -> Result<()> {
        demand("systemctl", &["--user", "disable", "--now", UNIT])
    }

    fn forget(&self) {
        // systemd forgets it at the next login in any case.
        let _ = demand("systemctl", &["--user", "daemon-reload"]);
    }

    fn restart(&self) -> Result<()> {
        demand("systemctl", &["--user", "restart", UNIT])
    }

    fn leavings(&self) -> Vec<PathBuf> {
        let wants = self.folder.join("default.target.wants");
        let mut leavings = vec![wants.join(UNIT), wants, self.folder.clone()];
        leavings.extend(self.folder.parent().map(Path::to_owned));
        leavings
    }
}

/// Returns the note on lingering. Without it a user's systemd ends with the last session. The user
/// decides whether to enable it, because it applies to everything that the user runs.
fn linger_note() -> Option<String> {
    let answer = ask("loginctl", &["show-user", &user_id(), "--property=Linger"]).ok()?;
    (answer.text() == "Linger=no").then(|| {
        "it ends when you log out; `loginctl enable-linger` keeps it running, and starts it with \
         the machine"
            .to_owned()
    })
}
