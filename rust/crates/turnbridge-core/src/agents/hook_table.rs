//! Lists the hook events that Turnbridge registers: one row each, with the programs that each agent
//! calls for it. `hook_wire` and `session/advance` define the meaning of an event; any other event
//! is ignored.
//!
//! The plugins' `hooks/*.json` (`hook_manifest`), the registration in Claude Code's settings and
//! doctor's checks use this table; tests compare the recordings in `testdata` and `docs/states.md`
//! with it.

use crate::ids::Agent;

/// An executable of Turnbridge that agents call for events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookProgram {
    /// Every event but Claude's Stop.
    Status,
    /// Claude's Stop: the gate decides whether the turn may end.
    StopGate,
    /// A second process beside `Status`, where the user is notified that an agent waits.
    Notify,
}

impl HookProgram {
    pub const ALL: [HookProgram; 3] =
        [HookProgram::Status, HookProgram::StopGate, HookProgram::Notify];

    /// Returns the name of its file, without `.exe`.
    pub const fn as_str(self) -> &'static str {
        match self {
            HookProgram::Status => "turnbridge-status",
            HookProgram::StopGate => "turnbridge-stop-gate",
            HookProgram::Notify => "turnbridge-notify",
        }
    }

    /// Returns the arguments that make it a hook, before those that name the caller.
    pub const fn arguments(self) -> &'static [&'static str] {
        match self {
            HookProgram::Status | HookProgram::StopGate => &[],
            HookProgram::Notify => &["--hook"],
        }
    }

    pub fn parse(text: &str) -> Option<HookProgram> {
        HookProgram::ALL.into_iter().find(|program| program.as_str() == text)
    }
}

/// A process that an agent starts for an event, and waits for. None is async: those overtake each
/// other, and die with `claude -p` (X26).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookCall {
    pub program: HookProgram,
    /// A regular expression for the tool's name. `None`: every tool.
    pub matcher: Option<&'static str>,
    /// The timeout in seconds, after which the agent kills it.
    pub timeout: u32,
}

const STATUS: HookCall = call(HookProgram::Status);
const GATE: HookCall = call(HookProgram::StopGate);
const NOTIFY: HookCall = call(HookProgram::Notify);
const NOTIFY_OF_QUESTION: HookCall =
    HookCall { matcher: Some("^request_user_input$"), ..call(HookProgram::Notify) };
/// Codex itself ends soon after it.
const STATUS_IN_A_HURRY: HookCall = HookCall { timeout: 3, ..call(HookProgram::Status) };

const fn call(program: HookProgram) -> HookCall {
    HookCall { program, matcher: None, timeout: 10 }
}

/// Makes the enum of the events, and their properties, from the rows.
macro_rules! hook_events {
    ($($event:ident: claude $claude:tt, codex $codex:tt;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum HookEventName {
            $($event,)*
        }

        impl HookEventName {
            /// In the order in which they are registered.
            pub const ALL: &[HookEventName] = &[$(HookEventName::$event,)*];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(HookEventName::$event => stringify!($event),)*
                }
            }

            /// Returns the agent's calls for the event; empty if the agent does not have it
            /// registered.
            pub const fn calls(self, agent: Agent) -> &'static [HookCall] {
                match agent {
                    Agent::Claude => match self { $(HookEventName::$event => &$claude,)* },
                    Agent::Codex => match self { $(HookEventName::$event => &$codex,)* },
                }
            }
        }
    };
}

// Codex has no event for a turn that fails; its rollout records it. Claude has none for Esc. A hook
// on Claude's WorktreeCreate would have to make the worktree.
hook_events! {
    SessionStart: claude [STATUS], codex [STATUS];
    UserPromptSubmit: claude [STATUS], codex [STATUS];
    PreToolUse: claude [STATUS], codex [STATUS, NOTIFY_OF_QUESTION];
    PostToolUse: claude [STATUS], codex [STATUS];
    PostToolUseFailure: claude [STATUS], codex [];
    PostToolBatch: claude [STATUS], codex [];
    PermissionRequest: claude [STATUS, NOTIFY], codex [STATUS, NOTIFY];
    PermissionDenied: claude [STATUS], codex [];
    Elicitation: claude [STATUS], codex [];
    ElicitationResult: claude [STATUS], codex [];
    Notification: claude [STATUS], codex [];
    Stop: claude [GATE], codex [STATUS];
    StopFailure: claude [STATUS], codex [];
    SubagentStart: claude [STATUS], codex [STATUS];
    SubagentStop: claude [STATUS], codex [STATUS];
    Interrupt: claude [], codex [STATUS];
    SessionEnd: claude [STATUS], codex [STATUS_IN_A_HURRY];
}

impl HookEventName {
    /// Returns the events that are registered with an agent.
    pub fn of(agent: Agent) -> impl Iterator<Item = HookEventName> {
        let all = HookEventName::ALL.iter().copied();
        all.filter(move |name| !name.calls(agent).is_empty())
    }

    /// Returns the event with this name, of any agent.
    pub fn named(text: &str) -> Option<HookEventName> {
        HookEventName::ALL.iter().copied().find(|name| name.as_str() == text)
    }

    /// Returns the event with this name, or `None` if it is not registered with that agent.
    pub fn parse(text: &str, agent: Agent) -> Option<HookEventName> {
        HookEventName::of(agent).find(|name| name.as_str() == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_name_reads_back_as_itself() {
        for agent in Agent::ALL {
            for name in HookEventName::of(agent) {
                assert_eq!(HookEventName::parse(name.as_str(), agent), Some(name));
            }
            assert_eq!(HookEventName::parse("WorktreeCreate", agent), None);
            assert_eq!(HookEventName::parse("stop", agent), None);
        }
        assert_eq!(HookEventName::parse("Interrupt", Agent::Claude), None);
    }

    #[test]
    fn the_gate_is_called_where_there_is_one_and_every_event_by_somebody() {
        for agent in Agent::ALL {
            let calls = HookEventName::ALL.iter().flat_map(|name| name.calls(agent));
            let gates = calls.filter(|call| call.program == HookProgram::StopGate).count();
            assert_eq!(gates, usize::from(agent.has_stop_gate()), "{agent}");
        }
        for name in HookEventName::ALL {
            let is_called = Agent::ALL.iter().any(|agent| !name.calls(*agent).is_empty());
            assert!(is_called, "{name:?}");
        }
    }
}
