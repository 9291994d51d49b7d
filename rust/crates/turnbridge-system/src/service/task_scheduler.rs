//! Implements the service as a task of the Windows Task Scheduler. The scheduler stores a reworded
//! copy of the definition, so Turnbridge stores its definition too: only that can be compared.

use std::path::{Path, PathBuf};

use anyhow::Result;
use turnbridge_core::system::service_files::task_scheduler::{self, TASK};
use turnbridge_core::system::service_files::{EnvironmentVariables, Job, Unwritable};
use turnbridge_store::paths::StatePaths;

use super::call::{ask, demand};
use super::{ManagerReport, ServiceBackend};
use crate::daemon_control;
use crate::failure::hinted;
use crate::state_folder::state_paths;

pub struct TaskScheduler {
    paths: StatePaths,
    definition: PathBuf,
    user: String,
}

impl TaskScheduler {
    pub fn new() -> Result<TaskScheduler> {
        let paths = state_paths()?;
        let name = std::env::var("USERNAME").ok().filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| hinted("could not find your name", "set USERNAME"))?;
        let user = match std::env::var("USERDOMAIN") {
            Ok(domain) if !domain.is_empty() => format!("{domain}\\{name}"),
            _ => name,
        };
        Ok(TaskScheduler { definition: paths.state_dir().join("daemon.task.xml"), paths, user })
    }

    /// Stops the task. `/End` ends all processes that the task has started, running agents too. So
    /// the daemon is stopped first, and the agents survive.
    fn stop(&self) -> Result<()> {
        if self.query()?.is_running {
            self.ask_the_daemon();
            // It fails if no process runs any more.
            ask("schtasks", &["/End", "/TN", TASK])?;
        }
        Ok(())
    }

    fn ask_the_daemon(&self) {
        if daemon_control::is_running(&self.paths) {
            let _ = daemon_control::stop(&self.paths);
        }
    }
}

impl ServiceBackend for TaskScheduler {
    fn definition(&self) -> &Path {
        &self.definition
    }

    fn render(&self, job: &Job) -> Result<Vec<u8>, Unwritable> {
        task_scheduler::render(job, &self.user).map(|text| task_scheduler::encode(&text))
    }

    fn environment_in(&self, _definition: &[u8]) -> EnvironmentVariables {
        EnvironmentVariables::new()
    }

    fn query(&self) -> Result<ManagerReport> {
        let answer = ask("schtasks", &["/Query", "/TN", TASK, "/FO", "CSV", "/V", "/NH"])?;
        if !answer.status.success() {
            return Ok(ManagerReport::default());
        }
        let is_running = task_scheduler::is_running(&answer.text());
        // The task's process is the console; the daemon's status has the daemon's pid.
        let status = daemon_control::read_status(&self.paths)
            .filter(|_| daemon_control::is_running(&self.paths));
        let pid = status.map(|status| status.pid).filter(|_| is_running);
        Ok(ManagerReport { is_registered: true, is_running, pid, note: None })
    }

    fn take_up(&self) -> Result<()> {
        self.stop()?;
        let definition = self.definition.to_string_lossy();
        demand("schtasks", &["/Create", "/TN", TASK, "/XML", &definition, "/F"])?;
        demand("schtasks", &["/Run", "/TN", TASK])
    }

    fn let_go(&self) -> Result<()> {
        let was_running = self.query()?.is_running;
        self.stop()?;
        demand("schtasks", &["/Delete", "/TN", TASK, "/F"])?;
        // The task may have been started in between, and a run outlives its task.
        if was_running {
            self.ask_the_daemon();
        }
        Ok(())
    }

    fn restart(&self) -> Result<()> {
        self.stop()?;
        demand("schtasks", &["/Run", "/TN", TASK])
    }

    fn leavings(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}
