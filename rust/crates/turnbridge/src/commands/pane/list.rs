//! `turnbridge pane list`: prints every pane that shows a session, or in which an agent was
//! launched.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use turnbridge_core::ids::{Agent, SessionId};
use turnbridge_core::session::{Session, State};
use turnbridge_core::terminals::pane_id::PaneId;
use turnbridge_core::terminals::panes::{LastLaunch, Panes};
use turnbridge_store::clock;
use turnbridge_system::observe::current_sessions::all_sessions;

use crate::output;

/// List the panes that show a session
#[derive(Debug, Args)]
pub struct PaneListArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct PaneRow {
    pane: String,
    #[serde(rename = "tool")]
    agent: &'static str,
    /// `null` while it is not known.
    session_id: Option<String>,
    /// `null` while the session has no file.
    state: Option<&'static str>,
    /// Codex was launched, and its thread has not appeared yet.
    waiting: bool,
    launched_at: Option<String>,
    /// The time of the last output, if `pane scan --act` has recorded that the output stopped.
    output_stopped_at: Option<String>,
}

pub fn run(arguments: &PaneListArgs) -> Result<()> {
    let paths = super::super::state_paths()?;
    let panes = super::registry(&paths).settled()?;
    let rows = rows(&panes, &all_sessions(&paths, clock::now())?);
    let mut out = output::stdout();
    if arguments.json {
        let list = serde_json::json!({"version": 1, "panes": rows});
        writeln!(out, "{list}")?;
        return Ok(());
    }
    if rows.is_empty() {
        writeln!(out, "no pane shows a session")?;
    }
    for row in &rows {
        let session = match (&row.session_id, row.waiting) {
            (Some(id), _) => id.as_str(),
            (None, true) => "(its thread has not begun)",
            (None, false) => "-",
        };
        let state = row.state.unwrap_or("-");
        writeln!(out, "{}  {}  {session}  {state}", row.pane, row.agent)?;
    }
    // KT-85.
    if rows.iter().filter(|row| row.waiting).count() > 1 {
        writeln!(
            out,
            "which thread belongs to which of the waiting panes cannot be told for certain; \
             `codex resume ID` in a new tab shows the one you mean"
        )?;
    }
    Ok(())
}

fn rows(panes: &Panes, sessions: &[Session]) -> Vec<PaneRow> {
    let mut rows: Vec<PaneRow> = panes
        .bindings(sessions)
        .iter()
        .map(|binding| {
            let id = &binding.session_id;
            let is_it =
                |session: &&Session| session.key.agent == binding.agent && session.key.id == *id;
            let state = sessions.iter().find(is_it).map(Session::state);
            row(&binding.pane, binding.agent, panes, Some((id, state)))
        })
        .collect();
    let bare = panes
        .launches
        .iter()
        .filter(|(pane, _)| !panes.bindings(sessions).iter().any(|binding| binding.pane == **pane));
    rows.extend(bare.map(|(pane, launched)| row(pane, launched.agent, panes, None)));
    rows.sort_by(|one, other| one.pane.cmp(&other.pane));
    rows
}

fn row(
    pane: &PaneId,
    agent: Agent,
    panes: &Panes,
    session: Option<(&SessionId, Option<State>)>,
) -> PaneRow {
    let launched = panes.launches.get(pane);
    let stopped_at = launched.and_then(|launched: &LastLaunch| launched.output_stopped_at);
    PaneRow {
        pane: pane.to_string(),
        agent: agent.as_str(),
        session_id: session.map(|(id, _)| id.to_string()),
        state: session.and_then(|(_, state)| state).map(State::as_str),
        waiting: panes.codex.is_waiting(pane),
        launched_at: launched.map(|launched| launched.at.to_string()),
        output_stopped_at: stopped_at.map(|at| at.to_string()),
    }
}
