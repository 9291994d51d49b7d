//! Defines the events that threads send to the daemon's loop, which is their only receiver.

use turnbridge_core::ids::ChannelName;

use crate::observe::rollouts::RolloutChange;

#[derive(Debug)]
pub enum DaemonEvent {
    /// A file in a watched folder may have changed.
    Changed(ChangedPlace),
    /// The watcher has failed or lost events: the daemon rescans everything.
    Lost {
        reason: String,
    },
    /// A change in Codex's rollouts.
    Rollouts(RolloutChange),
    /// The listener of this channel has a report.
    Channel(ChannelName),
    /// A reply was stored in the inbox.
    ReplyKept,
    /// The delivery thread has finished a pass.
    Delivered,
    Stop(StopReason),
}

/// The folder of a changed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangedPlace {
    Outbox,
    Inbox,
    Config,
    /// The state folder itself: another process may request a stop.
    State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// SIGTERM, SIGINT, SIGHUP, Ctrl-C, or the end of the console or the session on Windows.
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
