//! `daemon.json`: what the running daemon says of itself, for `turnbridge daemon status` and the
//! doctor. Whether it runs is told by its lock alone.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonStatus {
    pub version: u32,
    pub pid: u32,
    /// Of the executable.
    pub program_version: String,
    pub started_at: String,
    pub slack: SlackStatus,
}

/// How replies reach us.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SlackStatus {
    /// Replies are not wanted, or no Slack is configured.
    Off {
        reason: String,
    },
    Connecting,
    Connected {
        since: String,
        num_connections: u32,
    },
    /// Slack has refused us; nothing changes until the user does something.
    Refused {
        error: String,
        hint: Option<String>,
    },
}
