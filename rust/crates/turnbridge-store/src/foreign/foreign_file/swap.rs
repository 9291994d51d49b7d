//! The one moment at which a name stops meaning the old file and means the new one.
//!
//! Where the system can exchange two names, the old file is still there afterwards, and can be
//! looked at: if somebody has written it between our last look and the exchange, it goes back.
//! Elsewhere that moment remains, some microseconds long.

use std::fs;
use std::io;
use std::path::Path;

use crate::files::atomic_file::rename;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swapped {
    /// The old file stands at the temporary name now.
    Kept,
    /// The old file is gone, or there was none.
    WithoutLooking,
    /// Somebody has made the file, or removed it, in the meantime; nothing was done.
    Taken,
}

/// `new` and `path` change places.
pub fn exchange(new: &Path, path: &Path) -> io::Result<Swapped> {
    match flagged::exchange(new, path) {
        Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => Ok(Swapped::Taken),
        Some(done) => done.map(|()| Swapped::Kept),
        None => rename(new, path).map(|()| Swapped::WithoutLooking),
    }
}

/// `new` becomes `path`, where there is none.
pub fn put(new: &Path, path: &Path) -> io::Result<Swapped> {
    match flagged::rename_to_free_name(new, path) {
        Some(Err(error)) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Swapped::Taken),
        Some(done) => done.map(|()| Swapped::WithoutLooking),
        None if path.symlink_metadata().is_ok() => Ok(Swapped::Taken),
        None => rename(new, path).map(|()| Swapped::WithoutLooking),
    }
}

/// `path` is no more; what it was stands at `aside`.
pub fn take_away(path: &Path, aside: &Path) -> io::Result<Swapped> {
    match rename(path, aside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Swapped::Taken),
        done => done.map(|()| Swapped::Kept),
    }
}

/// Undoes `exchange`, or `take_away` when there is no new text.
pub fn back(old: &Path, path: &Path, new: Option<&str>) -> io::Result<()> {
    let Some(new) = new else {
        return match put(old, path)? {
            // Somebody has made a newer one.
            Swapped::Taken => fs::remove_file(old),
            _ => Ok(()),
        };
    };
    exchange(old, path)?;
    // What has come out should be ours; anything else is newer than what went in.
    match fs::read(old) {
        Ok(bytes) if bytes != new.as_bytes() => exchange(old, path).map(|_| ()),
        _ => Ok(()),
    }
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
mod flagged {
    use std::io;
    use std::path::Path;

    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;

    pub fn exchange(from: &Path, to: &Path) -> Option<io::Result<()>> {
        with(from, to, RenameFlags::EXCHANGE)
    }

    pub fn rename_to_free_name(from: &Path, to: &Path) -> Option<io::Result<()>> {
        with(from, to, RenameFlags::NOREPLACE)
    }

    /// `None` when this file system cannot do it.
    fn with(from: &Path, to: &Path, flags: RenameFlags) -> Option<io::Result<()>> {
        #[cfg(test)]
        if crate::foreign::foreign_file::tests::HAS_OLD_FILE_SYSTEM.get() {
            return None;
        }
        match renameat_with(CWD, from, CWD, to, flags) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => None,
            done => Some(done.map_err(io::Error::from)),
        }
    }
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
mod flagged {
    use std::io;
    use std::path::Path;

    pub fn exchange(_from: &Path, _to: &Path) -> Option<io::Result<()>> {
        None
    }

    pub fn rename_to_free_name(_from: &Path, _to: &Path) -> Option<io::Result<()>> {
        None
    }
}
