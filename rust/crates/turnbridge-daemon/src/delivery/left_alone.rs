//! Logs the files of the outbox that this version leaves alone: those of a newer version, and
//! progress that cannot be read. A process logs each once, and does not read an outbox again that
//! has not changed.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use turnbridge_core::version_wire::NEWER;
use turnbridge_store::log::LogValue;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::{newer_files, outbox};
use turnbridge_store::{clock, log};

/// The files that were logged.
#[derive(Default)]
pub struct LeftAlone {
    logged: BTreeSet<PathBuf>,
    /// The folder's modification time at the last check. Every file there is replaced by renaming,
    /// which changes the time.
    seen: Option<SystemTime>,
}

impl LeftAlone {
    /// Logs the files that were not logged yet, if the folder has changed.
    pub fn log(&mut self, paths: &StatePaths) {
        let folder = paths.outbox_dir();
        let changed = fs::metadata(&folder).and_then(|metadata| metadata.modified()).ok();
        if changed.is_none() || changed == self.seen {
            return;
        }
        self.seen = changed;
        for path in newer_files::find_in(&folder) {
            self.log_once(paths, path, &format!("a notice was {NEWER}"), None);
        }
        // Sent again from its beginning, the messages that have arrived would arrive twice.
        for path in outbox::unreadable_progress(paths).unwrap_or_default() {
            let hint = "remove it to send the notice from its beginning";
            self.log_once(paths, path, "the progress of a notice cannot be read", Some(hint));
        }
    }

    fn log_once(&mut self, paths: &StatePaths, path: PathBuf, message: &str, hint: Option<&str>) {
        let mut fields: Vec<(&str, LogValue)> = vec![("file", path.display().to_string().into())];
        fields.extend(hint.map(|hint| ("hint", hint.into())));
        if self.logged.insert(path) {
            log::write_log(&paths.notify_log(), clock::now(), "warn", message, &fields);
        }
    }
}

#[cfg(test)]
mod tests {
    use turnbridge_core::ids::SessionKey;
    use turnbridge_core::notices::notice::Notice;

    use super::*;

    #[test]
    fn a_file_that_is_left_alone_is_logged_once_by_a_process() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(&folder.path().join("state"));
        let session = SessionKey::of("claude", "s").unwrap();
        let notice = |id: &str| Notice::turn(id.to_owned(), session.clone(), clock::now());
        outbox::queue(&paths, &notice("a")).unwrap();
        fs::write(paths.outbox_dir().join("a.slack.progress"), "{").unwrap();
        let mut left_alone = LeftAlone::default();
        let lines = || fs::read_to_string(paths.notify_log()).unwrap_or_default().lines().count();
        for expected in [1, 1] {
            left_alone.log(&paths);
            assert_eq!(lines(), expected);
        }
        outbox::queue(&paths, &notice("b")).unwrap();
        fs::write(paths.outbox_dir().join("b.json"), r#"{"version":99}"#).unwrap();
        left_alone.seen = None;
        left_alone.log(&paths);
        assert_eq!(lines(), 2);
    }
}
