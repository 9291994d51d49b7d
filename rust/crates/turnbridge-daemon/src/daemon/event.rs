//! Everything that can happen to the daemon. One closed list, one receiver: nothing is shared.

use turnbridge_core::ids::ChannelName;

use crate::observe::rollouts::Sight;

#[derive(Debug)]
pub enum Event {
    /// A file in a watched folder may have changed.
    Changed(Place),
    /// The watcher has failed or lost something: look at everything.
    Lost {
        reason: String,
    },
    /// Of Codex's rollouts.
    Rollouts(Sight),
    /// The listener of this channel has something to report.
    Channel(ChannelName),
    /// A reply has been written down.
    ReplyKept,
    /// The courier has done what it could.
    Delivered,
    Stop(StopReason),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Outbox,
    Inbox,
    Config,
    /// The state folder itself: somebody asks us to stop.
    State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// SIGTERM, SIGINT, SIGHUP, Ctrl-C, or Windows closing the console or the session.
    Signal,
    /// `turnbridge daemon stop`.
    Asked,
}

impl StopReason {
    pub const fn as_str(self) -> &'static str {
        match self {
            StopReason::Signal => "signal",
            StopReason::Asked => "asked",
        }
    }
}
