//! Reads the Stop gate's last decisions about the sessions of one folder from `hooks.log`.

use std::fmt;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use turnbridge_core::ids::{Agent, SessionId, SessionKey};
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::session_store;

/// The number of decisions that are shown.
const SHOWN: usize = 5;

/// One past decision.
pub struct PastDecision {
    at: String,
    session_id: String,
    rule: String,
    because: String,
}

impl PastDecision {
    fn read(line: &str) -> Option<PastDecision> {
        let entry: Value = serde_json::from_str(line).ok()?;
        let field = |name: &str| entry[name].as_str().map(str::to_owned);
        Some(PastDecision {
            at: field("ts")?,
            session_id: field("session_id")?,
            rule: field("rule")?,
            because: field("because")?,
        })
    }

    pub fn json(&self) -> Value {
        let PastDecision { at, session_id, rule, because } = self;
        json!({"at": at, "session_id": session_id, "rule": rule, "because": because})
    }
}

impl fmt::Display for PastDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PastDecision { at, session_id, rule, because } = self;
        let what = match rule.as_str() {
            "not_spoken" => "held: ",
            _ => "ended: ",
        };
        let id = session_id.get(..8).unwrap_or(session_id);
        write!(f, "{at} {id} {what}{rule}, {because}")
    }
}

/// Returns the last decisions about sessions of this folder, newest last.
pub fn last_decisions(folder: &Path) -> Vec<PastDecision> {
    let Some(paths) = StatePaths::from_env() else { return Vec::new() };
    let log = fs::read(paths.hooks_log()).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let is_of_folder = |past: &PastDecision| {
        let id = SessionId::parse(&past.session_id);
        let session = id.and_then(|id| {
            session_store::read(&paths, &SessionKey::new(Agent::Claude, id.clone()))
        });
        session.is_some_and(|session| session.project_dir().map(Path::new) == Some(folder))
    };
    let newest = log.lines().rev().filter_map(PastDecision::read).filter(is_of_folder).take(SHOWN);
    let mut newest: Vec<_> = newest.collect();
    newest.reverse();
    newest
}
