//! Parses the payload of a hook call and converts it to an `Event`. Codex uses Claude Code's
//! format; comments mark the differences.
//!
//! The payload is scanned while it streams in, and only the fields below are kept. Unknown events
//! and fields are skipped. A field of the wrong type counts as absent and is reported. Recorded
//! from Claude Code 2.1.197 and 2.1.326 and Codex 0.166.0: `testdata/*/hooks*`.

use crate::agents::agent_differences::TurnIdField;
use crate::agents::hook_table::HookEventName;
use crate::gate::speak::{SpeakCall, SpeakOutcome, is_speak_tool};
use crate::ids::{Agent, SessionId, SessionKey};
use crate::scan::json_scan::{
    Capture, CaptureMode, FoundValue, JsonScanner, MalformedJson, PathStep, WantedField,
    wanted_fields,
};
use crate::session::RunEnvironment;
use crate::session::event::{
    Event, EventFacts, EventKind, NotificationKind, ProcessKey, SessionSource, ToolCall,
};
use crate::timestamp::Timestamp;
use xxhash_rust::xxh3::xxh3_64;

/// The limit of a text. No typed text or answer is longer; a longer one is cut, and reported.
const LONG: CaptureMode = CaptureMode::Scalar(16 << 20);
const PATH: CaptureMode = CaptureMode::Scalar(32 << 10);
const SHORT: CaptureMode = CaptureMode::Scalar(1 << 10);

use PathStep::{Each, Key};

wanted_fields! {
    EventName: SHORT, [Key("hook_event_name")];
    SessionId: SHORT, [Key("session_id")];
    TranscriptPath: PATH, [Key("transcript_path")];
    Cwd: PATH, [Key("cwd")];
    PromptId: SHORT, [Key("prompt_id")];
    TurnId: SHORT, [Key("turn_id")];
    PermissionMode: SHORT, [Key("permission_mode")];
    AgentId: SHORT, [Key("agent_id")];
    Model: SHORT, [Key("model")];
    Source: SHORT, [Key("source")];
    Reason: SHORT, [Key("reason")];
    Error: SHORT, [Key("error")];
    NotificationType: SHORT, [Key("notification_type")];
    Prompt: LONG, [Key("prompt")];
    LastAssistantMessage: LONG, [Key("last_assistant_message")];
    StopHookActive: SHORT, [Key("stop_hook_active")];
    ToolName: SHORT, [Key("tool_name")];
    ToolUseId: SHORT, [Key("tool_use_id")];
    ToolInput: CaptureMode::Fingerprint, [Key("tool_input")];
    ToolInputCommand: PATH, [Key("tool_input"), Key("command")];
    ToolInputSkill: SHORT, [Key("tool_input"), Key("skill")];
    ServerSource: SHORT, [Key("mcp_server"), Key("source")];
    TaskStatus: SHORT, [Key("background_tasks"), Each, Key("status")];
    TaskDescription: SHORT, [Key("background_tasks"), Each, Key("description")];
    CallToolName: SHORT, [Key("tool_calls"), Each, Key("tool_name")];
    CallInputSkill: SHORT, [Key("tool_calls"), Each, Key("tool_input"), Key("skill")];
    CallResponse: SHORT, [Key("tool_calls"), Each, Key("tool_response")];
}

/// The mode in which the user is not asked.
const BYPASS: &str = "bypassPermissions";

/// The meaning of a PermissionRequest that no dialog follows: the agent continues.
const UNASKED: EventKind = EventKind::Notified { kind: NotificationKind::Other };

/// The reader of a payload that arrives in chunks.
pub struct HookReader(JsonScanner);

/// A whole payload, not yet interpreted.
#[derive(Debug)]
pub struct HookPayload(Vec<Capture>);

impl HookReader {
    #[expect(clippy::new_without_default, reason = "a reader that was not asked for has no use")]
    pub fn new() -> HookReader {
        HookReader(JsonScanner::new(FIELDS))
    }

    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), MalformedJson> {
        self.0.feed(chunk)
    }

    pub fn finish(self) -> Result<HookPayload, MalformedJson> {
        self.0.finish().map(HookPayload)
    }
}

/// The facts of a hook call that are not in its payload.
#[derive(Debug, Clone)]
pub struct CallContext {
    pub agent: Agent,
    pub at: Timestamp,
    pub process: ProcessKey,
    pub host: RunEnvironment,
}

/// Why a JSON payload is no event for Turnbridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unusable {
    /// An event that Turnbridge does not register; no error.
    OtherEvent,
    /// `hook_event_name` or `session_id` is missing, of the wrong type, or unsafe.
    Invalid(&'static str),
}

/// Returns the event of a payload, and the names of optional fields with wrong values.
pub fn interpret(
    payload: HookPayload,
    context: CallContext,
) -> Result<(Event, Vec<&'static str>), Unusable> {
    let mut fields = HookFields { captures: payload.0, problems: Vec::new() };
    let name = fields.text(Wanted::EventName).ok_or(Unusable::Invalid("hook_event_name"))?;
    let name = HookEventName::parse(&name, context.agent).ok_or(Unusable::OtherEvent)?;
    let session_id = fields
        .text(Wanted::SessionId)
        .and_then(|id| SessionId::parse(&id))
        .ok_or(Unusable::Invalid("session_id"))?;
    let facts = EventFacts {
        cwd: fields.text(Wanted::Cwd),
        transcript_path: fields.text(Wanted::TranscriptPath),
        permission_mode: fields.text(Wanted::PermissionMode),
        prompt_id: fields.text(match context.agent.turn_id_field() {
            TurnIdField::PromptId => Wanted::PromptId,
            TurnIdField::TurnId => Wanted::TurnId,
        }),
        model: fields.text(Wanted::Model),
    };
    let kind = event_kind(name, &mut fields, &context, &facts);
    let event = Event {
        session: SessionKey::new(context.agent, session_id),
        at: context.at,
        process: context.process,
        name: name.as_str().to_owned(),
        agent_id: fields.text(Wanted::AgentId),
        facts,
        host: Some(context.host),
        kind,
    };
    Ok((event, fields.problems))
}

/// Returns whether the event is a permission request whose reviewer the payload omits: a dialog
/// follows only if the user decides.
pub fn needs_reviewer(event: &Event) -> bool {
    event.session.agent.omits_the_reviewer()
        && event.name == HookEventName::PermissionRequest.as_str()
        && matches!(event.kind, EventKind::DialogOpened { .. })
}

/// Returns the event of a request about which `reviewer` decides: a dialog opens only for the user.
pub fn reviewed_by(event: Event, reviewer: Option<&str>) -> Event {
    match reviewer {
        Some(reviewer) if reviewer != "user" && needs_reviewer(&event) => {
            Event { kind: UNASKED, ..event }
        }
        _ => event,
    }
}

fn event_kind(
    name: HookEventName,
    fields: &mut HookFields,
    context: &CallContext,
    facts: &EventFacts,
) -> EventKind {
    let &CallContext { at, agent, .. } = context;
    let (prompt_id, mode) = (facts.prompt_id.as_deref(), facts.permission_mode.as_deref());
    match name {
        HookEventName::SessionStart => EventKind::SessionStarted {
            source: match fields.text(Wanted::Source).as_deref() {
                Some("compact") => SessionSource::Compact,
                _ => SessionSource::Fresh,
            },
        },
        HookEventName::UserPromptSubmit => {
            EventKind::PromptSubmitted { prompt: fields.text(Wanted::Prompt).unwrap_or_default() }
        }
        HookEventName::PreToolUse => EventKind::ToolStarting {
            call: fields.tool_call(agent),
            skill: fields.text(Wanted::ToolInputSkill),
            server: fields.text(Wanted::ServerSource),
        },
        HookEventName::PostToolUse | HookEventName::PostToolUseFailure => {
            let call = fields.tool_call(agent);
            let skill = fields.text(Wanted::ToolInputSkill);
            let outcome = if name == HookEventName::PostToolUse {
                Some(SpeakOutcome::Spoken)
            } else {
                SpeakOutcome::of_error(&fields.text(Wanted::Error).unwrap_or_default())
            };
            let outcome = outcome.filter(|_| is_speak_tool(&call.tool, skill.as_deref()));
            let speak =
                |outcome| SpeakCall { at, prompt_id: prompt_id.map(str::to_owned), outcome };
            EventKind::ToolEnded { call, speak: outcome.map(speak) }
        }
        HookEventName::PostToolBatch => {
            EventKind::ToolBatchEnded { speaks: fields.refused_speaks(at, prompt_id) }
        }
        // `claude -p` asks no user: it refuses a request that no hook allows.
        HookEventName::PermissionRequest if context.host.is_run_by_sdk() => UNASKED,
        HookEventName::PermissionRequest
            if agent.asks_hooks_alone_when_bypassing() && mode == Some(BYPASS) =>
        {
            UNASKED
        }
        HookEventName::PermissionRequest => {
            EventKind::DialogOpened { call: Some(fields.tool_call(agent)) }
        }
        HookEventName::PermissionDenied => {
            EventKind::DialogAnswered { call: Some(fields.tool_call(agent)) }
        }
        HookEventName::Elicitation => EventKind::DialogOpened { call: None },
        HookEventName::ElicitationResult => EventKind::DialogAnswered { call: None },
        HookEventName::Notification => EventKind::Notified {
            kind: match fields.text(Wanted::NotificationType).as_deref() {
                Some(
                    "permission_prompt"
                    | "elicitation_dialog"
                    | "elicitation_url_dialog"
                    | "agent_needs_input"
                    | "worker_permission_prompt",
                ) => NotificationKind::DialogOpen,
                Some("idle_prompt") => NotificationKind::Idle,
                _ => NotificationKind::Other,
            },
        },
        HookEventName::Stop => EventKind::TurnEnded {
            answer: fields.text(Wanted::LastAssistantMessage),
            background_tasks: fields.running_tasks(),
            stop_hook_active: fields.flag(Wanted::StopHookActive),
        },
        HookEventName::StopFailure => EventKind::TurnFailed {
            error: fields.text(Wanted::Error).unwrap_or_else(|| "unknown".to_owned()),
            answer: fields.text(Wanted::LastAssistantMessage),
        },
        HookEventName::SubagentStart => EventKind::SubagentStarted,
        HookEventName::SubagentStop => EventKind::SubagentEnded,
        HookEventName::Interrupt => EventKind::Interrupted,
        HookEventName::SessionEnd => EventKind::RunEnded {
            reason: fields.text(Wanted::Reason).unwrap_or_else(|| "other".to_owned()),
        },
    }
}

struct HookFields {
    captures: Vec<Capture>,
    problems: Vec<&'static str>,
}

impl HookFields {
    /// Returns the last one, which counts, as with every JSON parser that Claude uses.
    fn last(&mut self, wanted: Wanted) -> Option<FoundValue> {
        let is_it = |capture: &Capture| capture.field == wanted as usize;
        let position = self.captures.iter().rposition(is_it)?;
        Some(std::mem::replace(&mut self.captures[position].found, FoundValue::Null))
    }

    fn text(&mut self, wanted: Wanted) -> Option<String> {
        match self.last(wanted)? {
            FoundValue::Text { text, whole } => {
                if !whole {
                    self.problems.push(name_of(wanted));
                }
                Some(text)
            }
            FoundValue::Null => None,
            FoundValue::Bool(_)
            | FoundValue::Number(_)
            | FoundValue::Container
            | FoundValue::Fingerprint(_) => {
                self.problems.push(name_of(wanted));
                None
            }
        }
    }

    fn tool_call(&mut self, agent: Agent) -> ToolCall {
        let whole = self.last(Wanted::ToolInput);
        let command =
            self.last(Wanted::ToolInputCommand).filter(|_| agent.adds_a_reason_to_requests());
        let input = match (command, whole) {
            (Some(FoundValue::Text { text, .. }), _) => xxh3_64(text.as_bytes()),
            (_, Some(FoundValue::Fingerprint(fingerprint))) => fingerprint,
            _ => 0,
        };
        ToolCall {
            tool: self.text(Wanted::ToolName).unwrap_or_default(),
            id: self.text(Wanted::ToolUseId),
            input,
        }
    }

    fn flag(&mut self, wanted: Wanted) -> bool {
        match self.last(wanted) {
            Some(FoundValue::Bool(flag)) => flag,
            None | Some(FoundValue::Null) => false,
            Some(_) => {
                self.problems.push(name_of(wanted));
                false
            }
        }
    }

    fn each(&self, wanted: Wanted, element: u32) -> Option<&str> {
        self.captures.iter().rev().find_map(|capture| match &capture.found {
            FoundValue::Text { text, .. }
                if capture.field == wanted as usize && capture.element == element =>
            {
                Some(text.as_str())
            }
            _ => None,
        })
    }

    fn elements(&self, wanted: Wanted) -> Vec<u32> {
        let is_it = |capture: &&Capture| capture.field == wanted as usize;
        self.captures.iter().filter(is_it).map(|capture| capture.element).collect()
    }

    fn running_tasks(&self) -> Vec<String> {
        let running = |element: &u32| self.each(Wanted::TaskStatus, *element) == Some("running");
        let describe = |element: u32| {
            self.each(Wanted::TaskDescription, element).unwrap_or("background task").to_owned()
        };
        self.elements(Wanted::TaskStatus).into_iter().filter(running).map(describe).collect()
    }

    /// Returns the speak calls of the batch. Calls that ran had their own event; the caller keeps
    /// these only if there was none.
    fn refused_speaks(&self, at: Timestamp, prompt_id: Option<&str>) -> Vec<SpeakCall> {
        let is_speak = |element: &u32| {
            let tool = self.each(Wanted::CallToolName, *element).unwrap_or_default();
            is_speak_tool(tool, self.each(Wanted::CallInputSkill, *element))
        };
        let refused = |element| {
            let response = self.each(Wanted::CallResponse, element).unwrap_or_default();
            SpeakOutcome::of_error(response).map(|_| SpeakCall {
                at,
                prompt_id: prompt_id.map(str::to_owned),
                outcome: SpeakOutcome::Refused,
            })
        };
        let calls = self.elements(Wanted::CallToolName).into_iter();
        calls.filter(is_speak).filter_map(refused).collect()
    }
}

fn name_of(wanted: Wanted) -> &'static str {
    let path = FIELDS[wanted as usize].path;
    path.iter()
        .rev()
        .find_map(|step| match step {
            PathStep::Key(name) => Some(*name),
            PathStep::Each => None,
        })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
