//! Defines the events of the connection that the caller receives. Envelopes are none of them: they
//! go to a callback, which stores them before they are acked.

use std::fmt;
use std::time::Duration;

use crate::call_error::CallError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketEvent {
    /// A socket has received hello.
    Connected {
        num_connections: u32,
        app_id: Option<String>,
        /// How long no event could arrive: `None` the first time, zero if the socket before it was
        /// still up.
        gap: Option<Duration>,
    },
    /// The socket has ended; another one will be opened.
    Lost {
        reason: SocketLoss,
    },
    /// A new socket could not be opened yet.
    Retrying {
        error: CallError,
        after: Duration,
    },
    Warning(SocketWarning),
    /// Reported once. No more attempts are made until `SocketMode::retry`.
    Fatal {
        error: CallError,
        hint: Option<&'static str>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketWarning {
    /// Slack counts more connections than this process has. Each event is sent to one of them, so
    /// another program gets some.
    OtherConnections { num_connections: u32, ours: u32 },
    /// The app has more connections than the ten that Slack allows.
    TooManyConnections,
    /// Socket Mode was switched off in the app's settings.
    SocketModeOff,
}

/// The reason why a socket has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketLoss {
    /// Slack closed it.
    Closed {
        code: Option<u16>,
    },
    /// It ended, or was reset, without a closing handshake.
    Broken {
        cause: String,
    },
    /// No byte came for too long, not even the answer to a ping.
    Silent,
    /// The machine was asleep.
    Slept,
    NoHello,
    /// An ack could not be written; Slack sends its envelope again.
    NotAcked {
        cause: String,
    },
}

impl fmt::Display for SocketLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SocketLoss::Closed { code: Some(code) } => {
                write!(f, "Slack closed the connection ({code})")
            }
            SocketLoss::Closed { code: None } => f.write_str("Slack closed the connection"),
            SocketLoss::Broken { cause } => write!(f, "the connection broke: {cause}"),
            SocketLoss::Silent => f.write_str("the connection went silent"),
            SocketLoss::Slept => f.write_str("the machine was asleep"),
            SocketLoss::NoHello => f.write_str("Slack accepted the connection and said nothing"),
            SocketLoss::NotAcked { cause } => write!(f, "an ack could not be sent: {cause}"),
        }
    }
}

impl fmt::Display for SocketWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SocketWarning::OtherConnections { num_connections, ours } => write!(
                f,
                "Slack counts {num_connections} connections of this app, and ours are {ours}: another program gets some of the replies"
            ),
            SocketWarning::TooManyConnections => {
                f.write_str("this app has more connections than Slack allows")
            }
            SocketWarning::SocketModeOff => {
                f.write_str("Socket Mode is switched off in the app's settings")
            }
        }
    }
}
