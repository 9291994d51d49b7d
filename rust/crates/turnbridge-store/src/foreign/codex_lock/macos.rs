//! Queries a lock on macOS by `fcntl(F_GETLK)`, which takes none. The kernel keeps the locks of
//! `flock`, which Codex uses, in the same list.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use super::ThreadWriter;

#[cfg(test)]
pub fn can_tell() -> bool {
    true
}

pub fn ask(path: &Path) -> io::Result<ThreadWriter> {
    let file = File::open(path)?;
    // SAFETY: all-zero is a valid value of this plain C struct: from the beginning to the end.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    // Asks for a lock that would keep a reader out: a writer's, and not another reader's.
    lock.l_type = libc::F_RDLCK as libc::c_short;
    // SAFETY: the file is open, and the struct is local.
    let status = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &raw mut lock) };
    Ok(match status {
        0 if lock.l_type == libc::F_UNLCK as libc::c_short => ThreadWriter::Free,
        0 => ThreadWriter::Held,
        _ => ThreadWriter::Unknown,
    })
}
