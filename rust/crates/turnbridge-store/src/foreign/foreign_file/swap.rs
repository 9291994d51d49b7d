//! Puts the new file in the place of the old one, and back.
//!
//! If the system can exchange two names, the old file still exists afterwards and can be checked:
//! what another program wrote between the last check and the exchange is put back. On other systems
//! it is lost; that gap is some microseconds long.

use std::fs;
use std::io;
use std::path::Path;

use crate::files::atomic_file::rename;

/// The place of the old file after a swap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwapResult {
    /// The old file has the temporary name now.
    Kept,
    /// The old file is removed, or there was none.
    WithoutLooking,
    /// Another program has created or removed the file in the meantime; nothing was done.
    Taken,
}

/// Exchanges the names of `new` and `path`. If the system cannot, `new` replaces `path`.
pub fn exchange(new: &Path, path: &Path) -> io::Result<SwapResult> {
    match flagged::exchange(new, path) {
        Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => Ok(SwapResult::Taken),
        Some(done) => done.map(|()| SwapResult::Kept),
        None => rename(new, path).map(|()| SwapResult::WithoutLooking),
    }
}

/// Renames `new` to `path`, if `path` does not exist.
pub fn put(new: &Path, path: &Path) -> io::Result<SwapResult> {
    match flagged::rename_to_free_name(new, path) {
        Some(Err(error)) if error.kind() == io::ErrorKind::AlreadyExists => Ok(SwapResult::Taken),
        Some(done) => done.map(|()| SwapResult::WithoutLooking),
        None if path.symlink_metadata().is_ok() => Ok(SwapResult::Taken),
        None => rename(new, path).map(|()| SwapResult::WithoutLooking),
    }
}

/// Moves `path` to `aside`, where the caller compares it with the expected file.
pub fn remove_if_unchanged(path: &Path, aside: &Path) -> io::Result<SwapResult> {
    match rename(path, aside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(SwapResult::Taken),
        done => done.map(|()| SwapResult::Kept),
    }
}

/// Undoes `exchange`, or `remove_if_unchanged` if there is no new text.
pub fn back(old: &Path, path: &Path, new: Option<&str>) -> io::Result<()> {
    let Some(new) = new else {
        return match put(old, path)? {
            // Another program has made a newer one.
            SwapResult::Taken => fs::remove_file(old),
            _ => Ok(()),
        };
    };
    exchange(old, path)?;
    // The file that comes out should be the new text; any other is newer than the restored one.
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

    /// Returns `None` if this file system does not support it.
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
