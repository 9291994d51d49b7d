//! Binds Codex's threads to the panes that wait for them, as their rollouts appear (KT-69).
//!
//! While no pane waits, a poll costs one read of a file's metadata. The bindings are in
//! `panes.json`, which the command line also reads and writes.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use turnbridge_core::ids::SessionId;
use turnbridge_core::session::RunEnvironment;
use turnbridge_core::terminals::panes::Panes;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::pane_store;

/// The state of the registry of panes at the last read.
pub struct PaneBinder {
    paths: StatePaths,
    /// The time and length of the registry at the last read.
    seen: Option<(SystemTime, u64)>,
    /// A pane waits for a thread, or a bound thread's rollout is not seen yet.
    is_waiting: bool,
    hosts: BTreeMap<SessionId, RunEnvironment>,
}

impl PaneBinder {
    pub fn new(paths: StatePaths) -> PaneBinder {
        PaneBinder { paths, seen: None, is_waiting: false, hosts: BTreeMap::new() }
    }

    /// Checks whether the registry has changed. Returns the environments of the threads in panes,
    /// if they have changed.
    pub fn check(
        &mut self,
        homes: &[PathBuf],
    ) -> io::Result<Option<BTreeMap<SessionId, RunEnvironment>>> {
        if self.stamp() == self.seen { Ok(None) } else { self.look_again(homes) }
    }

    /// Handles a write to a rollout. Returns the same as `check`.
    pub fn see(&mut self, path: &Path) -> io::Result<Option<BTreeMap<SessionId, RunEnvironment>>> {
        // A launch of a moment ago counts, even though no poll has seen it.
        let stamp = self.stamp();
        if !self.is_waiting && stamp == self.seen {
            return Ok(None);
        }
        let panes = pane_store::settle_with(&self.paths, path)?;
        // `check` handles all other rollouts of a new launch.
        let seen = self.seen;
        Ok(self.note(seen, &panes))
    }

    /// Like `check`, but reads the registry even if it has not changed: rollouts may have appeared
    /// without a report.
    pub fn look_again(
        &mut self,
        homes: &[PathBuf],
    ) -> io::Result<Option<BTreeMap<SessionId, RunEnvironment>>> {
        let stamp = self.stamp();
        let panes = pane_store::settle(&self.paths, homes)?;
        Ok(self.note(stamp, &panes))
    }

    /// Takes the registry's content. `stamp` precedes the read, so that a later write causes
    /// another read.
    fn note(
        &mut self,
        stamp: Option<(SystemTime, u64)>,
        panes: &Panes,
    ) -> Option<BTreeMap<SessionId, RunEnvironment>> {
        self.seen = stamp;
        self.is_waiting =
            panes.codex.oldest_marker().is_some() || panes.codex.unseen_threads().next().is_some();
        let shown = panes.codex.panes().filter_map(|(pane, _)| panes.codex.thread_of(pane));
        let hosts: BTreeMap<_, _> =
            shown.filter_map(|thread| Some((thread.clone(), panes.host_of(thread)?))).collect();
        let is_news = hosts != self.hosts;
        self.hosts.clone_from(&hosts);
        is_news.then_some(hosts)
    }

    fn stamp(&self) -> Option<(SystemTime, u64)> {
        let metadata = fs::metadata(self.paths.panes_file()).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    }
}
