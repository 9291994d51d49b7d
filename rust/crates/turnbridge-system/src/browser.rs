//! Finds and starts the program that opens an address in a browser. Every user of the machine can
//! read the program's arguments, so the address must contain no secret.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::programs;

pub struct BrowserOpener {
    program: PathBuf,
    arguments: &'static [&'static str],
}

impl BrowserOpener {
    /// Finds the program. Returns `None` if it does not exist, or if there is no display for a
    /// browser.
    pub fn find() -> Option<BrowserOpener> {
        let openers: &[(&str, &[&str])] = if cfg!(windows) {
            &[("rundll32", &["url.dll,FileProtocolHandler"])]
        } else if cfg!(target_os = "macos") {
            &[("open", &[])]
        } else if has_display() {
            &[("wslview", &[]), ("xdg-open", &[])]
        } else {
            // `wslview` opens the browser of Windows.
            &[("wslview", &[])]
        };
        openers.iter().find_map(|(name, arguments)| {
            Some(BrowserOpener { program: programs::find(name, None)?, arguments })
        })
    }

    /// Starts the browser. Returns `None` if that fails. Ctrl-C in this terminal does not reach the
    /// process, because the browser may be its child.
    pub fn start(&self, url: &str) -> Option<Child> {
        let mut command = Command::new(&self.program);
        command.args(self.arguments).arg(url);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn().ok()
    }
}

/// Returns whether a browser can be shown. `BROWSER` may name one that needs no display.
fn has_display() -> bool {
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"].iter().any(is_set)
}

/// Returns whether the user is connected by SSH, so that the browser is on another machine.
pub fn is_remote() -> bool {
    std::env::var_os("SSH_CONNECTION").is_some()
}
