//! Finds a lock on Windows by a read: the lock keeps all other processes from reading what it
//! covers.
//!
//! The lock file is empty, and it is documented nowhere that a read at the end of a file is refused
//! like any other; wine refuses no read at all. So a successful read counts only after a test on a
//! locked empty file of this process.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::OnceLock;

use windows_sys::Win32::Foundation::ERROR_LOCK_VIOLATION;

use super::ThreadWriter;

pub fn ask(path: &Path) -> io::Result<ThreadWriter> {
    // The handle shares reading, writing and deleting, so it blocks no other process.
    let file = File::open(path)?;
    Ok(match is_refused(&file) {
        Ok(true) => ThreadWriter::Held,
        Ok(false) if can_tell() => ThreadWriter::Free,
        Ok(false) | Err(_) => ThreadWriter::Unknown,
    })
}

/// Returns whether a lock on an empty file keeps readers out on this system.
pub fn can_tell() -> bool {
    static CAN_TELL: OnceLock<bool> = OnceLock::new();
    *CAN_TELL.get_or_init(|| try_on_own_file().unwrap_or(false))
}

fn try_on_own_file() -> io::Result<bool> {
    let name = format!("turnbridge-{}.lock", std::process::id());
    let path = std::env::temp_dir().join(name);
    let owner = File::create(&path)?;
    let refused = owner.try_lock().map_err(io::Error::from).and_then(|()| {
        let reader = File::open(&path)?;
        is_refused(&reader)
    });
    drop(owner);
    std::fs::remove_file(&path)?;
    refused
}

fn is_refused(mut file: &File) -> io::Result<bool> {
    match file.read(&mut [0]) {
        Ok(_) => Ok(false),
        Err(error) if error.raw_os_error() == Some(ERROR_LOCK_VIOLATION as i32) => Ok(true),
        Err(error) => Err(error),
    }
}
