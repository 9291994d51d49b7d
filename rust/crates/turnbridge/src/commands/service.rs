//! `turnbridge service`: installs, removes, restarts or shows the service that runs the daemon
//! under launchd, systemd or the Task Scheduler.

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::json;
use turnbridge_system::service::{self, InstalledService, ServiceState};

use crate::config;
use crate::consent::say;
use crate::failure::note;

/// Have the daemon started at login, and again whenever it ends
///
/// By launchd on macOS, by your own systemd on Linux, by the Task Scheduler on Windows. Nobody needs
/// to be an administrator. Without a command: `status`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ServiceArgs {
    #[command(subcommand)]
    action: Option<ServiceAction>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum ServiceAction {
    /// Install the service and start it, or bring it up to date
    Install,
    /// Stop the service and remove everything that belongs to it
    Uninstall,
    /// Show whether the service is installed, up to date and running
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// End the daemon and start it anew; agents at work go on
    Restart,
}

pub fn run(arguments: &ServiceArgs) -> Result<()> {
    match &arguments.action {
        None => status(arguments.json),
        Some(ServiceAction::Status { json }) => status(*json),
        Some(ServiceAction::Install) => {
            let InstalledService { state, has_stopped_daemon } =
                service::install(config::read, note)?;
            if has_stopped_daemon {
                say("the daemon has stopped")?;
            }
            say(&format!("installed `{}`", state.definition.display()))?;
            tell(&state)
        }
        Some(ServiceAction::Uninstall) => match service::uninstall(note)? {
            true => say("the service is gone"),
            false => say("no service is installed"),
        },
        Some(ServiceAction::Restart) => {
            service::restart()?;
            say("the daemon was started anew")
        }
    }
}

fn status(as_json: bool) -> Result<()> {
    let state = service::state()?;
    if as_json {
        let state = state.as_ref();
        let is = |field: fn(&ServiceState) -> bool| state.is_some_and(field);
        let shown = json!({
            "version": 1,
            "manager": state.map(|state| state.manager.as_str()),
            "definition": state.map(|state| state.definition.display().to_string()),
            "installed": is(|state| state.is_installed),
            "current": is(|state| state.is_current),
            "running": is(|state| state.is_running),
            "pid": state.and_then(|state| state.pid),
            "note": state.and_then(|state| state.note.as_deref()),
        });
        return say(&shown.to_string());
    }
    let Some(state) = state else {
        return say("no service manager here; `turnbridge daemon` starts the daemon by hand");
    };
    let definition = state.definition.display();
    let manager = state.manager.as_str();
    match (state.is_installed, state.is_current) {
        (false, _) => say(&format!("not installed ({manager})"))?,
        (true, true) => say(&format!("installed ({manager}, `{definition}`)"))?,
        (true, false) => {
            say(&format!("installed, but outdated ({manager}, `{definition}`)"))?;
            say("`turnbridge service install` brings it up to date")?;
        }
    }
    tell(&state)
}

fn tell(state: &ServiceState) -> Result<()> {
    match state.pid {
        Some(pid) => say(&format!("running (pid {pid})"))?,
        None if state.is_running => say("running")?,
        None => say("not running")?,
    }
    if let Some(text) = &state.note {
        note(text);
    }
    Ok(())
}
