//! Implements the service as a launch agent of macOS. It uses only `bootstrap`, `bootout`,
//! `kickstart` and `print` of `launchctl` (SLV-97..100).

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use turnbridge_core::system::service_files::launchd::{self, LABEL};
use turnbridge_core::system::service_files::{EnvironmentVariables, Job, Unwritable};
use turnbridge_store::files::atomic_file::make_private_folder;
use turnbridge_store::paths::home_dir;

use super::call::{ask, demand, refused, timeout};
use super::{ManagerReport, PAUSE, ServiceBackend, user_id};
use crate::failure::hinted;

/// The exit codes of launchd while the earlier job still ends: EIO, EALREADY.
const STILL_ENDING: [i32; 2] = [5, 37];
/// The exit code for a job that is ending: EINPROGRESS.
const IN_PROGRESS: i32 = 36;
/// The timeout for the end of a job: launchd gives it twenty seconds.
const ENDING: Duration = Duration::from_secs(25);

pub struct Launchd {
    definition: PathBuf,
    output: PathBuf,
    domain: String,
    target: String,
}

impl Launchd {
    pub fn new() -> Result<Launchd> {
        let library = home_dir()
            .ok_or_else(|| hinted("could not find your home folder", "set HOME"))?
            .join("Library");
        let domain = format!("gui/{}", user_id());
        Ok(Launchd {
            definition: library.join("LaunchAgents").join(format!("{LABEL}.plist")),
            // This is not `daemon.log`, which is JSON, and which its writers rotate.
            output: library.join("Logs").join("turnbridge").join("daemon.out.log"),
            target: format!("{domain}/{LABEL}"),
            domain,
        })
    }

    fn bootstrap(&self) -> Result<()> {
        let plist = self.definition.to_string_lossy();
        let arguments = ["bootstrap", &self.domain, &plist];
        let deadline = Instant::now() + ENDING.min(timeout());
        loop {
            let answer = ask("launchctl", &arguments)?;
            if answer.status.success() {
                return Ok(());
            }
            let is_ending = answer.status.code().is_some_and(|code| STILL_ENDING.contains(&code));
            if !is_ending || Instant::now() >= deadline {
                let hint = "log in at the Mac itself, and look whether Turnbridge is switched off in \
                            System Settings, Login Items; `turnbridge daemon` starts it by hand";
                let error = refused("launchctl", &arguments, &answer);
                return Err(hinted(error.to_string(), hint));
            }
            std::thread::sleep(PAUSE * 5);
        }
    }
}

impl ServiceBackend for Launchd {
    fn definition(&self) -> &Path {
        &self.definition
    }

    fn render(&self, job: &Job) -> Result<Vec<u8>, Unwritable> {
        launchd::render(job, &self.output.to_string_lossy()).map(String::into_bytes)
    }

    fn environment_in(&self, definition: &[u8]) -> EnvironmentVariables {
        launchd::environment_in(&String::from_utf8_lossy(definition))
    }

    fn query(&self) -> Result<ManagerReport> {
        let answer = ask("launchctl", &["print", &self.target])?;
        if !answer.status.success() {
            return Ok(ManagerReport::default());
        }
        let text = answer.text();
        // Values of nested blocks come later.
        let value = |key: &str| text.lines().find_map(|line| line.trim().strip_prefix(key));
        let pid = value("pid = ").and_then(|pid| pid.parse().ok());
        let is_running = value("state = ") == Some("running");
        Ok(ManagerReport {
            is_registered: true,
            is_running,
            pid: pid.filter(|_| is_running),
            note: None,
        })
    }

    fn take_up(&self) -> Result<()> {
        // launchd opens the output file, but does not create its folder.
        if let Some(folder) = self.output.parent() {
            make_private_folder(folder)
                .with_context(|| format!("could not make `{}`", folder.display()))?;
        }
        if self.query()?.is_registered {
            self.let_go()?;
        }
        self.bootstrap()
    }

    fn let_go(&self) -> Result<()> {
        let arguments = ["bootout", &self.target];
        let answer = ask("launchctl", &arguments)?;
        let is_ending = answer.status.success() || answer.status.code() == Some(IN_PROGRESS);
        let deadline = Instant::now() + ENDING.min(timeout());
        while is_ending && Instant::now() < deadline {
            if !self.query()?.is_registered {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
        Err(refused("launchctl", &arguments, &answer))
    }

    fn restart(&self) -> Result<()> {
        demand("launchctl", &["kickstart", "-k", &self.target])
    }

    fn leavings(&self) -> Vec<PathBuf> {
        let folder = self.output.parent().map(Path::to_owned);
        [Some(self.output.clone()), folder].into_iter().flatten().collect()
    }
}
