//! Stores the registry of the panes in which agents run (`panes.json`, KT-73), and ends the
//! sessions of a pane that is left. No hook writes it. `turnbridge_core::terminals::panes`
//! interprets it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use turnbridge_core::agents::codex::codex_binding::BindingInput;
use turnbridge_core::ids::SessionId;
use turnbridge_core::session::event::PaneEnd;
use turnbridge_core::terminals::pane_id::PaneId;
use turnbridge_core::terminals::pane_wire::{read_panes, write_panes};
use turnbridge_core::terminals::panes::{PaneLaunch, Panes};
use turnbridge_core::timestamp::Timestamp;
use turnbridge_core::version_wire::is_newer;

use crate::files::atomic_file::write_atomically;
use crate::files::bounded_file;
use crate::files::file_lock::FileLock;
use crate::foreign::codex_rollouts;
use crate::paths::StatePaths;
use crate::state::newer_files;
use crate::state::session_store;

/// The timeout of the lock. A shell waits for this process; the lock's holder needs a millisecond.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// The limit of this file: some hundred bytes, at times a few thousand, for each pane.
const LONGEST: u64 = 16 << 20;

/// The coarsest precision of file times: two seconds.
const COARSE: Duration = Duration::from_secs(2);

/// Returns the registry, without waiting for a lock.
pub fn read(paths: &StatePaths) -> Panes {
    read_panes(&bytes(paths))
}

fn bytes(paths: &StatePaths) -> Vec<u8> {
    bounded_file::read(&paths.panes_file(), LONGEST).unwrap_or_default()
}

/// Changes the registry, under its lock. Writes it only if it differs.
pub fn update<T>(paths: &StatePaths, change: impl FnOnce(&mut Panes) -> T) -> io::Result<T> {
    let _lock = FileLock::acquire(&paths.panes_lock(), LOCK_TIMEOUT)?;
    let bytes = bytes(paths);
    if is_newer(&bytes) {
        return Err(newer_files::error());
    }
    let before = read_panes(&bytes);
    let mut panes = before.clone();
    let result = change(&mut panes);
    if panes != before {
        write_atomically(&paths.panes_file(), &write_panes(&panes))?;
    }
    Ok(result)
}

/// Records that an agent is about to start in the pane, so the session that it showed has ended.
pub fn launch(
    paths: &StatePaths,
    homes: &[PathBuf],
    pane: &PaneId,
    launch: PaneLaunch,
) -> io::Result<LeftPane> {
    let left = end_shown(paths, homes, pane, PaneEnd::PromptReturned, launch.at)?;
    update(paths, |panes| panes.launch(pane, launch))?;
    Ok(left)
}

/// Records that the pane shows no agent any more: its session is stopped, and no longer bound.
pub fn leave(
    paths: &StatePaths,
    homes: &[PathBuf],
    pane: &PaneId,
    why: PaneEnd,
    at: Timestamp,
) -> io::Result<LeftPane> {
    // The sessions come first: after a kill in between, the next prompt repeats this call.
    let left = end_shown(paths, homes, pane, why, at)?;
    let panes = read(paths);
    if panes.launches.contains_key(pane) || panes.codex.panes().any(|(other, _)| other == pane) {
        update(paths, |panes| panes.leave(pane, why))?;
    }
    Ok(left)
}

/// The result of leaving a pane.
#[derive(Debug, Default)]
pub struct LeftPane {
    pub sessions: Vec<SessionId>,
    /// The problems that did not stop it.
    pub problems: Vec<String>,
}

fn end_shown(
    paths: &StatePaths,
    homes: &[PathBuf],
    pane: &PaneId,
    why: PaneEnd,
    at: Timestamp,
) -> io::Result<LeftPane> {
    let panes = settle(paths, homes)?;
    let sessions = session_store::read_all(paths)?;
    let mut left = LeftPane::default();
    for event in panes.departures(&sessions, pane, why, at) {
        match session_store::update(Some(paths), &event, None) {
            Ok(updated) => {
                left.problems.extend(updated.problems);
                left.sessions.push(event.session.id);
            }
            Err(problem) => left.problems.push(format!("{}: {problem}", event.session.id)),
        }
    }
    Ok(left)
}

/// Assigns the threads of Codex that have begun since to the panes that wait. If no pane waits, it
/// only reads the registry.
pub fn settle(paths: &StatePaths, homes: &[PathBuf]) -> io::Result<Panes> {
    let panes = read(paths);
    let mut found: Vec<PathBuf> = Vec::new();
    if let Some(at) = panes.codex.oldest_marker() {
        let since = system_time(at).checked_sub(COARSE).unwrap_or(UNIX_EPOCH);
        found.extend(homes.iter().flat_map(|home| codex_rollouts::written_since(home, since)));
    }
    for thread in panes.codex.unseen_threads() {
        found.extend(homes.iter().find_map(|home| codex_rollouts::find(home, thread.as_str())));
    }
    see(paths, panes, &found)
}

/// Does the same as `settle` with a single rollout, which is known to have changed.
pub fn settle_with(paths: &StatePaths, changed: &Path) -> io::Result<Panes> {
    let panes = read(paths);
    if panes.codex.oldest_marker().is_none() && panes.codex.unseen_threads().next().is_none() {
        return Ok(panes);
    }
    see(paths, panes, &[changed.to_owned()])
}

fn see(paths: &StatePaths, panes: Panes, files: &[PathBuf]) -> io::Result<Panes> {
    let is_seen = |path: &&PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        panes.codex.seen().any(|(thread, _)| name.contains(thread.as_str()))
    };
    let mut rollouts: Vec<_> = files
        .iter()
        .filter(|path| !is_seen(path))
        .filter_map(|path| codex_rollouts::read_rollout(path))
        .collect();
    if rollouts.is_empty() {
        return Ok(panes);
    }
    // They are taken in the order in which they began, not in which they were found.
    rollouts.sort_by(|one, other| {
        (one.created_at, &one.thread).cmp(&(other.created_at, &other.thread))
    });
    update(paths, |panes| {
        rollouts
            .into_iter()
            .for_each(|rollout| panes.codex.apply(BindingInput::RolloutAppeared(rollout)));
        panes.codex.forget_old_threads();
        panes.clone()
    })
}

fn system_time(at: Timestamp) -> SystemTime {
    let micros = u64::try_from(at.as_micros()).unwrap_or_default();
    UNIX_EPOCH + Duration::from_micros(micros)
}

#[cfg(test)]
mod tests;
