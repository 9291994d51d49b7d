//! Recognises that this program runs in a distribution of WSL, and reads its name, the folder of
//! Windows' drives, and whether it can run Windows programs.

use std::fs;
use std::path::{Path, PathBuf};

use turnbridge_core::system::wsl::{Traces, automount_root, can_run_windows_programs, is_wsl};

/// The kernel's entries for programs of Windows; systemd recreates the entry, late.
const BINFMT: [&str; 2] =
    ["proc/sys/fs/binfmt_misc/WSLInterop", "proc/sys/fs/binfmt_misc/WSLInterop-late"];

#[derive(Debug)]
pub struct InsideWsl {
    /// `None` if it is unknown; `sudo` drops the variable.
    pub distribution: Option<String>,
    pub can_run_windows_programs: bool,
    /// The folder of Windows' drives.
    drives: PathBuf,
}

impl InsideWsl {
    /// Returns `None` if this is no WSL.
    pub fn recognise() -> Option<InsideWsl> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        let variable = |name: &str| std::env::var(name).ok();
        let (interop, distribution) = (variable("WSL_INTEROP"), variable("WSL_DISTRO_NAME"));
        let traces = Traces {
            osrelease: &read(Path::new("/proc/sys/kernel/osrelease")),
            interop: interop.as_deref(),
            distribution: distribution.as_deref(),
            is_in_a_container: ["/.dockerenv", "/run/.containerenv"]
                .iter()
                .any(|mark| Path::new(mark).exists()),
        };
        is_wsl(&traces).then(|| InsideWsl::read_system(Path::new("/")))
    }

    pub(super) fn read_system(root: &Path) -> InsideWsl {
        let drives = automount_root(&read(&root.join("etc/wsl.conf")));
        InsideWsl {
            distribution: std::env::var("WSL_DISTRO_NAME").ok().filter(|name| !name.is_empty()),
            can_run_windows_programs: BINFMT
                .iter()
                .any(|entry| can_run_windows_programs(&read(&root.join(entry)))),
            drives: root.join(drives.trim_start_matches('/')),
        }
    }

    /// Returns the folder of PowerShell, which the PATH lacks with `appendWindowsPath=false` in
    /// `/etc/wsl.conf`.
    pub fn powershell_folder(&self) -> PathBuf {
        self.drives.join("c/Windows/System32/WindowsPowerShell/v1.0")
    }
}

fn read(path: &Path) -> String {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}
