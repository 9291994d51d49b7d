//! Starts the daemon during the set-up (SLV-11): as a system service, else as a background process.
//! It then waits until the daemon has connected to Slack, or serves the board.

use std::time::{Duration, Instant};

use anyhow::Result;
use turnbridge_core::ids::ChannelName;
use turnbridge_core::system::daemon_wire::ListenerStatus;
use turnbridge_core::system::setup_texts::SetupText;
use turnbridge_system::daemon_control;
use turnbridge_system::service::{self, InstalledService};

use super::{Setup, SetupChannel};
use crate::config;
use crate::failure::{hinted, note};

/// The timeout for a name server, a proxy and a handshake.
const TIMEOUT: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(100);

impl Setup<'_> {
    /// Starts the daemon, and waits until the channel works.
    pub fn keep_running(&self, channel: SetupChannel) -> Result<()> {
        self.dialogue.heading(&self.dialogue.text(SetupText::DaemonHeading, &[]))?;
        if !self.as_service()? {
            self.in_the_background()?;
        }
        match channel {
            SetupChannel::Slack => self.wait_for_slack(),
            SetupChannel::Board => self.wait_for_board(),
        }
    }

    /// Installs the service. Returns whether it runs the daemon now.
    fn as_service(&self) -> Result<bool> {
        if self.options.no_service {
            return Ok(false);
        }
        let state = match service::state() {
            Ok(Some(state)) => state,
            // A system without a service manager is no failure.
            Ok(None) => return Ok(false),
            Err(trouble) => return self.without_service(&trouble),
        };
        let question = self.dialogue.text(SetupText::ServiceQuestion, &[state.manager.title()]);
        if !self.dialogue.ask_yes(&question, true)? {
            return Ok(false);
        }
        match service::install(config::read, note) {
            Ok(InstalledService { state, has_stopped_daemon }) => {
                if has_stopped_daemon {
                    self.dialogue.print("the daemon has stopped")?;
                }
                let definition = state.definition.display().to_string();
                self.dialogue.say(SetupText::ServiceInstalled, &[&definition])?;
                state.note.map_or(Ok(()), |text| self.dialogue.print(&text))?;
                Ok(true)
            }
            Err(trouble) => self.without_service(&trouble),
        }
    }

    fn without_service(&self, trouble: &anyhow::Error) -> Result<bool> {
        self.dialogue.say(SetupText::ServiceFailed, &[&format!("{trouble:#}")])?;
        Ok(false)
    }

    fn in_the_background(&self) -> Result<()> {
        // A running daemon picks up the new config itself.
        if daemon_control::is_running(&self.paths) {
            return Ok(());
        }
        let started = daemon_control::launch(&self.paths);
        match started {
            Ok(_) => self.dialogue.say(SetupText::DaemonStarted, &[]),
            Err(trouble) => {
                let cause = format!("{trouble:#}");
                Err(self
                    .dialogue
                    .trouble((SetupText::DaemonFailed, &[&cause]), (SetupText::DaemonByHand, &[])))
            }
        }
    }

    fn wait_for_board(&self) -> Result<()> {
        let deadline = Instant::now() + TIMEOUT;
        while Instant::now() < deadline {
            // The files of a killed daemon do not count as a board.
            let running = daemon_control::read_status(&self.paths).map(|status| status.pid);
            if daemon_control::find_board(&self.paths).is_ok_and(|board| Some(board.pid) == running)
            {
                return self.dialogue.say(SetupText::BoardServed, &[]);
            }
            std::thread::sleep(LOOK);
        }
        Err(self.dialogue.trouble((SetupText::NoBoard, &[]), (SetupText::DaemonByHand, &[])))
    }

    fn wait_for_slack(&self) -> Result<()> {
        self.dialogue.say(SetupText::Connecting, &[])?;
        let deadline = Instant::now() + TIMEOUT;
        let mut status = None;
        while Instant::now() < deadline {
            let daemon = daemon_control::read_status(&self.paths);
            status = daemon.and_then(|daemon| daemon.listener(&ChannelName::SLACK).cloned());
            match &status {
                Some(ListenerStatus::Connected { .. })
                    if daemon_control::is_running(&self.paths) =>
                {
                    return self.dialogue.say(SetupText::Connected, &[]);
                }
                Some(ListenerStatus::Refused { error, hint, .. }) => {
                    let what = self.dialogue.text(SetupText::NotConnected, &[error]);
                    let by_hand = self.dialogue.text(SetupText::DaemonByHand, &[]);
                    return Err(hinted(what, hint.clone().unwrap_or(by_hand)));
                }
                _ => std::thread::sleep(LOOK),
            }
        }
        let cause = match status {
            Some(ListenerStatus::Off { reason }) => reason,
            _ => self.dialogue.text(SetupText::Seconds, &[&TIMEOUT.as_secs().to_string()]),
        };
        Err(self
            .dialogue
            .trouble((SetupText::NotConnected, &[&cause]), (SetupText::NetworkAdvice, &[])))
    }
}
