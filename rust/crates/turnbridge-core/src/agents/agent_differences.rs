//! Answers every question about a difference between agents: one function for each, which matches
//! the agent. Other code calls these functions and never compares the agent. So for a new agent the
//! compiler lists every function to extend, which it could not do for comparisons. `cargo xtask
//! tidy` finds comparisons.
//!
//! Code for one agent alone (its files, its command line) is in the agent's own folder. Code that
//! chooses between such code matches the agent, without a wildcard arm.

use crate::ids::Agent;

/// How Turnbridge detects that a session's process is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LifeSign {
    /// The process that calls the hooks is the session's own, so its pid is enough.
    Process,
    /// The hooks may be called by a server that carries many sessions. The process that writes a
    /// session holds its lock.
    WriterLock,
}

/// The source that names the folder of its own in which an agent keeps a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HomeTrace {
    /// Its hooks are called with the variable that the agent was started with.
    HookVariable,
    /// The session's transcript lies in it.
    Transcript,
}

/// The field of a hook's payload that names the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnIdField {
    PromptId,
    TurnId,
}

impl TurnIdField {
    pub const fn as_str(self) -> &'static str {
        match self {
            TurnIdField::PromptId => "prompt_id",
            TurnIdField::TurnId => "turn_id",
        }
    }
}

/// Its name and its start.
impl Agent {
    /// Returns the name that the agent's makers use.
    pub const fn product_name(self) -> &'static str {
        match self {
            Agent::Claude => "Claude Code",
            Agent::Codex => "Codex",
        }
    }

    pub const fn life_sign(self) -> LifeSign {
        match self {
            Agent::Claude => LifeSign::Process,
            Agent::Codex => LifeSign::WriterLock,
        }
    }

    /// Returns the variable that names the agent's own folder, in which it finds its sessions.
    pub const fn home_variable(self) -> &'static str {
        match self {
            Agent::Claude => "CLAUDE_CONFIG_DIR",
            Agent::Codex => "CODEX_HOME",
        }
    }

    pub const fn home_trace(self) -> HomeTrace {
        match self {
            Agent::Claude => HomeTrace::HookVariable,
            Agent::Codex => HomeTrace::Transcript,
        }
    }

    /// Returns the folder in the user's home that the agent uses if the variable is not set, or
    /// `None` if setting the variable to that folder would change anything. Claude Code keeps
    /// `.claude.json` elsewhere when the variable is set.
    pub const fn home_without_variable(self) -> Option<&'static str> {
        match self {
            Agent::Claude => None,
            Agent::Codex => Some(".codex"),
        }
    }

    /// Returns whether the agent finds a session only from the folder in which the session was
    /// started. Others resume a session in any folder.
    pub const fn is_found_in_its_folder_only(self) -> bool {
        match self {
            Agent::Claude => true,
            Agent::Codex => false,
        }
    }

    /// Returns whether two terminals may have one session open. If not, they would disturb each
    /// other (KT-85).
    pub const fn may_be_open_twice(self) -> bool {
        match self {
            Agent::Claude => true,
            Agent::Codex => false,
        }
    }

    /// Returns whether `turnbridge run` may start the agent with a new session's id and
    /// Turnbridge's plugin.
    pub const fn takes_session_id_and_plugin(self) -> bool {
        match self {
            Agent::Claude => true,
            Agent::Codex => false,
        }
    }

    /// Returns whether the command line that starts the agent shows which pane has which session.
    /// If not, the environment of its hooks names the pane.
    pub const fn is_bound_to_panes_by_launch(self) -> bool {
        match self {
            Agent::Claude => false,
            Agent::Codex => true,
        }
    }
}

/// Its hooks.
impl Agent {
    /// Returns whether the Stop gate is called before a turn ends. Only Claude continues when a
    /// Stop hook holds its turn.
    pub const fn has_stop_gate(self) -> bool {
        match self {
            Agent::Claude => true,
            Agent::Codex => false,
        }
    }

    /// Returns whether Turnbridge's plugin contains its tool that speaks.
    pub const fn has_voice_by_plugin(self) -> bool {
        match self {
            Agent::Claude => true,
            Agent::Codex => false,
        }
    }

    /// Returns whether `turnbridge hooks apply` registers hooks in its settings.
    pub const fn has_hooks_in_settings(self) -> bool {
        match self {
            Agent::Claude => true,
            Agent::Codex => false,
        }
    }

    /// Returns whether, in mode `bypassPermissions`, permission requests that no dialog follows
    /// still call hooks. `codex exec` calls its hooks about a tool of an MCP server, without asking
    /// the user.
    pub const fn asks_hooks_alone_when_bypassing(self) -> bool {
        match self {
            Agent::Claude => false,
            Agent::Codex => true,
        }
    }

    /// Returns whether the payload of a permission request omits the reviewer who decides about it.
    /// Codex's rollout contains it (`rollout_tail::approvals_reviewer`).
    pub const fn omits_the_reviewer(self) -> bool {
        match self {
            Agent::Claude => false,
            Agent::Codex => true,
        }
    }

    /// Returns whether the input of a permission request contains more than the call: the agent's
    /// reason. The command in it is the same in both.
    pub const fn adds_a_reason_to_requests(self) -> bool {
        match self {
            Agent::Claude => false,
            Agent::Codex => true,
        }
    }
}

/// Its turns.
impl Agent {
    pub const fn turn_id_field(self) -> TurnIdField {
        match self {
            Agent::Claude => TurnIdField::PromptId,
            Agent::Codex => TurnIdField::TurnId,
        }
    }

    /// Returns whether no two turns of a session have the same id. Claude's `!command` ends under
    /// the id of the prompt before it.
    pub const fn names_turns_once(self) -> bool {
        match self {
            Agent::Claude => false,
            Agent::Codex => true,
        }
    }

    /// Returns whether a turn ends under the id under which it began. A review of Codex starts one
    /// turn and completes another.
    pub const fn ends_turns_as_they_began(self) -> bool {
        match self {
            Agent::Claude => true,
            Agent::Codex => false,
        }
    }

    /// Returns whether a prompt that is typed while a turn runs has the id of that turn (LIVE-8).
    /// Its hook is called immediately.
    pub const fn adds_prompts_to_the_open_turn(self) -> bool {
        match self {
            Agent::Claude => true,
            Agent::Codex => false,
        }
    }

    /// Returns whether the agent's record of a session reports every turn while it runs. Then turns
    /// are known without hooks, and the daemon follows the record.
    pub const fn tells_turns_by_rollouts(self) -> bool {
        match self {
            Agent::Claude => false,
            Agent::Codex => true,
        }
    }
}

/// Its replies.
impl Agent {
    /// Returns whether the process that has a session open accepts prompts from other processes
    /// (`codex queue`). If not, a run beside an open terminal is not visible in it.
    pub const fn takes_queued_prompts(self) -> bool {
        match self {
            Agent::Claude => false,
            Agent::Codex => true,
        }
    }

    /// Returns whether the agent runs a prompt that begins with `/` as a command.
    pub const fn has_slash_commands(self) -> bool {
        match self {
            Agent::Claude => true,
            Agent::Codex => false,
        }
    }
}
