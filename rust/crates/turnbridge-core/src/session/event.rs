//! Defines the events of a session. One type serves every source, so that there is one state table:
//! a hook, a line of a Codex rollout, or an observer of the process or its pane.

use crate::gate::speak::SpeakCall;
use crate::ids::SessionKey;
use crate::session::RunEnvironment;
use crate::timestamp::Timestamp;

/// An agent process. The start time distinguishes a process from a later one with the same pid; its
/// unit is the platform's, and it is only compared for equality.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ProcessKey {
    pub pid: u32,
    pub start: u64,
}

impl ProcessKey {
    /// An unknown process: such events share one run. All events of a Codex thread do. A thread has
    /// one writer at a time, whose lock shows that it lives. Of the hooks, the rollout and `notify`
    /// only the hooks could name a process, and that may be a server which carries many threads.
    pub const UNKNOWN: ProcessKey = ProcessKey { pid: 0, start: 0 };
}

/// A change that was observed in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub session: SessionKey,
    pub at: Timestamp,
    pub process: ProcessKey,
    /// The event's name in the sinks and the log: `Stop`, `task_complete`.
    pub name: String,
    /// Set if a sub-agent caused the event.
    pub agent_id: Option<String>,
    pub facts: EventFacts,
    /// The environment of the hook; observers have none.
    pub host: Option<RunEnvironment>,
    pub kind: EventKind,
}

/// The facts of an event about its session. `None` means unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventFacts {
    pub cwd: Option<String>,
    pub transcript_path: Option<String>,
    pub permission_mode: Option<String>,
    pub prompt_id: Option<String>,
    pub model: Option<String>,
}

/// The meaning of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    SessionStarted {
        source: SessionSource,
    },
    /// A turn has begun. The user's prompt follows, or none does (`/compact` in Codex).
    TurnStarted,
    PromptSubmitted {
        prompt: String,
    },
    ToolStarting {
        call: ToolCall,
        /// The skill, if the tool is Claude's Skill.
        skill: Option<String>,
        /// The source of the tool's MCP server: `plugin`, `project`, `user`. Absent before Claude
        /// Code 2.1.326.
        server: Option<String>,
    },
    ToolEnded {
        call: ToolCall,
        speak: Option<SpeakCall>,
    },
    /// All tool calls of one answer of the model have ended.
    ToolBatchEnded {
        speaks: Vec<SpeakCall>,
    },
    /// A dialog for the user is on the screen.
    DialogOpened {
        call: Option<ToolCall>,
    },
    /// A dialog without a hook: an observer saw it. The agent itself may be at rest.
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
    /// The agent wanted to end its turn, and the Stop gate held it.
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
    /// The user stopped the turn (Esc). Claude calls no hook for it: an observer saw it.
    Interrupted,
    /// No dialog is open any more. An approval calls no hook: an observer saw it.
    DialogsClosed,
    /// The process has ended.
    ProcessGone,
    /// The pane that showed the run no longer shows it (KT-44, KT-55, KT-56).
    PaneLeft {
        why: PaneEnd,
    },
}

/// How a pane stopped showing its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaneEnd {
    /// The shell's prompt is back, so the program before it is no longer in the foreground.
    PromptReturned,
    Closed,
}

impl PaneEnd {
    /// Returns the event's name in the sinks and the log.
    pub const fn as_str(self) -> &'static str {
        match self {
            PaneEnd::PromptReturned => "PromptReturned",
            PaneEnd::Closed => "PaneClosed",
        }
    }
}

/// A tool call, with the fields by which it is recognised again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolCall {
    pub tool: String,
    /// Absent in PermissionRequest, which is matched to its call by tool and input.
    pub id: Option<String>,
    /// The hash of the input; 0 if unknown.
    pub input: u64,
}

/// Whether a session's start is a new one, or follows a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionSource {
    Fresh,
    Compact,
}

/// The kind of Claude's notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotificationKind {
    /// `permission_prompt`, `elicitation_dialog` etc.: a dialog has been open for six seconds.
    DialogOpen,
    /// `idle_prompt`: no input for a minute after the turn's end.
    Idle,
    Other,
}
