//! Binds Codex's threads to the panes that wait for them, as their rollouts appear (KT-69).
//!
//! Costs a look at one file's time while no pane waits. The bindings themselves are in
//! `panes.json`, where the command line finds and makes them too.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use turnbridge_core::ids::SessionId;
use turnbridge_core::session::Host;
use turnbridge_core::terminals::panes::Panes;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::pane_store;

pub struct PaneBinder {
    paths: StatePaths,
    /// Of the registry when it was looked at last.
    seen: Option<(SystemTime, u64)>,
    /// A pane waits for a thread, or for a rollout to be seen.
    is_waiting: bool,
    hosts: BTreeMap<SessionId, Host>,
}

impl PaneBinder {
    pub fn new(paths: StatePaths) -> PaneBinder {
        PaneBinder { paths, seen: None, is_waiting: false, hosts: BTreeMap::new() }
    }

    /// Looks whether somebody has launched, or left, anything. Gives the surroundings of the
    /// threads that are shown, when they have changed.
    pub fn look(&mut self, homes: &[PathBuf]) -> io::Result<Option<BTreeMap<SessionId, Host>>> {
        if self.stamp() == self.seen { Ok(None) } else { self.look_again(homes) }
    }

    /// A rollout has been written to.
    pub fn see(&mut self, path: &Path) -> io::Result<Option<BTreeMap<SessionId, Host>>> {
        // A launch of a moment ago counts, though nobody has looked since.
        let stamp = self.stamp();
        if !self.is_waiting && stamp == self.seen {
            return Ok(None);
        }
        let panes = pane_store::settle_with(&self.paths, path)?;
        // All other rollouts of a new launch are for `look`.
        let seen = self.seen;
        Ok(self.note(seen, &panes))
    }

    /// The same as `look`, for when rollouts may have appeared that nobody has named.
    pub fn look_again(
        &mut self,
        homes: &[PathBuf],
    ) -> io::Result<Option<BTreeMap<SessionId, Host>>> {
        let stamp = self.stamp();
        let panes = pane_store::settle(&self.paths, homes)?;
        Ok(self.note(stamp, &panes))
    }

    /// `stamp` is from before the registry was read: what is written meanwhile is looked at again.
    fn note(
        &mut self,
        stamp: Option<(SystemTime, u64)>,
        panes: &Panes,
    ) -> Option<BTreeMap<SessionId, Host>> {
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
