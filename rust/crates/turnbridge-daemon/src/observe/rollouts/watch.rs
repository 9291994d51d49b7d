//! Runs a thread that reports changed paths below Codex's homes, by the operating system's file
//! watcher.
//!
//! Correctness does not depend on it: it requests a rescan every half minute, or every two seconds
//! where the system reports nothing (no watches left, a remote folder).

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::folders::{ARCHIVED, MAX_DEPTH, SESSIONS, subfolders};

const RESCAN: Duration = Duration::from_secs(30);
const RESCAN_UNWATCHED: Duration = Duration::from_secs(2);

/// Linux watches single folders. `notify` can recurse, but it reports a new folder before it
/// watches it, and would miss a file created in between.
const WATCHES_EACH_FOLDER: bool = cfg!(target_os = "linux");

/// The poll interval for folders that did not exist.
const SEARCH: Duration = Duration::from_secs(1);

/// A report of the watcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RolloutChange {
    /// The path for `Follower::changed`.
    Changed(PathBuf),
    /// The request for `Follower::rescan`.
    Rescan,
    /// A reason for the log, once: the system cannot report changes.
    Blind(String),
}

/// The handle of the thread, which ends when it is dropped.
pub struct RolloutWatch {
    signals: Sender<WatchSignal>,
    thread: Option<JoinHandle<()>>,
}

enum WatchSignal {
    Notified(notify::Result<notify::Event>),
    Stop,
}

/// Starts the watch. The first report is a `Rescan` once all folders are watched, which finds all
/// earlier changes. `send` returns whether the receiver still exists.
pub fn watch(
    homes: Vec<PathBuf>,
    send: impl Fn(RolloutChange) -> bool + Send + 'static,
) -> io::Result<RolloutWatch> {
    let (signals, inbox) = channel();
    let told = signals.clone();
    let run = move || {
        let mut watching = RolloutWatcher {
            send,
            homes,
            watcher: None,
            watched: BTreeSet::new(),
            changed: BTreeSet::new(),
            wants_rescan: false,
            is_blind: false,
        };
        match notify::recommended_watcher(move |event| {
            drop(told.send(WatchSignal::Notified(event)))
        }) {
            Ok(watcher) => watching.watcher = Some(watcher),
            Err(error) => watching.go_blind(&error),
        }
        watching.run(&inbox);
    };
    let thread = thread::Builder::new().name("codex-rollouts".to_owned()).spawn(run)?;
    Ok(RolloutWatch { signals, thread: Some(thread) })
}

impl Drop for RolloutWatch {
    fn drop(&mut self) {
        let _ = self.signals.send(WatchSignal::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct RolloutWatcher<F> {
    send: F,
    homes: Vec<PathBuf>,
    watcher: Option<RecommendedWatcher>,
    /// The existing folders of the homes, and on Linux all folders below them.
    watched: BTreeSet<PathBuf>,
    /// Changes that were not reported yet.
    changed: BTreeSet<PathBuf>,
    wants_rescan: bool,
    is_blind: bool,
}

impl<F: Fn(RolloutChange) -> bool> RolloutWatcher<F> {
    fn run(mut self, inbox: &Receiver<WatchSignal>) {
        self.search();
        // The first rescan covers all earlier changes.
        self.changed.clear();
        let mut is_heard = (self.send)(RolloutChange::Rescan);
        let mut last_rescan = Instant::now();
        while is_heard {
            let signal = match inbox.recv_timeout(SEARCH) {
                Ok(signal) => Some(signal),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            // Reports a burst of changes together.
            for signal in signal.into_iter().chain(inbox.try_iter()) {
                match signal {
                    WatchSignal::Notified(told) => self.note(told),
                    WatchSignal::Stop => return,
                }
            }
            self.search();
            for path in std::mem::take(&mut self.changed) {
                is_heard &= (self.send)(RolloutChange::Changed(path));
            }
            let interval = if self.is_blind { RESCAN_UNWATCHED } else { RESCAN };
            if std::mem::take(&mut self.wants_rescan) || last_rescan.elapsed() >= interval {
                last_rescan = Instant::now();
                self.watch_again();
                is_heard &= (self.send)(RolloutChange::Rescan);
            }
        }
    }

    fn note(&mut self, told: notify::Result<notify::Event>) {
        match told {
            // The system has lost events.
            Ok(event) if event.need_rescan() => self.wants_rescan = true,
            // Read accesses, mostly Turnbridge's own.
            Ok(event) if event.kind.is_access() => {}
            Ok(event) => {
                for path in event.paths {
                    if event.kind.is_remove() {
                        self.watched.remove(&path);
                    } else if WATCHES_EACH_FOLDER && path.is_dir() {
                        self.watch_below(&path);
                    }
                    self.changed.insert(path);
                }
            }
            Err(error) => self.go_blind(&error),
        }
    }

    /// Watches new homes and folders, which appear when Codex is used for the first time.
    fn search(&mut self) {
        for folder in self.tops() {
            match (folder.is_dir(), self.watched.contains(&folder)) {
                (true, false) => {
                    self.watch_below(&folder);
                    if is_elsewhere(&folder) {
                        let folder = folder.display();
                        self.go_blind(&format!("the system reports no changes in `{folder}`"));
                    }
                    self.changed.insert(folder);
                }
                (false, true) => {
                    self.watched.remove(&folder);
                }
                _ => {}
            }
        }
    }

    /// Returns the folders of all homes that contain rollouts.
    fn tops(&self) -> impl Iterator<Item = PathBuf> + use<F> {
        let homes = self.homes.clone().into_iter();
        homes.flat_map(|home| [SESSIONS, ARCHIVED].map(|name| home.join(name)))
    }

    /// Watches the folders that exist now: a new folder with a lost event is watched from the next
    /// rescan on.
    fn watch_again(&mut self) {
        for folder in self.tops().filter(|folder| WATCHES_EACH_FOLDER && folder.is_dir()) {
            self.watch_below(&folder);
        }
    }

    /// Watches each folder before it lists it, so that folders created later are reported.
    fn watch_below(&mut self, folder: &Path) {
        let mode = match WATCHES_EACH_FOLDER {
            true => RecursiveMode::NonRecursive,
            false => RecursiveMode::Recursive,
        };
        let mut todo = vec![(folder.to_owned(), 0)];
        while let Some((folder, depth)) = todo.pop() {
            let Some(watcher) = &mut self.watcher else { return };
            if let Err(error) = watcher.watch(&folder, mode)
                && folder.is_dir()
            {
                self.go_blind(&error);
            }
            if WATCHES_EACH_FOLDER && depth < MAX_DEPTH {
                todo.extend(subfolders(&folder).into_iter().map(|below| (below, depth + 1)));
            }
            self.watched.insert(folder);
        }
    }

    fn go_blind(&mut self, reason: &dyn fmt::Display) {
        if !std::mem::replace(&mut self.is_blind, true) {
            let reason = reason.to_string();
            (self.send)(RolloutChange::Blind(reason));
        }
    }
}

/// Returns whether another system's files are mounted there, whose changes the local one does not
/// report: network folders, or Windows' files in WSL (KT-18).
#[cfg(target_os = "linux")]
fn is_elsewhere(folder: &Path) -> bool {
    const NINE_P: u64 = 0x0102_1997;
    const NFS: u64 = 0x6969;
    const CIFS: u64 = 0xff53_4d42;
    const SMB2: u64 = 0xfe53_4d42;
    let kind = rustix::fs::statfs(folder).map(|it| it.f_type as u64 & 0xffff_ffff);
    kind.is_ok_and(|kind| [NINE_P, NFS, CIFS, SMB2].contains(&kind))
}

/// Returns whether the folder is on `\\wsl.localhost\…` or another share.
#[cfg(windows)]
fn is_elsewhere(folder: &Path) -> bool {
    use std::path::{Component, Prefix};
    let prefix = folder.components().next();
    matches!(prefix, Some(Component::Prefix(prefix))
        if matches!(prefix.kind(), Prefix::UNC(..) | Prefix::VerbatimUNC(..)))
}

#[cfg(not(any(target_os = "linux", windows)))]
fn is_elsewhere(_folder: &Path) -> bool {
    false
}
