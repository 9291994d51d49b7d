//! What the daemon needs of the side of a channel that hears what people say. A listener writes what it
//! hears into the inbox itself; the daemon is told that something has come, or that its state has changed.

use turnbridge_config::Config;
use turnbridge_core::ids::ChannelName;
use turnbridge_core::system::daemon_wire::ChannelStatus;

use crate::daemon::log::DaemonLog;

/// Hands in what people say on one channel.
pub trait Listener {
    fn name(&self) -> ChannelName;

    /// Opens, closes, or leaves it as it is.
    fn set_config(&mut self, config: &Config, log: &DaemonLog);

    /// Tries again what something on this machine prevented (a full disk, a damaged file of ours), and now and
    /// then what the service has refused. It is called every 30 seconds.
    fn retry(&mut self, log: &DaemonLog);

    /// Takes up what its threads have reported since; they sent `Event::Channel`.
    fn take_reports(&mut self, log: &DaemonLog);

    fn status(&self) -> ChannelStatus;

    /// Closes it. `reason` is what its status says from then on.
    fn stop(&mut self, reason: &str);
}
