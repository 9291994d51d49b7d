//! Reads and writes `panes.json`: the reported launches in panes, and the Codex threads seen.
//! Unreadable entries are skipped: a pane without an entry is bound again by its next launch.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::agents::codex::codex_binding::{Bindings, CodexPane, ExpectedThread, Marker};
use crate::ids::{Agent, SessionId};
use crate::terminals::pane_id::PaneId;
use crate::terminals::panes::{LastLaunch, Panes};
use crate::timestamp::Timestamp;

#[derive(Debug, Default, Serialize, Deserialize)]
struct PanesFile {
    version: u32,
    #[serde(default)]
    panes: Vec<PaneEntry>,
    /// The Codex threads that have been seen. Without this list they would be assigned to another
    /// pane.
    #[serde(default)]
    seen: Vec<SeenThread>,
}

#[derive(Debug, Serialize, Deserialize)]
struct PaneEntry {
    id: String,
    #[serde(rename = "tool")]
    agent: String,
    launched_at: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output_stopped_at: Option<String>,
    /// The Codex thread that it shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    thread: Option<String>,
    /// It waits for a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    marker: Option<MarkerEntry>,
}

#[derive(Debug, Serialize, Deserialize)]
struct MarkerEntry {
    at: String,
    folder: PathBuf,
    /// `resume` without a name: it may continue an old thread.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    may_be_old: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct SeenThread {
    thread: String,
    began_at: String,
}

/// Reads the file. Unreadable entries are omitted; an unreadable file is empty.
pub fn read_panes(bytes: &[u8]) -> Panes {
    let file: PanesFile = serde_json::from_slice(bytes).unwrap_or_default();
    if file.version != 1 {
        return Panes::default();
    }
    let mut launches = BTreeMap::new();
    let mut codex = Vec::new();
    for entry in file.panes {
        let Some(id) = PaneId::parse(&entry.id) else { continue };
        codex.extend(codex_pane(&entry).map(|pane| (id.clone(), pane)));
        launches.extend(launched(entry).map(|launched| (id, launched)));
    }
    let seen = file.seen.iter().filter_map(|seen| {
        Some((SessionId::parse(&seen.thread)?, Timestamp::parse(&seen.began_at)?))
    });
    Panes { codex: Bindings::restore(codex, seen), launches }
}

pub fn write_panes(panes: &Panes) -> Vec<u8> {
    let states: BTreeMap<_, _> = panes.codex.panes().collect();
    let entry = |(id, launched): (&PaneId, &LastLaunch)| {
        let (thread, marker) = match states.get(id) {
            Some(CodexPane::Bound(thread)) => (Some(thread.as_str().to_owned()), None),
            // A folder that is no UTF-8 cannot be written, and no rollout could name it.
            Some(CodexPane::Waiting(marker)) if marker.folder.to_str().is_some() => {
                (None, Some(marker_entry(marker)))
            }
            _ => (None, None),
        };
        PaneEntry {
            id: id.as_str().to_owned(),
            agent: launched.agent.as_str().to_owned(),
            launched_at: launched.at.to_string(),
            env: launched.env.clone(),
            output_stopped_at: launched.output_stopped_at.map(|at| at.to_string()),
            thread,
            marker,
        }
    };
    let seen = |(thread, began_at): (&SessionId, Timestamp)| SeenThread {
        thread: thread.as_str().to_owned(),
        began_at: began_at.to_string(),
    };
    let file = PanesFile {
        version: 1,
        panes: panes.launches.iter().map(entry).collect(),
        seen: panes.codex.seen().map(seen).collect(),
    };
    serde_json::to_vec(&file).unwrap_or_default()
}

fn launched(entry: PaneEntry) -> Option<LastLaunch> {
    Some(LastLaunch {
        agent: Agent::parse(&entry.agent)?,
        at: Timestamp::parse(&entry.launched_at)?,
        env: entry.env,
        output_stopped_at: entry.output_stopped_at.as_deref().and_then(Timestamp::parse),
    })
}

fn codex_pane(entry: &PaneEntry) -> Option<CodexPane> {
    if let Some(thread) = entry.thread.as_deref().and_then(SessionId::parse) {
        return Some(CodexPane::Bound(thread));
    }
    let marker = entry.marker.as_ref()?;
    let expected = if marker.may_be_old {
        ExpectedThread::PerhapsNewThread
    } else {
        ExpectedThread::NewThread
    };
    let at = Timestamp::parse(&marker.at)?;
    Some(CodexPane::Waiting(Marker { expected, at, folder: marker.folder.clone() }))
}

fn marker_entry(marker: &Marker) -> MarkerEntry {
    MarkerEntry {
        at: marker.at.to_string(),
        folder: marker.folder.clone(),
        may_be_old: marker.expected == ExpectedThread::PerhapsNewThread,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::codex::codex_binding::{BindingInput, Rollout, ThreadOrigin};
    use crate::terminals::panes::PaneLaunch;

    #[test]
    fn kt_73_what_is_kept_of_panes_reads_back_as_it_was() {
        let mut panes = Panes::default();
        let thread = "0199a213-81c0-7800-8aa1-bbab2a035a53";
        for (pane, agent, line, at) in [
            ("kitty:1", Agent::Codex, format!("codex resume {thread}"), 1_000),
            ("kitty:2", Agent::Codex, "codex".to_owned(), 2_000),
            ("kitty:3", Agent::Claude, "claude".to_owned(), 3_000),
            ("kitty:4", Agent::Codex, "codex resume".to_owned(), 4_000),
        ] {
            let launch = PaneLaunch {
                agent,
                argv: line.split(' ').collect(),
                cwd: "/home/user".to_owned(),
                env: [("KITTY_WINDOW_ID".to_owned(), "1".to_owned())].into(),
                at: Timestamp::from_millis(at),
            };
            panes.launch(&PaneId::new(pane), launch);
        }
        panes.codex.apply(BindingInput::RolloutAppeared(Rollout {
            thread: SessionId::parse(thread).unwrap(),
            origin: ThreadOrigin::Interface,
            cwd: Some("/elsewhere".to_owned()),
            created_at: Timestamp::from_millis(500),
        }));
        let stopped = panes.launches.get_mut(&PaneId::new("kitty:3")).unwrap();
        stopped.output_stopped_at = Some(Timestamp::from_millis(9_000));
        let bytes = write_panes(&panes);
        assert_eq!(read_panes(&bytes), panes, "{}", String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn noise_is_no_panes_and_costs_no_others() {
        for noise in ["", "{", "[]", "{\"version\":2,\"panes\":[]}", "{\"version\":1,\"panes\":7}"]
        {
            assert_eq!(read_panes(noise.as_bytes()), Panes::default(), "{noise}");
        }
        let entry = |id: &str| {
            format!(
                r#"{{"id":"{id}","tool":"codex","launched_at":"2026-01-01T00:00:00Z","thread":"../x"}}"#
            )
        };
        let text =
            format!(r#"{{"version":1,"panes":[{},{}],"seen":[]}}"#, entry("-x"), entry("kitty:1"));
        let panes = read_panes(text.as_bytes());
        assert_eq!(panes.launches.len(), 1);
        assert_eq!(panes.codex, Bindings::default());
    }
}
