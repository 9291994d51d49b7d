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
    /// How replies are asked for; absent while none are wanted, and of a 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replies: Option<RepliesStatus>,
    /// Why the config file is not in force; absent: it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_problem: Option<ConfigProblem>,
    /// Absent: a 0.1 does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub board: Option<BoardStatus>,
}

/// What is wrong with the config file as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigProblem {
    pub error: String,
    pub hint: String,
    /// The config that was read before goes on; otherwise there is none.
    pub is_older_in_force: bool,
}

impl ConfigProblem {
    /// In a few words, without the cause.
    pub const fn effect(&self) -> &'static str {
        match self.is_older_in_force {
            true => "the old one stays",
            false => "no config is in force",
        }
    }
}

/// Whether the board is served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum BoardStatus {
    Served {
        port: u16,
    },
    /// It is tried again every 30 seconds.
    NotServed {
        /// As the config says; 0: any that is free.
        port: u16,
        error: String,
    },
}

/// Who else uses the app, and how this machine gets its own replies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepliesStatus {
    /// By the messages of the last seven days; this one first.
    pub machines: Vec<MachineStatus>,
    /// Sockets of the app, this machine's too, as far as Slack has told.
    pub listeners: u32,
    /// Slack allows no more sockets of the app: this machine has none.
    pub too_many_listeners: bool,
    /// How often replies to the newest threads are asked for.
    pub asks_every_seconds: u32,
    /// When all threads were last asked for to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caught_up_at: Option<String>,
    /// Why they cannot be asked for; it is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Messages that were heard and could not be judged yet.
    pub unjudged: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineStatus {
    pub name: String,
    pub is_this: bool,
}

impl RepliesStatus {
    /// Replies may reach another machine's socket.
    pub fn has_company(&self) -> bool {
        self.machines.len() > 1 || self.listeners > 1 || self.too_many_listeners
    }

    /// `2 machines (desk, laptop), 3 listeners`.
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
