//! Runs a program in a terminal: a private tmux server with one pane of 120 by 40. It shares
//! nothing with the user's tmux: it has its own socket, no configuration, and the environment of
//! the command it runs.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::hermetic::{Hermetic, Lease};

/// One program in one pane. A drop kills its server.
pub struct Tmux {
    socket: PathBuf,
    _folder: Lease,
}

impl Tmux {
    /// Starts `command` (its program, arguments, variables and folder) in the pane of a new server.
    /// The pane outlives the program, so that its last screen stays readable; see
    /// [`Tmux::is_running`].
    #[track_caller]
    pub fn start(hermetic: &Hermetic, command: &Command) -> Tmux {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        // A short name, because a socket's path is limited to 104 bytes on macOS.
        let name = format!("t{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let tmux = Tmux { socket: hermetic.root().join(name), _folder: hermetic.lease() };

        let mut server = tmux.client();
        // The panes inherit the server's environment.
        for (variable, value) in command.get_envs() {
            match value {
                Some(value) => server.env(variable, value),
                None => server.env_remove(variable),
            };
        }
        server.args(["start-server", ";", "set-option", "-g", "remain-on-exit", "on", ";"]);
        server.args(["new-session", "-d", "-x", "120", "-y", "40"]);
        if let Some(folder) = command.get_current_dir() {
            server.arg("-c").arg(folder);
        }
        // tmux would give a single word to a shell; `env` makes two words of it and keeps the pid.
        server.args(["--", "env"]).arg(command.get_program()).args(command.get_args());
        succeed(server);
        tmux
    }

    /// Types `text` literally, without Enter.
    #[track_caller]
    pub fn send_text(&self, text: &str) {
        self.run(&["send-keys", "-l", "--", text]);
    }

    /// Presses one key by tmux's name for it: `Enter`, `Escape`, `Down`, `C-c`.
    #[track_caller]
    pub fn send_key(&self, key: &str) {
        self.run(&["send-keys", "--", key]);
    }

    /// Returns the pane's current screen.
    #[track_caller]
    pub fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"])
    }

    /// Returns the pane's current screen, with each wrapped line in one piece.
    #[track_caller]
    pub fn unwrapped_screen(&self) -> String {
        let screen = self.run(&["capture-pane", "-p", "-J"]);
        screen.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
    }

    /// Waits until the pane shows `text`, which may be longer than a line of it. Returns the
    /// screen.
    #[track_caller]
    pub fn wait_for(&self, text: &str, timeout: Duration) -> String {
        let is_shown = |screen: &str| screen.contains(text);
        self.wait_for_capture(Tmux::unwrapped_screen, timeout, &format!("`{text}`"), is_shown)
    }

    /// Waits until `predicate` holds for the screen and returns that screen; panics with the last
    /// one.
    #[track_caller]
    pub fn wait_for_screen(
        &self,
        timeout: Duration,
        what: &str,
        predicate: impl Fn(&str) -> bool,
    ) -> String {
        self.wait_for_capture(Tmux::screen, timeout, what, predicate)
    }

    #[track_caller]
    fn wait_for_capture(
        &self,
        capture: fn(&Tmux) -> String,
        timeout: Duration,
        what: &str,
        predicate: impl Fn(&str) -> bool,
    ) -> String {
        let deadline = Instant::now() + timeout;
        loop {
            let screen = capture(self);
            if predicate(&screen) {
                return screen;
            }
            if Instant::now() >= deadline {
                panic!(
                    "not on the screen within {timeout:?}: {what}\n--- last screen ---\n{}",
                    screen.trim_end()
                );
            }
            // Slower than `wait_until`, because every poll starts a process.
            sleep(Duration::from_millis(40));
        }
    }

    /// Returns the process id of the program in the pane.
    #[track_caller]
    pub fn pid(&self) -> u32 {
        let text = self.run(&["display-message", "-p", "#{pane_pid}"]);
        text.trim().parse().unwrap_or_else(|_| panic!("tmux gave `{text}` for the pane's pid"))
    }

    /// Returns whether the program in the pane still runs.
    #[track_caller]
    pub fn is_running(&self) -> bool {
        self.run(&["display-message", "-p", "#{pane_dead}"]).trim() != "1"
    }

    /// Runs any other tmux command on this server, and returns its output.
    #[track_caller]
    pub fn run(&self, arguments: &[&str]) -> String {
        let mut client = self.client();
        client.args(arguments);
        let output = succeed(client);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn client(&self) -> Command {
        let mut client = Command::new("tmux");
        // Without a UTF-8 locale tmux writes `_` for every other character. `TMUX` of a developer's
        // own session must not be inherited.
        client.env_clear().env("LANG", "C.UTF-8").env("TERM", "xterm-256color");
        client.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        client.arg("-u").arg("-S").arg(&self.socket).args(["-f", "/dev/null"]);
        client
    }
}

impl Drop for Tmux {
    /// Closes the terminal, and waits for the program: it may still write (claude runs its
    /// `SessionEnd` hooks then) into folders that will be removed.
    fn drop(&mut self) {
        // An ended program gets no wait: another process may have its pid by now.
        let running = ["display-message", "-p", "#{?pane_dead,,#{pane_pid}}"];
        let Ok(pane) = self.client().args(running).output() else { return };
        let _ = self.client().arg("kill-server").output();
        let pid = String::from_utf8_lossy(&pane.stdout).trim().to_owned();
        let deadline = Instant::now() + Duration::from_secs(5);
        while is_alive(&pid) {
            if Instant::now() >= deadline {
                let _ = Command::new("kill").args(["-KILL", &pid]).output();
                return;
            }
            sleep(Duration::from_millis(20));
        }
    }
}

/// Returns whether a process lives. A zombie does not count.
fn is_alive(pid: &str) -> bool {
    let state = Command::new("ps").args(["-o", "stat=", "-p", pid]).output();
    let state = state.map(|output| output.stdout).unwrap_or_default();
    state.first().is_some_and(|letter| *letter != b'Z')
}

#[track_caller]
fn succeed(mut command: Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("run tmux: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_gets_keys_and_its_own_environment() {
        if Command::new("tmux").arg("-V").output().is_err() {
            return;
        }
        let hermetic = Hermetic::new();
        let mut command = hermetic.command("sh");
        command
            .args(["-c", "echo \"marker $MARKER\"; read line; echo \"read <$line>\""])
            .env("MARKER", "a b");
        let tmux = Tmux::start(&hermetic, &command);
        tmux.wait_for("marker a b", Duration::from_secs(10));
        assert!(tmux.is_running());
        tmux.send_text("x; y $HOME");
        tmux.send_key("Enter");
        tmux.wait_for("read <x; y $HOME>", Duration::from_secs(10));
        crate::wait_until(Duration::from_secs(10), "end of the program", || {
            (!tmux.is_running()).then_some(())
        });
    }

    #[test]
    fn a_text_that_the_pane_wraps_is_found() {
        if Command::new("tmux").arg("-V").output().is_err() {
            return;
        }
        let hermetic = Hermetic::new();
        let mut command = hermetic.command("sh");
        command.args(["-c", "printf '%0100d this goes on in the next line\\n' 0; sleep 60"]);
        let tmux = Tmux::start(&hermetic, &command);
        tmux.wait_for("this goes on in the next line", Duration::from_secs(10));
        assert!(!tmux.screen().contains("this goes on in the next line"));
    }

    #[test]
    fn the_program_ends_even_when_the_environment_is_dropped_first() {
        if Command::new("tmux").arg("-V").output().is_err() {
            return;
        }
        let hermetic = Hermetic::new();
        let root = hermetic.root().to_owned();
        let mut command = hermetic.command("sleep");
        command.arg("60");
        let tmux = Tmux::start(&hermetic, &command);
        let pid = tmux.pid().to_string();
        drop(hermetic);
        assert!(is_alive(&pid));
        drop(tmux);
        assert!(!is_alive(&pid));
        assert!(!root.exists());
    }
}
