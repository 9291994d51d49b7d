//! Reads and writes the file of a session, `sessions/<tool>-<id>.json`. Every hook rewrites it, so
//! it is small.
//!
//! Every version of Turnbridge reads it, so unknown fields are skipped and most fields have
//! defaults. A run with a time or an activity that cannot be parsed is dropped; most other values
//! that cannot be parsed count as absent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::gate::speak::{SpeakCall, SpeakOutcome};
use crate::ids::SessionKey;
use crate::session::duplicate_events::SeenEvent;
use crate::session::event::ProcessKey;
use crate::session::{
    Activity, Addition, Detail, OpenCall, Plugin, Prompt, Run, RunEnvironment, Session, SessionEnd,
    Turn, Wait,
};
use crate::timestamp::Timestamp;
use crate::version_wire::VERSION;

const WORKING: &str = "working";
const COMPLETED: &str = "completed";

#[derive(Debug, Serialize, Deserialize)]
struct SessionFile {
    version: u32,
    #[serde(rename = "tool")]
    agent: String,
    session_id: String,
    /// For readers that need only the state; derived from the runs.
    #[serde(default)]
    state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(default)]
    updated_at: String,
    #[serde(default)]
    created_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    transcript_path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    permission_mode: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default)]
    sequence: u64,
    #[serde(default)]
    runs: Vec<RunFile>,
    /// `<payload hash> <origin>`, oldest first.
    #[serde(default)]
    claims: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct RunFile {
    pid: u32,
    start: u64,
    started_at: String,
    /// `working` or `completed`.
    activity: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    waits: Vec<WaitFile>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    calls: Vec<CallFile>,
    since: String,
    last_event: String,
    last_at: String,
    #[serde(default)]
    sequence: u64,
    #[serde(default)]
    turn: TurnFile,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    background_tasks: Vec<String>,
    #[serde(default)]
    origin: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entrypoint: Option<String>,
    #[serde(default)]
    interactive: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project_dir: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    config_dir: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plugin_root: Option<String>,
    #[serde(default)]
    by_plugin_dir: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plugin_gate: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended: Option<EndedFile>,
}

#[derive(Debug, Serialize, Deserialize)]
struct WaitFile {
    opened_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent_id: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct CallFile {
    id: String,
    tool: String,
    input: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent_id: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct AdditionFile {
    prompt: String,
    /// Whether `prompt` is only the beginning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_longer: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_read: bool,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct TurnFile {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    /// Whether the file beside this one has the whole prompt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    prompt_is_longer: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    additions: Vec<AdditionFile>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    speaks: Vec<SpeakFile>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_reminded: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_over: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct SpeakFile {
    at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt_id: Option<String>,
    outcome: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct EndedFile {
    at: String,
    reason: String,
}

pub fn write_session(session: &Session) -> Vec<u8> {
    let file = SessionFile {
        version: VERSION,
        agent: session.key.agent.as_str().to_owned(),
        session_id: session.key.id.as_str().to_owned(),
        state: session.state().as_str().to_owned(),
        detail: session.detail().map(|detail| detail.as_str().to_owned()),
        error: session.detail().and_then(Detail::error).map(str::to_owned),
        updated_at: session.since().to_string(),
        created_at: session.created_at.to_string(),
        cwd: session.cwd.clone(),
        transcript_path: session.transcript_path.clone(),
        permission_mode: session.permission_mode.clone(),
        model: session.model.clone(),
        sequence: session.sequence,
        runs: session.runs.iter().map(run_to_wire).collect(),
        claims: session.claims.iter().map(seen_event_to_wire).collect(),
    };
    // A struct of strings and numbers always serialises; an empty file would read as absent.
    serde_json::to_vec(&file).unwrap_or_default()
}

/// Returns whether the state in the first bytes of a session's file is `stopped`. The texts of the
/// user and the model come after these bytes.
pub fn is_stopped_in(head: &[u8]) -> bool {
    const KEY: &[u8] = b"\"state\":\"";
    let place = head.windows(KEY.len()).position(|window| window == KEY);
    place.is_some_and(|place| head[place + KEY.len()..].starts_with(b"stopped\""))
}

/// Reads a session. Returns `None` if the bytes are no session of this or an earlier version.
pub fn read_session(bytes: &[u8]) -> Option<Session> {
    let file: SessionFile = serde_json::from_slice(bytes).ok()?;
    if file.version > VERSION {
        return None;
    }
    Some(Session {
        key: SessionKey::of(&file.agent, &file.session_id)?,
        created_at: Timestamp::parse(&file.created_at).unwrap_or_default(),
        cwd: file.cwd,
        transcript_path: file.transcript_path,
        permission_mode: file.permission_mode,
        model: file.model,
        sequence: file.sequence,
        runs: file.runs.into_iter().filter_map(run_from_wire).collect(),
        claims: file.claims.iter().filter_map(|claim| seen_event_from_wire(claim)).collect(),
    })
}

fn run_to_wire(run: &Run) -> RunFile {
    let (activity, detail) = match &run.activity {
        Activity::Working => (WORKING, None),
        Activity::Completed(detail) => (COMPLETED, detail.as_ref()),
    };
    RunFile {
        pid: run.process.pid,
        start: run.process.start,
        started_at: run.started_at.to_string(),
        activity: activity.to_owned(),
        detail: detail.map(|detail| detail.as_str().to_owned()),
        error: detail.and_then(Detail::error).map(str::to_owned),
        waits: run.waits.iter().map(wait_to_wire).collect(),
        calls: run.calls.iter().map(call_to_wire).collect(),
        since: run.since.to_string(),
        last_event: run.last_event.clone(),
        last_at: run.last_at.to_string(),
        sequence: run.sequence,
        turn: turn_to_wire(&run.turn),
        background_tasks: run.background_tasks.clone(),
        origin: run.host.origin.clone(),
        entrypoint: run.host.entrypoint.clone(),
        interactive: run.host.is_interactive(),
        project_dir: run.host.project_dir.clone(),
        config_dir: run.host.config_dir.clone(),
        plugin_root: run.host.plugin.as_ref().map(|plugin| plugin.root.clone()),
        by_plugin_dir: run.host.plugin.as_ref().is_some_and(|plugin| plugin.by_plugin_dir),
        plugin_gate: run.host.plugin.as_ref().and_then(|plugin| plugin.gate.clone()),
        env: run.host.env.clone(),
        ended: run
            .ended
            .as_ref()
            .map(|ended| EndedFile { at: ended.at.to_string(), reason: ended.reason.clone() }),
    }
}

fn run_from_wire(file: RunFile) -> Option<Run> {
    let detail = file.detail.as_deref().and_then(|word| Detail::of(word, file.error));
    Some(Run {
        process: ProcessKey { pid: file.pid, start: file.start },
        started_at: Timestamp::parse(&file.started_at)?,
        activity: match file.activity.as_str() {
            WORKING => Activity::Working,
            COMPLETED => Activity::Completed(detail),
            _ => return None,
        },
        waits: file.waits.into_iter().map(wait_from_wire).collect(),
        calls: file.calls.into_iter().map(call_from_wire).collect(),
        since: Timestamp::parse(&file.since)?,
        last_event: file.last_event,
        last_at: Timestamp::parse(&file.last_at)?,
        sequence: file.sequence,
        turn: turn_from_wire(file.turn),
        background_tasks: file.background_tasks,
        host: RunEnvironment {
            origin: file.origin,
            entrypoint: file.entrypoint,
            project_dir: file.project_dir,
            config_dir: file.config_dir,
            plugin: file.plugin_root.map(|root| Plugin {
                root,
                by_plugin_dir: file.by_plugin_dir,
                gate: file.plugin_gate,
            }),
            env: file.env,
        },
        ended: match file.ended {
            Some(ended) => {
                Some(SessionEnd { at: Timestamp::parse(&ended.at)?, reason: ended.reason })
            }
            None => None,
        },
    })
}

fn wait_to_wire(wait: &Wait) -> WaitFile {
    let Wait { call_id, tool, agent_id, opened_at } = wait.clone();
    WaitFile { call_id, tool, agent_id, opened_at: opened_at.to_string() }
}

fn wait_from_wire(file: WaitFile) -> Wait {
    let opened_at = Timestamp::parse(&file.opened_at).unwrap_or_default();
    Wait { call_id: file.call_id, tool: file.tool, agent_id: file.agent_id, opened_at }
}

fn call_to_wire(call: &OpenCall) -> CallFile {
    let OpenCall { id, tool, input, agent_id } = call.clone();
    CallFile { id, tool, input, agent_id }
}

fn call_from_wire(file: CallFile) -> OpenCall {
    OpenCall { id: file.id, tool: file.tool, input: file.input, agent_id: file.agent_id }
}

fn turn_to_wire(turn: &Turn) -> TurnFile {
    let speak = |call: &SpeakCall| SpeakFile {
        at: call.at.to_string(),
        prompt_id: call.prompt_id.clone(),
        outcome: call.outcome.as_str().to_owned(),
    };
    TurnFile {
        prompt_id: turn.prompt_id.clone(),
        prompt: turn.prompt.as_ref().map(|prompt| prompt.text.clone()),
        prompt_is_longer: turn.prompt.as_ref().is_some_and(|prompt| !prompt.whole),
        additions: turn.additions.iter().map(addition_to_wire).collect(),
        started_at: turn.started_at.map(|at| at.to_string()),
        speaks: turn.speaks.iter().map(speak).collect(),
        is_reminded: turn.is_reminded,
        is_over: turn.is_over,
    }
}

fn turn_from_wire(file: TurnFile) -> Turn {
    let speak = |call: SpeakFile| {
        Some(SpeakCall {
            at: Timestamp::parse(&call.at)?,
            prompt_id: call.prompt_id,
            outcome: SpeakOutcome::parse(&call.outcome)?,
        })
    };
    Turn {
        prompt_id: file.prompt_id,
        prompt: file.prompt.map(|text| Prompt { text, whole: !file.prompt_is_longer }),
        additions: file.additions.into_iter().map(addition_from_wire).collect(),
        started_at: file.started_at.as_deref().and_then(Timestamp::parse),
        speaks: file.speaks.into_iter().filter_map(speak).collect(),
        is_reminded: file.is_reminded,
        is_over: file.is_over,
    }
}

fn addition_to_wire(addition: &Addition) -> AdditionFile {
    AdditionFile {
        prompt: addition.prompt.text.clone(),
        is_longer: !addition.prompt.whole,
        is_read: addition.is_read,
    }
}

fn addition_from_wire(file: AdditionFile) -> Addition {
    let prompt = Prompt { text: file.prompt, whole: !file.is_longer };
    Addition { prompt, is_read: file.is_read }
}

fn seen_event_to_wire(claim: &SeenEvent) -> String {
    format!("{:016x} {}", claim.payload, claim.origin)
}

fn seen_event_from_wire(text: &str) -> Option<SeenEvent> {
    let (payload, origin) = text.split_once(' ')?;
    let payload = u64::from_str_radix(payload, 16).ok()?;
    Some(SeenEvent { payload, origin: origin.to_owned() })
}

#[cfg(test)]
mod tests;
