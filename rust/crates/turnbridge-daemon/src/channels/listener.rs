//! Defines the interface between the daemon and the part of a channel that receives replies. A
//! listener writes replies into the inbox itself. The daemon gets an event for a new reply or a
//! changed status.

use turnbridge_config::Config;
use turnbridge_core::ids::ChannelName;
use turnbridge_core::system::daemon_wire::ChannelStatus;

use crate::daemon::log::DaemonLog;

/// The receiver of replies on one channel.
pub trait Listener {
    fn name(&self) -> ChannelName;

    /// Applies a config: opens or closes the connection, or leaves it unchanged.
    fn set_config(&mut self, config: &Config, log: &DaemonLog);

    /// Retries a connection that this machine prevented (a full disk, a damaged state file), and
    /// less often one that the service has refused. The daemon calls it every 30 seconds.
    fn retry(&mut self, log: &DaemonLog);

    /// Processes the reports of its threads, which they announced by `Event::Channel`.
    fn take_reports(&mut self, log: &DaemonLog);

    fn status(&self) -> ChannelStatus;

    /// Closes the connection. `reason` becomes its status.
    fn stop(&mut self, reason: &str);
}
