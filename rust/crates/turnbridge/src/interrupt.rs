//! Catches Ctrl-C, SIGTERM and SIGHUP, for commands that must clean up before they end.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result};

pub struct Interrupt(Receiver<()>);

impl Interrupt {
    /// Catches the signals, which no longer end the process by themselves. The caller calls it
    /// before it creates anything that it must remove.
    pub fn listen() -> Result<Interrupt> {
        let (sender, receiver) = channel();
        let handler = move || {
            let _ = sender.send(());
        };
        ctrlc::set_handler(handler).context("could not listen for signals")?;
        Ok(Interrupt(receiver))
    }

    /// Waits for a signal. Returns `false` if none comes before the timeout.
    pub fn comes_within(&self, timeout: Duration) -> bool {
        self.0.recv_timeout(timeout) != Err(RecvTimeoutError::Timeout)
    }
}
