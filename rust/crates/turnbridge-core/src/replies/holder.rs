//! Who runs a reply, from the claim on.

use crate::timestamp::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub pid: u32,
    /// With the pid a name for the process; 0 when it is not known.
    pub start: u64,
    /// Since when; `None`: not known.
    pub at: Option<Timestamp>,
    /// Which start of the machine it was, where the start time counts from that.
    pub boot: Option<String>,
    /// Of the process that works on a reply: what kind it is.
    pub way: Option<Way>,
}

/// What the runner has started for a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The agent, which runs the reply.
    Agent,
    /// `codex queue`, which gives the reply to a Codex that has the thread open.
    Queue,
}

impl Way {
    pub const ALL: [Way; 2] = [Way::Agent, Way::Queue];

    pub const fn as_str(self) -> &'static str {
        match self {
            Way::Agent => "agent",
            Way::Queue => "queue",
        }
    }

    pub fn parse(text: &str) -> Option<Way> {
        Way::ALL.into_iter().find(|way| way.as_str() == text)
    }
}
