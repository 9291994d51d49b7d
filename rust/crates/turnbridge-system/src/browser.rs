//! The program that opens addresses here. What it is started with can be read by every user of the
//! machine, so that it gets no address with a secret in it.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::programs;

pub struct Opener {
    program: PathBuf,
    arguments: &'static [&'static str],
}

impl Opener {
    /// Returns `None` if there is no such program, or no display for a browser.
    pub fn find() -> Option<Opener> {
        let openers: &[(&str, &[&str])] = if cfg!(windows) {
            &[("rundll32", &["url.dll,FileProtocolHandler"])]
        } else if cfg!(target_os = "macos") {
            &[("open", &[])]
        } else if has_display() {
            &[("wslview", &[]), ("xdg-open", &[])]
        } else {
            // It opens the browser of Windows.
            &[("wslview", &[])]
        };
        openers.iter().find_map(|(name, arguments)| {
            Some(Opener { program: programs::find(name, None)?, arguments })
        })
    }

    /// Returns `None` if it cannot be started. Ctrl-C in our terminal does not reach it: the browser
    /// may be its child.
    pub fn start(&self, url: &str) -> Option<Child> {
        let mut command = Command::new(&self.program);
        command.args(self.arguments).arg(url);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn().ok()
    }
}

/// `BROWSER` may name one that needs none.
fn has_display() -> bool {
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"].iter().any(is_set)
}

/// Whether whoever sits here came by SSH, so that the browser is elsewhere.
pub fn is_remote() -> bool {
    std::env::var_os("SSH_CONNECTION").is_some()
}
