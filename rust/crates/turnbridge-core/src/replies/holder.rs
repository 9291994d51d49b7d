//! Defines a process that runs a reply, or that a runner has started for it.

use crate::timestamp::Timestamp;

/// A process that runs a reply, or that its runner has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub pid: u32,
    /// The start time, which identifies the process together with the pid; 0 if not known.
    pub start: u64,
    /// When it began; `None` if not known.
    pub at: Option<Timestamp>,
    /// The boot of the machine, where the start time counts from the boot.
    pub boot: Option<String>,
    /// The kind of a process that a runner has started. `None` for the runner itself, and for an
    /// agent in a file without the kind.
    pub way: Option<StartedProgram>,
}

/// The kind of a process that a runner has started for a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartedProgram {
    /// The agent, which runs the reply.
    Agent,
    /// `codex queue`, which gives the reply to the Codex that has the thread open.
    Queue,
}

impl StartedProgram {
    pub const ALL: [StartedProgram; 2] = [StartedProgram::Agent, StartedProgram::Queue];

    pub const fn as_str(self) -> &'static str {
        match self {
            StartedProgram::Agent => "agent",
            StartedProgram::Queue => "queue",
        }
    }

    pub fn parse(text: &str) -> Option<StartedProgram> {
        StartedProgram::ALL.into_iter().find(|way| way.as_str() == text)
    }
}
