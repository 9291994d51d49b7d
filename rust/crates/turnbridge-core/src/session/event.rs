//! What happens to a session, whatever it came from: a Claude hook, a Codex rollout line, or
//! what an observer saw of the process. One `Event` type, so that there is one state table.

use crate::gate::speak::SpeakCall;
use crate::ids::SessionKey;
use crate::session::Host;
use crate::timestamp::Timestamp;

/// One agent process. The start time tells a process from a later one with the same pid;
/// its unit is the platform's own and means nothing but equality.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ProcessKey {
    pub pid: u32,
    pub start: u64,
}

impl ProcessKey {
    /// The process is not known: such events share one run. So do all of a Codex thread. It has one
    /// writer at a time, whose lock tells that it lives; of the hooks, the rollout and `notify` only
    /// the first could name a process, and that may be a server which carries many threads.
    pub const UNKNOWN: ProcessKey = ProcessKey { pid: 0, start: 0 };
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub session: SessionKey,
    pub at: Timestamp,
    pub process: ProcessKey,
    /// The event's own name, for the sinks and the log: `Stop`, `task_complete`.
    pub name: String,
    /// Set when a sub-agent did it.
    pub agent_id: Option<String>,
    pub facts: Facts,
    /// What a hook found around it; observers have none.
    pub host: Option<Host>,
    pub kind: EventKind,
}

/// What an event says of its session besides what happened. `None` says nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    pub cwd: Option<String>,
    pub transcript_path: Option<String>,
    pub permission_mode: Option<String>,
    pub prompt_id: Option<String>,
    pub model: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    SessionStarted {
        source: SessionSource,
    },
    /// A turn has begun; what the user typed follows, or nothing does (`/compact` in Codex).
    TurnStarted,
    PromptSubmitted {
        prompt: String,
    },
    ToolStarting {
        call: ToolCall,
        /// Which skill, when the tool is Claude's Skill.
        skill: Option<String>,
        /// Who has brought the MCP server of the tool: `plugin`, `project`, `user`. Absent before
        /// Claude Code 2.1.326.
        server: Option<String>,
    },
    ToolEnded {
        call: ToolCall,
        speak: Option<SpeakCall>,
    },
    /// All tool calls of one answer of the model are over.
    ToolBatchEnded {
        speaks: Vec<SpeakCall>,
    },
    /// A dialog for the user is on the screen.
    DialogOpened {
        call: Option<ToolCall>,
    },
    /// One for which no hook is called: an observer saw it. The agent itself may be at rest.
    DialogSeen,
    DialogAnswered {
        call: Option<ToolCall>,
    },
    Notified {
        kind: NotificationKind,
    },
    TurnEnded {
        answer: Option<String>,
        background_tasks: Vec<String>,
        stop_hook_active: bool,
    },
    /// The agent wanted to end its turn, and our gate has sent it on.
    StopBlocked {
        answer: Option<String>,
    },
    TurnFailed {
        error: String,
        answer: Option<String>,
    },
    SubagentStarted,
    SubagentEnded,
    RunEnded {
        reason: String,
    },
    /// The user stopped the turn (Esc). Claude has no hook for it: an observer saw it.
    Interrupted,
    /// No dialog is open any more: an approval fires no hook, an observer saw it.
    DialogsClosed,
    /// The process is no more.
    ProcessGone,
    /// The pane in which the run was shown shows it no more (KT-44, KT-55, KT-56).
    PaneLeft {
        why: PaneEnd,
    },
}

/// How it was seen that a pane shows its session no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaneEnd {
    /// The shell's prompt is back, so whatever ran before it is not in front any more.
    PromptReturned,
    Closed,
}

impl PaneEnd {
    /// The event's name, for the sinks and the log.
    pub const fn as_str(self) -> &'static str {
        match self {
            PaneEnd::PromptReturned => "PromptReturned",
            PaneEnd::Closed => "PaneClosed",
        }
    }
}

/// A call of a tool, as far as it has to be known again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolCall {
    pub tool: String,
    /// Absent in PermissionRequest, which is matched to its call by tool and input.
    pub id: Option<String>,
    /// Fingerprint of the input, 0 when unknown.
    pub input: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionSource {
    Fresh,
    Compact,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotificationKind {
    /// `permission_prompt`, `elicitation_dialog` and their like: a dialog has been open for six seconds.
    DialogOpen,
    /// `idle_prompt`: nothing typed for a minute after the turn's end.
    Idle,
    Other,
}
