//! Finds out whether a process alone reads its terminal, so that typed text reaches only that
//! process. It does not while it is suspended (Ctrl-Z) and a shell reads the terminal, nor while an
//! editor that it has started does.

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

/// A terminal that a single process reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldTerminal {
    /// A name such as `/dev/pts/3`; `None` if the system does not report it.
    pub name: Option<String>,
}

/// Returns the terminal of `process`. The process must be alive, not stopped, and in the terminal's
/// foreground group, and no other process of that group may read the terminal. Returns `None` also
/// if this is unknown.
pub fn held_by(process: ProcessKey) -> Option<HeldTerminal> {
    if process == ProcessKey::UNKNOWN {
        return None;
    }
    platform::held_by(process)
}
