//! Tests the daemon with Codex's default set-up, in which its terminals share one background
//! process that outlives them. The test finds that process in Linux's `/proc`, so that it can end
//! it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use testkit::Codex;

use crate::codex_after_esc::{check_that_it_waits, script};
use crate::daemon_terminal::{asked, codex_world, open_codex};
use crate::service::{DaemonService, FOR_TERMINAL};
use crate::slack::texts;
use crate::support::codex_world::CodexWorld;
use crate::support::gates;
use crate::support::timeouts::TIMEOUT;

/// Codex's background process, which outlives the terminal, and its updater. A drop ends both.
struct Background {
    home: PathBuf,
}

impl Background {
    fn pids(&self) -> Vec<String> {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let is_ours = |process: &PathBuf| {
            let read = |name: &str| {
                let bytes = fs::read(process.join(name)).unwrap_or_default();
                String::from_utf8_lossy(&bytes).into_owned()
            };
            let home = format!("CODEX_HOME={}", self.home.display());
            read("cmdline").split('\0').any(|word| word == "app-server")
                && read("environ").split('\0').any(|variable| variable == home)
        };
        let paths = processes.map(|process| process.path()).filter(is_ours);
        paths.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Repeats, because one may have started another meanwhile.
        for _ in 0..50 {
            let pids = self.pids();
            if pids.is_empty() {
                return;
            }
            let _ = Command::new("kill").arg("-KILL").args(pids).status();
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The reply waits for no turn of the terminal.
#[test]
fn a_reply_appears_at_once_in_a_terminal_on_codex_s_background_process() {
    let Some(codex) = gates::slow::<Codex>() else { return };
    let world = codex_world(codex);
    let background = with_background(&world);
    let service = DaemonService::with_codex(&world);
    let tmux = open_codex(&world, "first of all");
    tmux.wait_for("One.", TIMEOUT);
    assert!(!background.pids().is_empty(), "it is its own server: {}", tmux.screen());
    let first = service.thread_of("first of all");
    service.slack.say(Some(&first.parent.ts), "-x from Slack");
    service.wait_for_words(&first, &[FOR_TERMINAL]);
    tmux.wait_for("-x from Slack", TIMEOUT);
    tmux.wait_for("Two.", TIMEOUT);
    assert_eq!(texts(&service.thread_of("-x from Slack")), ["Two."]);
    service.wait_for_ends(&["handed_over"]);
    assert_eq!(asked(&world), ["first of all", "-x from Slack"]);
    service.assert_no_problems();
}

#[test]
fn a_reply_after_esc_waits_with_codex_s_background_process_too() {
    let Some(codex) = gates::slow::<Codex>() else { return };
    let world = CodexWorld::bare(codex, script());
    let background = with_background(&world);
    check_that_it_waits(&world);
    assert!(!background.pids().is_empty(), "it was its own server");
}

/// Makes Codex's terminals use its background process.
#[track_caller]
fn with_background(world: &CodexWorld) -> Background {
    let home = world.hermetic.codex_home();
    world.codex.configure(&world.hermetic, &world.api, "");
    let path = home.join("config.toml");
    let config = fs::read_to_string(&path).expect("read Codex's config.toml");
    let with_background = config.replace("daemon_auto_start = false", "daemon_auto_start = true");
    assert_ne!(with_background, config);
    fs::write(&path, with_background).expect("write Codex's config.toml");
    Background { home }
}
