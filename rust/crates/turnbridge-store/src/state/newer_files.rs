//! Finds files in the state folder that a newer version of Turnbridge has written, for the log and
//! the doctor. Code that meets such a file does not change it.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use turnbridge_core::version_wire::{NEWER, is_newer};

use crate::files::bounded_file;
use crate::paths::StatePaths;

/// The limit of a file with a version. All are shorter, except for the text of a foreign file.
const LONGEST: u64 = 128 << 20;

/// Returns the error of a write that a newer file prevented.
pub fn error() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, NEWER)
}

/// Returns whether a newer file prevented the write.
pub fn is_newer_error(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported && error.to_string() == NEWER
}

/// Returns the files of newer versions in the folders of the state, in the order of their names.
pub fn find(paths: &StatePaths) -> Vec<PathBuf> {
    let state = paths.state_dir();
    let folders = [
        state.clone(),
        paths.sessions_dir(),
        paths.outbox_dir(),
        paths.inbox_dir(),
        state.join("foreign"),
    ];
    let mut found: Vec<_> = folders.iter().flat_map(|folder| find_in(folder)).collect();
    found.sort();
    found
}

/// Returns the files of newer versions in one folder.
pub fn find_in(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path());
    files
        .filter(|path| path.extension().is_some_and(can_hold_version) && is_newer_file(path))
        .collect()
}

pub fn is_newer_file(path: &Path) -> bool {
    // Turnbridge writes the version first, so that most files need not be read whole.
    const OURS: &[u8] = b"{\"version\":1,";
    let mut head = [0; OURS.len()];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    if read.is_ok() && head == OURS {
        return false;
    }
    bounded_file::read(path, LONGEST).is_ok_and(|bytes| is_newer(&bytes))
}

fn can_hold_version(extension: &std::ffi::OsStr) -> bool {
    extension == "json" || extension == "progress"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_found_wherever_they_lie() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StatePaths::below(folder.path());
        assert_eq!(find(&paths), Vec::<PathBuf>::new());
        let state = paths.state_dir();
        let names = [
            "foreign/a.json",
            "inbox/b.json",
            "outbox/c.progress",
            "panes.json",
            "sessions/d.json",
        ];
        let write = |name: &str, text: &str| {
            let path = state.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for name in names {
            write(name, r#"{"version":2}"#);
        }
        write("sessions/e.json", r#"{"version":1}"#);
        write("outbox/f.json", "{");
        write("inbox/g.lock", r#"{"version":2}"#);
        assert_eq!(find(&paths), names.map(|name| state.join(name)));
        assert!(is_newer_error(&error()) && !is_newer_error(&io::ErrorKind::Unsupported.into()));
    }
}
