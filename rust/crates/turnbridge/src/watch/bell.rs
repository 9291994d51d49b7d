//! Reports changed session files immediately, by the operating system's file watcher. Correctness
//! does not depend on it: `SessionFollower::changes` finds every change a second later.

use std::path::PathBuf;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use turnbridge_core::ids::SessionKey;
use turnbridge_store::paths::session_of_file;

pub struct Bell {
    watcher: Option<RecommendedWatcher>,
    folder: PathBuf,
    is_armed: bool,
}

impl Bell {
    /// Starts the watcher. It calls `ring` with the session of each changed file.
    pub fn new(folder: PathBuf, ring: impl Fn(SessionKey) + Send + 'static) -> Bell {
        let handler = move |result: notify::Result<notify::Event>| {
            let Ok(event) = result else { return };
            if event.kind.is_access() {
                return;
            }
            for path in event.paths {
                let name = path.file_name().and_then(|name| name.to_str());
                if let Some(key) = name.and_then(session_of_file) {
                    ring(key);
                }
            }
        };
        let watcher = notify::recommended_watcher(handler).ok();
        let mut bell = Bell { watcher, folder, is_armed: false };
        bell.arm();
        bell
    }

    /// Watches the folder, which appears with the first session. The loop calls it once a second.
    pub fn arm(&mut self) {
        if let (false, Some(watcher)) = (self.is_armed, &mut self.watcher) {
            self.is_armed = watcher.watch(&self.folder, RecursiveMode::NonRecursive).is_ok();
        }
    }
}
