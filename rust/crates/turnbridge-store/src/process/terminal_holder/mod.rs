//! Whether a process has its terminal for itself, so that what is typed there reaches it and nobody
//! else. Not so when the user has suspended it (Ctrl-Z) and a shell reads the terminal, nor while an
//! editor that it has opened does.

use turnbridge_core::session::event::ProcessKey;

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod platform;
#[cfg(target_os = "macos")]
#[path = "macos.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;

/// A terminal that one process reads, alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// As `/dev/pts/3`; `None` where the system does not tell.
    pub name: Option<String>,
}

/// The terminal of `process`, if it is alive, is not stopped, is of the terminal's foreground group,
/// and nobody else in that group reads the terminal. `None` also when this cannot be told.
pub fn held_by(process: ProcessKey) -> Option<Held> {
    if process == ProcessKey::UNKNOWN {
        return None;
    }
    platform::held_by(process)
}
