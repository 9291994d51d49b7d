//! Tracks which Codex thread a terminal pane shows, but not the thread's state (KT-57).
//!
//! A launch either names the thread (`resume ID`) or leaves a marker on the pane; a marker binds
//! the pane to the next new thread in the launch's folder. A marker has no timeout (KT-70, X15):
//! only the shell's prompt, the pane's end or the next launch removes it. Actions inside the
//! interface, such as `/resume`, are not visible and change nothing (KT-71).
//! If several panes wait in one folder, the oldest marker gets the new thread, because no source
//! names the thread's pane. This is wrong if the user types into the younger pane first.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use crate::agents::codex::codex_launch::CodexLaunch;
use crate::agents::codex::rollout_wire::{ThreadKind, ThreadMeta};
use crate::ids::{SessionId, is_uuid};
pub use crate::terminals::pane_id::PaneId;
use crate::timestamp::Timestamp;

/// An observation that may change which thread a pane shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BindingInput {
    /// The shell of a pane ran Codex. The caller resolves links in `cwd` and in the launch's
    /// directory: Codex writes real paths into its rollouts.
    Launched {
        pane: PaneId,
        launch: CodexLaunch,
        cwd: String,
        at: Timestamp,
    },
    /// The shell is back, so the program in the pane has ended (KT-72).
    PromptReturned {
        pane: PaneId,
    },
    PaneClosed {
        pane: PaneId,
    },
    /// A rollout file was seen, new or old, for the first time or again.
    RolloutAppeared(Rollout),
}

/// The facts in the first line of a rollout file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rollout {
    pub thread: SessionId,
    pub origin: ThreadOrigin,
    pub cwd: Option<String>,
    pub created_at: Timestamp,
}

impl Rollout {
    /// Returns the facts of a file's first line, which Codex writes at the first prompt of the
    /// thread. Returns `None` if the line has no usable id or time. The time at which the thread
    /// began is in its id (UUID 7) and may be minutes earlier: an old thread with its first prompt
    /// now must not be taken for a new one.
    pub fn of(meta: &ThreadMeta, written_at: Option<Timestamp>) -> Option<Rollout> {
        let id = meta.id.as_deref()?;
        Some(Rollout {
            thread: SessionId::parse(id)?,
            origin: ThreadOrigin::of(meta),
            cwd: meta.cwd.clone(),
            created_at: time_in_uuid(id).or(written_at)?,
        })
    }
}

/// Returns the time at the beginning of a UUID of version 7.
fn time_in_uuid(id: &str) -> Option<Timestamp> {
    let digits = id.get(..8)?.to_owned() + id.get(9..13)?;
    let is_version_7 = is_uuid(id) && id.as_bytes().get(14) == Some(&b'7');
    let millis = i64::from_str_radix(&digits, 16).ok().filter(|_| is_version_7)?;
    Some(Timestamp::from_millis(millis))
}

/// The program or thread that began a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadOrigin {
    /// Codex's own interface, or a program that looks the same.
    Interface,
    /// `codex exec`, by the record's `source`. Not by its `originator`, which a fork copies.
    Exec,
    /// Another thread: sub-agents and reviews, which no pane shows.
    Thread,
}

impl ThreadOrigin {
    pub const fn of(meta: &ThreadMeta) -> ThreadOrigin {
        match meta.kind {
            ThreadKind::User if meta.is_exec => ThreadOrigin::Exec,
            ThreadKind::User => ThreadOrigin::Interface,
            ThreadKind::SubAgent | ThreadKind::Review => ThreadOrigin::Thread,
        }
    }
}

/// The panes with Codex, and the threads that have been seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bindings {
    /// Only the panes in which Codex may be running.
    panes: BTreeMap<PaneId, CodexPane>,
    /// Every thread whose rollout has been seen, and when it began.
    visible: BTreeMap<SessionId, Timestamp>,
}

/// The state of a pane in which Codex may be running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodexPane {
    Waiting(Marker),
    Bound(SessionId),
}

/// A pane's wait for a new thread. Its order is that in which new threads are assigned.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Marker {
    pub expected: ExpectedThread,
    pub at: Timestamp,
    pub folder: PathBuf,
}

/// Whether the pane's thread is certainly a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExpectedThread {
    NewThread,
    /// `resume` that names no thread: it usually continues an old one, so a pane that certainly
    /// begins a new one precedes it.
    PerhapsNewThread,
}

impl Bindings {
    /// Restores the stored bindings.
    pub fn restore(
        panes: impl IntoIterator<Item = (PaneId, CodexPane)>,
        seen: impl IntoIterator<Item = (SessionId, Timestamp)>,
    ) -> Bindings {
        Bindings { panes: panes.into_iter().collect(), visible: seen.into_iter().collect() }
    }

    pub fn panes(&self) -> impl Iterator<Item = (&PaneId, &CodexPane)> {
        self.panes.iter()
    }

    /// Returns the threads that have been seen, and when each began.
    pub fn seen(&self) -> impl Iterator<Item = (&SessionId, Timestamp)> {
        self.visible.iter().map(|(thread, began)| (thread, *began))
    }

    /// Removes the threads that no pane shows and no marker could be assigned. All others must
    /// stay, or one would be assigned twice.
    pub fn forget_old_threads(&mut self) {
        let oldest = self.oldest_marker();
        let panes = &self.panes;
        self.visible.retain(|thread, began| {
            oldest.is_some_and(|at| at <= *began)
                || panes.values().any(|pane| *pane == CodexPane::Bound(thread.clone()))
        });
    }

    /// Returns the time of the oldest marker: since then a pane has waited for a new thread.
    pub fn oldest_marker(&self) -> Option<Timestamp> {
        let at = |pane: &CodexPane| match pane {
            CodexPane::Waiting(marker) => Some(marker.at),
            CodexPane::Bound(_) => None,
        };
        self.panes.values().filter_map(at).min()
    }

    /// Returns the threads that were named by `resume ID` and not seen yet.
    pub fn unseen_threads(&self) -> impl Iterator<Item = &SessionId> {
        self.panes.values().filter_map(|pane| match pane {
            CodexPane::Bound(thread) if !self.visible.contains_key(thread) => Some(thread),
            _ => None,
        })
    }

    /// Changes the bindings by an observation.
    pub fn apply(&mut self, input: BindingInput) {
        match input {
            BindingInput::Launched { pane, launch, cwd, at } => {
                // The shell was back before it ran any program, even if its prompt was not seen: so
                // a launch without an interface (KT-66) also ends the pane's state.
                match pane_after(&launch, &cwd, at) {
                    Some(state) => self.panes.insert(pane, state),
                    None => self.panes.remove(&pane),
                };
            }
            BindingInput::PromptReturned { pane } | BindingInput::PaneClosed { pane } => {
                self.panes.remove(&pane);
            }
            BindingInput::RolloutAppeared(rollout) => self.see(rollout),
        }
    }

    /// Returns the thread that the pane shows. A thread named by `resume ID` counts once its
    /// rollout has been seen, before or after (KT-67): the id may be a mistake.
    pub fn thread_of(&self, pane: &PaneId) -> Option<&SessionId> {
        self.panes.get(pane).and_then(|state| self.shown(state))
    }

    /// Returns the panes that show the thread: several clients of one are allowed (KT-53).
    pub fn panes_of<'a>(&'a self, thread: &SessionId) -> impl Iterator<Item = &'a PaneId> {
        let shows = move |state| self.shown(state).is_some_and(|shown| shown == thread);
        self.panes.iter().filter(move |(_, state)| shows(state)).map(|(pane, _)| pane)
    }

    /// Returns whether the pane's marker waits for a new thread.
    pub fn is_waiting(&self, pane: &PaneId) -> bool {
        matches!(self.panes.get(pane), Some(CodexPane::Waiting(_)))
    }

    fn shown<'a>(&self, state: &'a CodexPane) -> Option<&'a SessionId> {
        match state {
            CodexPane::Bound(thread) => {
                Some(thread).filter(|thread| self.visible.contains_key(*thread))
            }
            CodexPane::Waiting(_) => None,
        }
    }

    fn see(&mut self, rollout: Rollout) {
        let may_be_shown = rollout.origin != ThreadOrigin::Thread;
        let is_first_sight = may_be_shown
            && self.visible.insert(rollout.thread.clone(), rollout.created_at).is_none();
        // A pane that resumed it before it was seen has it already; no marker waited for it.
        let is_taken =
            self.panes.values().any(|state| *state == CodexPane::Bound(rollout.thread.clone()));
        if !is_first_sight || is_taken || rollout.origin != ThreadOrigin::Interface {
            return;
        }
        let Some(folder) = rollout.cwd.as_deref().map(|cwd| plain(Path::new(cwd))) else { return };
        let waiting = self.panes.values_mut().filter_map(|state| match state {
            CodexPane::Waiting(marker)
                if marker.at <= rollout.created_at && marker.folder == folder =>
            {
                Some((marker.clone(), state))
            }
            _ => None,
        });
        // Of equals the first pane.
        if let Some((_, state)) = waiting.min_by(|(one, _), (other, _)| one.cmp(other)) {
            *state = CodexPane::Bound(rollout.thread);
        }
    }
}

/// Returns the pane's state after a launch, or `None` if the launch has no interface.
fn pane_after(launch: &CodexLaunch, cwd: &str, at: Timestamp) -> Option<CodexPane> {
    if !launch.tui {
        return None;
    }
    let named = launch.session_id.as_deref().map(str::to_ascii_lowercase);
    if let Some(thread) = named.as_deref().and_then(SessionId::parse) {
        return Some(CodexPane::Bound(thread));
    }
    let expected = match launch.subcommand.as_deref() {
        Some("resume") => ExpectedThread::PerhapsNewThread,
        _ => ExpectedThread::NewThread,
    };
    let cwd = Path::new(cwd);
    let folder = launch.directory.as_deref().map_or(cwd.to_owned(), |inner| cwd.join(inner));
    Some(CodexPane::Waiting(Marker { expected, at, folder: plain(&folder) }))
}

/// Returns the path without `.` and `..`, by its text only.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            _ => plain.push(component),
        }
    }
    plain
}

#[cfg(test)]
mod tests;
