//! Defines the format of `daemon.json`: the running daemon's status, for the doctor and for
//! `turnbridge daemon status`. Only the daemon's lock, and not this file, shows whether it runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::ChannelName;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "DaemonFile", into = "DaemonFile")]
pub struct DaemonStatus {
    pub version: u32,
    pub pid: u32,
    /// The version of the executable.
    pub program_version: String,
    pub started_at: String,
    pub channels: BTreeMap<ChannelName, ChannelStatus>,
    /// Why the config file is not in force; absent: it is.
    pub config_problem: Option<ConfigProblem>,
    /// Absent: a 0.1 does not write it.
    pub board: Option<BoardStatus>,
}

impl DaemonStatus {
    pub fn listener(&self, channel: &ChannelName) -> Option<&ListenerStatus> {
        self.channels.get(channel).map(|channel| &channel.listener)
    }

    pub fn replies(&self, channel: &ChannelName) -> Option<&RepliesStatus> {
        self.channels.get(channel)?.replies.as_ref()
    }
}

/// How the user's replies on one channel reach this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelStatus {
    pub listener: ListenerStatus,
    /// How replies are polled for; absent while none are wanted, and of a 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replies: Option<RepliesStatus>,
}

/// The file. Slack's status is in the same fields as in 0.1.
#[derive(Serialize, Deserialize)]
struct DaemonFile {
    version: u32,
    pid: u32,
    program_version: String,
    started_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slack: Option<ListenerStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replies: Option<RepliesStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    config_problem: Option<ConfigProblem>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    board: Option<BoardStatus>,
    /// The channels that 0.1 does not know.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    channels: BTreeMap<String, ChannelStatus>,
}

impl From<DaemonFile> for DaemonStatus {
    fn from(file: DaemonFile) -> DaemonStatus {
        let named =
            |(name, status): (String, ChannelStatus)| Some((ChannelName::parse(&name)?, status));
        let mut channels: BTreeMap<_, _> = file.channels.into_iter().filter_map(named).collect();
        if let Some(listener) = file.slack {
            channels.insert(ChannelName::SLACK, ChannelStatus { listener, replies: file.replies });
        }
        DaemonStatus {
            version: file.version,
            pid: file.pid,
            program_version: file.program_version,
            started_at: file.started_at,
            channels,
            config_problem: file.config_problem,
            board: file.board,
        }
    }
}

impl From<DaemonStatus> for DaemonFile {
    fn from(mut status: DaemonStatus) -> DaemonFile {
        let slack = status.channels.remove(&ChannelName::SLACK);
        let (slack, replies) =
            slack.map_or((None, None), |slack| (Some(slack.listener), slack.replies));
        let named = |(name, status): (ChannelName, ChannelStatus)| (name.to_string(), status);
        DaemonFile {
            version: status.version,
            pid: status.pid,
            program_version: status.program_version,
            started_at: status.started_at,
            slack,
            replies,
            config_problem: status.config_problem,
            board: status.board,
            channels: status.channels.into_iter().map(named).collect(),
        }
    }
}

/// The error in the config file in its present state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigProblem {
    pub error: String,
    pub hint: String,
    /// The config that was read before stays in force; otherwise there is none.
    pub is_older_in_force: bool,
}

impl ConfigProblem {
    /// Returns the effect in a few words, without the cause.
    pub const fn effect(&self) -> &'static str {
        match self.is_older_in_force {
            true => "the old one stays",
            false => "no config is in force",
        }
    }
}

/// Whether the board is served, and at which port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum BoardStatus {
    Served {
        port: u16,
    },
    /// It is retried every 30 seconds.
    NotServed {
        /// The port in the config; 0: any free one.
        port: u16,
        error: String,
    },
}

/// The machines that use the app, and how this machine polls for its replies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepliesStatus {
    /// The machines by the messages of the last seven days; this one first.
    pub machines: Vec<MachineStatus>,
    /// The app's sockets, this machine's too, as far as Slack has reported them.
    pub listeners: u32,
    /// Slack's limit of the app's sockets is reached: this machine has none.
    pub too_many_listeners: bool,
    /// How often the newest threads are polled for replies.
    pub asks_every_seconds: u32,
    /// When all threads were last polled to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caught_up_at: Option<String>,
    /// Why they cannot be polled; it is retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Received messages that could not be judged yet.
    pub unjudged: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineStatus {
    pub name: String,
    pub is_this: bool,
}

impl RepliesStatus {
    /// Returns whether replies may reach another machine's socket.
    pub fn has_company(&self) -> bool {
        self.machines.len() > 1 || self.listeners > 1 || self.too_many_listeners
    }

    /// Returns a text such as `2 machines (desk, laptop), 3 listeners`.
    pub fn company(&self) -> String {
        let names: Vec<_> = self.machines.iter().map(|machine| machine.name.as_str()).collect();
        let plural = |count: usize, word: &str| match count {
            1 => format!("1 {word}"),
            _ => format!("{count} {word}s"),
        };
        let machines = plural(names.len(), "machine");
        let listeners = plural(self.listeners as usize, "listener");
        format!("{machines} ({}), {listeners}", names.join(", "))
    }
}

/// The connection by which replies arrive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ListenerStatus {
    /// Replies are not wanted, or the channel is not configured.
    Off {
        reason: String,
    },
    Connecting,
    Connected {
        since: String,
        num_connections: u32,
    },
    /// The connection cannot be opened before the user does something.
    Refused {
        error: String,
        hint: Option<String>,
        /// The cause is on this machine, and the service received no request: the daemon retries
        /// every 30 seconds. Otherwise the service has refused the connection, and the daemon
        /// retries every five minutes.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_local: bool,
    },
}
