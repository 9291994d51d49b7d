//! Records that an agent is about to start in a pane, with its command line and the folder in which
//! it starts.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use turnbridge_core::agents::codex::codex_launch::classify;
use turnbridge_core::ids::Agent;
use turnbridge_core::session::RunEnvironment;
use turnbridge_core::terminals::command_line::{Started, agent};
use turnbridge_core::terminals::pane_id::{PaneId, pane_of};
use turnbridge_core::terminals::panes::PaneLaunch;
use turnbridge_store::clock;
use turnbridge_store::paths::home_dir;
use turnbridge_store::state::pane_store;

use super::Registry;

/// Returns the agent that a command line starts, given by its words, or `None` if it starts none.
pub fn started(words: &[&str]) -> Option<Started> {
    agent(words).map(|(agent, argv)| started_by(agent, argv))
}

fn started_by(agent: Agent, argv: &[&str]) -> Started {
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    Started { agent, argv, folders: Vec::new() }
}

impl Registry<'_> {
    /// Records that the agent starts in `cwd`, or in the folder that its command line names from
    /// there.
    pub fn launch(
        &self,
        pane: &PaneId,
        started: &Started,
        cwd: &Path,
        host: &RunEnvironment,
    ) -> Result<()> {
        let argv: Vec<&str> = started.argv.iter().map(String::as_str).collect();
        let mut folder = cwd.to_owned();
        let directory = classify(&argv).and_then(|launch| launch.directory);
        for part in started.folders.iter().chain(&directory) {
            folder.push(without_tilde(part));
        }
        let launch = PaneLaunch {
            agent: started.agent,
            argv,
            // A path that is no UTF-8 cannot be in a rollout, so it cannot be found in one.
            cwd: real(&folder).to_string_lossy().into_owned(),
            env: host.env.clone(),
            at: clock::now(),
        };
        let left = pane_store::launch(self.paths, &(self.codex_homes)(), pane, launch)
            .context("could not write down the launch")?;
        left.problems.iter().for_each(|problem| (self.remark)(problem));
        Ok(())
    }

    /// Records that the caller starts an agent in this terminal and this folder. Does nothing if
    /// the pane of this terminal is unknown.
    pub fn launch_here(&self, agent: Agent, argv: &[&str], host: &RunEnvironment) -> Result<()> {
        let Some(pane) = pane_of(|name| host.env(name)) else { return Ok(()) };
        let cwd = std::env::current_dir().unwrap_or_default();
        self.launch(&pane, &started_by(agent, argv), &cwd, host)
    }
}

/// Replaces `~` in a folder, because a shell that only reported its command line has not expanded
/// it.
fn without_tilde(folder: &str) -> PathBuf {
    let in_home = folder.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match (in_home, home_dir()) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(folder),
    }
}

/// Returns the real path, as Codex writes it to its rollouts. On Windows it does not begin with
/// `\\?\`.
fn real(folder: &Path) -> PathBuf {
    let real = if cfg!(windows) { std::path::absolute(folder) } else { folder.canonicalize() };
    real.unwrap_or_else(|_| folder.to_owned())
}
