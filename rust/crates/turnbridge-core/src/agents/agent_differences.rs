//! How agents differ, as questions that every agent answers. Other code asks one of these, and never
//! which agent it has: a new agent makes the compiler list every question, and a comparison with one
//! agent would go on as before. `cargo xtask tidy` finds such comparisons.
//!
//! Code of one agent alone (its files, its command line) is not here. Whoever chooses between such code
//! matches the agent, without a wildcard arm.

use crate::ids::Agent;

/// What shows whether the process of a session still lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LifeSign {
    /// The process that calls the hooks is the session's own, so its pid tells.
    Process,
    /// The hooks may be called by a server that carries many sessions. Whoever writes a session holds
    /// its lock.
    WriterLock,
}

/// What shows in which folder of its own an agent keeps a session.
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

/// What it is, and how it is started.
impl Agent {
    /// The name that its makers write.
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

    /// The variable that names its own folder, in which it finds its sessions.
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

    /// Returns the folder in the user's home that it takes without the variable, if naming that folder
    /// changes nothing. Claude Code keeps `.claude.json` elsewhere when the variable is set.
    pub const fn home_without_variable(self) -> Option<&'static str> {
        match self {
            Agent::Claude => None,
            Agent::Codex => Some(".codex"),
        }
    }

    /// Returns whether it finds a session only from the folder in which the session was started.
    /// Others resume a session in any folder.
    pub const fn is_found_in_its_folder_only(self) -> bool {
        match self {
            Agent::Claude => true,
            Agent::Codex => false,
        }
    }

    /// Returns whether two terminals may have one session open. Where not, they would get in each
    /// other's way (KT-85).
    pub const fn may_be_open_twice(self) -> bool {
        match self {
            Agent::Claude => true,
            Agent::Codex => false,
        }
    }

    /// Returns whether `turnbridge run` may start it with the id of a new session and with our plugin.
    pub const fn takes_session_id_and_plugin(self) -> bool {
        match self {
            Agent::Claude => true,
            Agent::Codex => false,
        }
    }

    /// Returns whether the command line that started it tells which pane shows which session. Where
    /// not, the environment of its hooks names the pane.
    pub const fn is_bound_to_panes_by_launch(self) -> bool {
        match self {
            Agent::Claude => false,
            Agent::Codex => true,
        }
    }
}

/// Its hooks.
impl Agent {
    /// Returns whether our gate is asked before a turn ends. Only Claude goes on when a Stop hook says
    /// "not yet".
    pub const fn has_stop_gate(self) -> bool {
        match self {
            Agent::Claude => true,
            Agent::Codex => false,
        }
    }

    /// Returns whether our plugin brings it the tool that speaks.
    pub const fn has_voice_by_plugin(self) -> bool {
        match self {
            Agent::Claude => true,
            Agent::Codex => false,
        }
    }

    /// Returns whether `turnbridge hooks apply` registers our hooks in its settings.
    pub const fn has_hooks_in_settings(self) -> bool {
        match self {
            Agent::Claude => true,
            Agent::Codex => false,
        }
    }

    /// Returns whether hooks are called for requests that nobody is asked about although the mode is
    /// `bypassPermissions`. `codex exec` asks its hooks about a tool of an MCP server, and nobody else.
    pub const fn asks_hooks_alone_when_bypassing(self) -> bool {
        match self {
            Agent::Claude => false,
            Agent::Codex => true,
        }
    }

    /// Returns whether the payload of a permission request leaves out who decides about it. Codex's
    /// rollout says that (`rollout_tail::approvals_reviewer`).
    pub const fn omits_the_reviewer(self) -> bool {
        match self {
            Agent::Claude => false,
            Agent::Codex => true,
        }
    }

    /// Returns whether a permission request has more in its input than the call itself: why the agent
    /// wants it. The command in it is the same in both.
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

    /// Returns whether no two turns of a session have the same id. Claude's `!command` ends under the
    /// id of the prompt before it.
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

    /// Returns whether a prompt that is typed while a turn runs has the id of that turn (LIVE-8). Its
    /// hook is called at once.
    pub const fn adds_prompts_to_the_open_turn(self) -> bool {
        match self {
            Agent::Claude => true,
            Agent::Codex => false,
        }
    }

    /// Returns whether its record of a session tells of every turn while it runs, so that a turn is
    /// known without hooks, and the daemon follows the record.
    pub const fn tells_turns_by_rollouts(self) -> bool {
        match self {
            Agent::Claude => false,
            Agent::Codex => true,
        }
    }
}

/// What becomes of replies.
impl Agent {
    /// Returns whether whoever has a session open takes prompts from other processes (`codex queue`).
    /// Where not, a run beside an open terminal is not seen in it.
    pub const fn takes_queued_prompts(self) -> bool {
        match self {
            Agent::Claude => false,
            Agent::Codex => true,
        }
    }

    /// Returns whether it runs a prompt that begins with `/` as a command.
    pub const fn has_slash_commands(self) -> bool {
        match self {
            Agent::Claude => true,
            Agent::Codex => false,
        }
    }
}
