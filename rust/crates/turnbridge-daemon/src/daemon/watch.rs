//! Reports changes in the state folder, the outbox, the inbox and the config's folder, by the
//! operating system's file watcher. Correctness does not depend on it, because the daemon rescans
//! regularly.

use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use turnbridge_store::paths::StatePaths;

use super::event::{ChangedPlace, DaemonEvent};

pub struct FolderWatch {
    watcher: Option<RecommendedWatcher>,
    /// Folders that did not exist when a watch was requested.
    missing: Vec<PathBuf>,
}

impl FolderWatch {
    /// Starts the watch. `config` is the config file. Its folder is watched, since editors replace
    /// files.
    pub fn start(
        paths: &StatePaths,
        config: Option<PathBuf>,
        events: Sender<DaemonEvent>,
    ) -> FolderWatch {
        let places = places(paths, config.as_deref());
        let folders: Vec<PathBuf> = places.iter().map(|(folder, _)| folder.clone()).collect();
        let tell = events.clone();
        let handler = move |result: notify::Result<notify::Event>| match result {
            Ok(event) if event.kind.is_access() => {}
            Ok(event) if event.need_rescan() => {
                let _ =
                    tell.send(DaemonEvent::Lost { reason: "too many changes at once".to_owned() });
            }
            Ok(event) => {
                for path in &event.paths {
                    let place = places.iter().find(|(folder, _)| path.parent() == Some(folder));
                    if let Some((_, place)) = place {
                        let _ = tell.send(DaemonEvent::Changed(*place));
                    }
                }
            }
            Err(error) => {
                let _ = tell.send(DaemonEvent::Lost { reason: error.to_string() });
            }
        };
        let watcher = match notify::recommended_watcher(handler) {
            Ok(watcher) => Some(watcher),
            Err(error) => {
                let _ = events.send(DaemonEvent::Lost { reason: error.to_string() });
                None
            }
        };
        let mut watch = FolderWatch { watcher, missing: folders };
        watch.look_for_missing();
        watch
    }

    /// Watches the folders that did not exist before. Returns whether it watches one of them now.
    pub fn look_for_missing(&mut self) -> bool {
        let Some(watcher) = &mut self.watcher else { return false };
        let before = self.missing.len();
        self.missing.retain(|folder| watcher.watch(folder, RecursiveMode::NonRecursive).is_err());
        self.missing.len() < before
    }
}

fn places(paths: &StatePaths, config: Option<&Path>) -> Vec<(PathBuf, ChangedPlace)> {
    let mut places = vec![
        (paths.outbox_dir(), ChangedPlace::Outbox),
        (paths.inbox_dir(), ChangedPlace::Inbox),
        (paths.state_dir(), ChangedPlace::State),
    ];
    places.extend(
        config.and_then(Path::parent).map(|folder| (folder.to_owned(), ChangedPlace::Config)),
    );
    places
}
