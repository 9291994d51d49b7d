//! Windows: a lock keeps everybody else from reading what it covers, so a read tells.
//!
//! The lock file is empty, and that a read at the end of a file is refused like any other is
//! documented nowhere; wine refuses no read at all. So before a read that went well means
//! anything, it is tried once on an empty file of our own.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::OnceLock;

use windows_sys::Win32::Foundation::ERROR_LOCK_VIOLATION;

use super::Writer;

pub fn ask(path: &Path) -> io::Result<Writer> {
    // It shares reading, writing and deleting, so nobody is kept from anything by it.
    let file = File::open(path)?;
    Ok(match is_refused(&file) {
        Ok(true) => Writer::Held,
        Ok(false) if can_tell() => Writer::Free,
        Ok(false) | Err(_) => Writer::Unknown,
    })
}

/// Whether a lock on an empty file keeps readers out on this system.
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
