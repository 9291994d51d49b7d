//! Reads sessions in their current state: their files, and the changes that no hook reports. It
//! needs no daemon and writes no file.

use anyhow::{Context, Result};
use turnbridge_core::ids::SessionKey;
use turnbridge_core::session::Session;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::paths::{StatePaths, claude_config_dir};
use turnbridge_store::state::session_store;

use super::observed_events::with_observed_events;
use crate::failure::hinted;

/// Returns every session, the one that changed longest ago first.
pub fn all_sessions(paths: &StatePaths, now: Timestamp) -> Result<Vec<Session>> {
    Ok(as_they_are(reading(paths, session_store::read_all(paths))?, now))
}

/// Returns the sessions that are not stopped according to their files, and the number of the
/// others.
pub fn open_sessions(paths: &StatePaths, now: Timestamp) -> Result<(Vec<Session>, usize)> {
    let open = reading(paths, session_store::read_open(paths))?;
    Ok((as_they_are(open.sessions, now), open.stopped))
}

/// Returns `None` if there is no such session.
pub fn current_session(paths: &StatePaths, key: &SessionKey, now: Timestamp) -> Option<Session> {
    let session = session_store::read(paths, key)?;
    Some(with_observed_events(session, claude_config_dir().as_deref(), now))
}

/// Returns the single session whose id is or begins with `id`.
pub fn find_session(paths: &StatePaths, id: &str, now: Timestamp) -> Result<Session> {
    let sessions = reading(paths, session_store::read_matching(paths, id))?;
    find(&as_they_are(sessions, now), id).cloned()
}

fn reading<T>(paths: &StatePaths, read: std::io::Result<T>) -> Result<T> {
    read.with_context(|| format!("could not read `{}`", paths.sessions_dir().display()))
}

fn as_they_are(sessions: Vec<Session>, now: Timestamp) -> Vec<Session> {
    let config_dir = claude_config_dir();
    let observed = |session| with_observed_events(session, config_dir.as_deref(), now);
    let mut sessions: Vec<_> = sessions.into_iter().map(observed).collect();
    sessions.sort_by(|a, b| (a.since(), &a.key.id).cmp(&(b.since(), &b.key.id)));
    sessions
}

fn find<'a>(sessions: &'a [Session], id: &str) -> Result<&'a Session> {
    let exact = sessions.iter().find(|session| session.key.id.as_str() == id);
    let matching: Vec<_> =
        sessions.iter().filter(|session| session.key.id.as_str().starts_with(id)).collect();
    match (exact, matching.as_slice()) {
        (Some(session), _) => Ok(session),
        (None, [session]) => Ok(session),
        (None, []) => Err(hinted(
            format!("there is no session `{id}`"),
            "run `turnbridge sessions --all --json` to see every id",
        )),
        (None, several) => {
            let ids: Vec<_> =
                several.iter().take(5).map(|session| session.key.id.as_str()).collect();
            Err(hinted(
                format!("`{id}` is the beginning of {} sessions", several.len()),
                format!("give more of the id: {}", ids.join(", ")),
            ))
        }
    }
}
