//! Formats sessions as JSON, for `turnbridge sessions`, `sessions show` and `watch`. The schemas
//! are `sessions`, `sessions-show` and `watch` in docs/schemas/.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;
use turnbridge_core::session::turn_wire::turn_json;
use turnbridge_core::session::{Detail, Run, Session};
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::turn_store::read_turns;

#[derive(Debug, Serialize)]
struct SessionListJson<'a> {
    version: u32,
    sessions: Vec<SessionJson<'a>>,
}

#[derive(Debug, Serialize)]
struct SessionDetailJson<'a, Turn> {
    version: u32,
    session: SessionJson<'a>,
    runs: Vec<RunJson<'a>>,
    turns: Vec<Turn>,
}

/// The JSON form of a session.
#[derive(Debug, Serialize)]
pub struct SessionJson<'a> {
    #[serde(rename = "tool")]
    agent: &'static str,
    session_id: &'a str,
    state: &'static str,
    detail: Option<&'static str>,
    error: Option<&'a str>,
    project: Option<&'a str>,
    project_dir: Option<&'a str>,
    cwd: Option<&'a str>,
    pid: Option<u32>,
    /// The time of the last change of state or detail.
    updated_at: String,
    created_at: String,
    last_event: Option<&'a str>,
    last_event_at: Option<String>,
    prompt: Option<&'a str>,
    prompt_id: Option<&'a str>,
    waiting_for: Vec<&'a str>,
    background_tasks: &'a [String],
    permission_mode: Option<&'a str>,
    model: Option<&'a str>,
    transcript_path: Option<&'a str>,
    interactive: Option<bool>,
    live_runs: usize,
}

#[derive(Debug, Serialize)]
struct RunJson<'a> {
    pid: u32,
    state: &'static str,
    detail: Option<&'static str>,
    error: Option<&'a str>,
    started_at: String,
    ended_at: Option<String>,
    end_reason: Option<&'a str>,
    last_event: &'a str,
    last_event_at: String,
    origin: &'a str,
    entrypoint: Option<&'a str>,
    plugin_root: Option<&'a str>,
    by_plugin_dir: bool,
    env: &'a BTreeMap<String, String>,
}

pub fn list<'a>(sessions: impl Iterator<Item = &'a Session>) -> Result<String> {
    let list = SessionListJson { version: 1, sessions: sessions.map(session_json).collect() };
    Ok(serde_json::to_string(&list)?)
}

/// Formats one session with its runs and all its turns.
pub fn one(session: &Session, paths: &StatePaths) -> Result<String> {
    let one = SessionDetailJson {
        version: 1,
        session: session_json(session),
        runs: session.runs.iter().map(run_json).collect(),
        turns: read_turns(paths, &session.key).iter().map(turn_json).collect(),
    };
    Ok(serde_json::to_string_pretty(&one)?)
}

pub fn session_json(session: &Session) -> SessionJson<'_> {
    let run = session.current_run();
    let pid = run.map(|run| run.process.pid).filter(|pid| *pid != 0);
    SessionJson {
        agent: session.key.agent.as_str(),
        session_id: session.key.id.as_str(),
        state: session.state().as_str(),
        detail: session.detail().map(Detail::as_str),
        error: session.detail().and_then(Detail::error),
        project: session.project(),
        project_dir: session.project_dir(),
        cwd: session.cwd.as_deref(),
        pid,
        updated_at: session.since().to_string(),
        created_at: session.created_at.to_string(),
        last_event: run.map(|run| run.last_event.as_str()),
        last_event_at: run.map(|run| run.last_at.to_string()),
        prompt: run.and_then(|run| run.turn.prompt.as_ref()).map(|prompt| prompt.text.as_str()),
        prompt_id: run.and_then(|run| run.turn.prompt_id.as_deref()),
        waiting_for: run.map_or_else(Vec::new, waiting_for),
        background_tasks: run.map_or(&[], |run| run.background_tasks.as_slice()),
        permission_mode: session.permission_mode.as_deref(),
        model: session.model.as_deref(),
        transcript_path: session.transcript_path.as_deref(),
        interactive: run
            .and_then(|run| run.host.entrypoint.as_ref().map(|_| run.host.is_interactive())),
        live_runs: session.live_runs().count(),
    }
}

/// Returns the tools whose dialogs are open.
pub fn waiting_for(run: &Run) -> Vec<&str> {
    run.waits.iter().filter_map(|wait| wait.tool.as_deref()).collect()
}

fn run_json(run: &Run) -> RunJson<'_> {
    let plugin = run.host.plugin.as_ref();
    RunJson {
        pid: run.process.pid,
        state: run.state().as_str(),
        detail: run.detail().map(Detail::as_str),
        error: run.detail().and_then(Detail::error),
        started_at: run.started_at.to_string(),
        ended_at: run.ended.as_ref().map(|ended| ended.at.to_string()),
        end_reason: run.ended.as_ref().map(|ended| ended.reason.as_str()),
        last_event: &run.last_event,
        last_event_at: run.last_at.to_string(),
        origin: &run.host.origin,
        entrypoint: run.host.entrypoint.as_deref(),
        plugin_root: plugin.map(|plugin| plugin.root.as_str()),
        by_plugin_dir: plugin.is_some_and(|plugin| plugin.by_plugin_dir),
        env: &run.host.env,
    }
}
