//! Starts and ends the processes of a demo: its daemon, and the agents that play.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use turnbridge_store::files::atomic_file::write_atomically;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::inbox;

use super::home::DemoHome;
use super::scenes::SCENES;

/// The timeout for the end of the started processes.
const TIMEOUT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

/// The started processes. They end when this is dropped, so that none writes into the home any
/// more.
pub struct DemoProcesses {
    pub paths: StatePaths,
    players: Vec<Child>,
    daemon: Option<Child>,
}

impl DemoProcesses {
    pub fn new(paths: StatePaths) -> DemoProcesses {
        DemoProcesses { paths, players: Vec::new(), daemon: None }
    }

    pub fn start_daemon(&mut self, home: &DemoHome) -> Result<()> {
        let mut command = home.command(&["daemon", "--foreground"])?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.daemon = Some(command.spawn().context("could not start the demo's daemon")?);
        Ok(())
    }

    pub fn start_players(&mut self, home: &DemoHome) -> Result<()> {
        for scene in &SCENES {
            let folder = home.project(scene.project);
            std::fs::create_dir_all(&folder)
                .with_context(|| format!("could not make `{}`", folder.display()))?;
            let mut command = home.command(&["demo-agent", scene.project])?;
            command.current_dir(folder);
            // It ends with its standard input, however this process ends.
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            self.players.push(command.spawn().context("could not start a demo agent")?);
        }
        Ok(())
    }

    pub fn has_lost_daemon(&mut self) -> bool {
        let daemon = self.daemon.as_mut();
        daemon.is_none_or(|daemon| daemon.try_wait().is_ok_and(|status| status.is_some()))
    }

    /// Stops the runners of replies by their files, because they are detached processes.
    fn end_replies(&self) {
        let all = || -> Vec<String> {
            let entries = inbox::entries(&self.paths).unwrap_or_default();
            entries.into_iter().map(|entry| entry.reply.id).collect()
        };
        let running = || -> Vec<String> {
            all().into_iter().filter(|id| inbox::is_running(&self.paths, id)).collect()
        };
        if !all().is_empty() {
            // A runner that the daemon started just before its end has no lock yet.
            std::thread::sleep(4 * PAUSE);
        }
        for id in running() {
            let _ = inbox::request_stop(&self.paths, &id);
        }
        let deadline = Instant::now() + TIMEOUT;
        while !running().is_empty() && Instant::now() < deadline {
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for DemoProcesses {
    fn drop(&mut self) {
        for player in &mut self.players {
            drop(player.stdin.take());
        }
        self.players.iter_mut().for_each(end);
        if let Some(daemon) = &mut self.daemon {
            let _ = write_atomically(&self.paths.daemon_stop(), b"");
            end(daemon);
        }
        self.end_replies();
    }
}

/// Waits for the end of a process that was asked to end. It kills it after the timeout.
fn end(child: &mut Child) {
    let deadline = Instant::now() + TIMEOUT;
    while Instant::now() < deadline {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(PAUSE);
    }
    let _ = child.kill();
    let _ = child.wait();
}
