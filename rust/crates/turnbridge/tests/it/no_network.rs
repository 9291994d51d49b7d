//! Tests that a hook opens no network socket: it traces the system calls of the hooks with the
//! recorded payloads of real agents and with all sinks. The notifier, which a hook starts without
//! waiting, may open one, and shows that the trace works.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::Read;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use testkit::{SlackApi, SlackSetup};

use crate::support::trace::{can_trace, traced};
use crate::support::world::{World, feed, recordings};

const CONFIG: &str = "[slack]
bot_token = \"xoxb-loopback-bot\"
[destinations.dm]
target_user_id = \"U0OWNER\"
[notify]
waiting = true
";

/// The system calls of one process.
struct SystemCalls {
    path: PathBuf,
    text: String,
}

impl SystemCalls {
    fn is_notifier(&self) -> bool {
        let mut programs = self.text.lines().filter(|line| line.contains("execve("));
        programs
            .next_back()
            .is_some_and(|line| line.contains("turnbridge-notify\", [") && !line.contains("--hook"))
    }

    fn has_network(&self) -> bool {
        self.text.contains("AF_INET")
    }
}

#[test]
fn no_hook_opens_a_network_socket() {
    if !can_trace("whether hooks use the network") {
        return;
    }
    let slack = SlackApi::start(SlackSetup::default());
    let world = World::with_gate();
    let root = world.hermetic.root().to_owned();
    let path = |name: &str| root.join(name).to_str().unwrap().to_owned();
    listen_as_tvine(&root.join("tvine.sock"));
    let world = world
        .with("TURNBRIDGE_SLACK_API_URL", &slack.base_url())
        .with("TURNBRIDGE_SLACK_TIME_SCALE", "20")
        .with("TVINE_PROJECT_DIR", &path("tvine"))
        .with("TVINE_SESSION_ID", "t")
        .with("TVINE_SOCKET_PATH", &path("tvine.sock"))
        .with("KAWAII_NOTIFY_PATH", &path("kawaii.jsonl"))
        .with("KAWAII_NOTIFY_DEBUG_PATH", &path("debug.jsonl"))
        .with("KAWAII_PANE_ID", "p");
    world.configure(CONFIG);

    let traces = root.join("traces");
    fs::create_dir(&traces).unwrap();
    let mut calls = 0;
    let mut call = |program: &str, arguments: &[&str], payload: &[u8]| {
        calls += 1;
        let options = ["-ff", "-e", "trace=socket,execve"];
        let mut hook = traced(&world, program, &options, &traces.join(calls.to_string()));
        hook.args(arguments);
        feed(hook, payload);
    };
    for (name, payload) in recordings() {
        if name.starts_with("Stop") {
            call("turnbridge-stop-gate", &["--origin", "plugin"], &payload);
        } else {
            call("turnbridge-status", &["--origin", "plugin"], &payload);
        }
        if name.starts_with("PermissionRequest") {
            call("turnbridge-notify", &["--hook", "--origin", "plugin"], &payload);
        }
    }
    for payload in codex_recordings() {
        call("turnbridge-status", &["--tool", "codex", "--origin", "plugin"], &payload);
        call("turnbridge-notify", &["--hook", "--tool", "codex", "--origin", "plugin"], &payload);
    }

    let traces = fs::read_dir(traces).unwrap().map(|entry| entry.unwrap().path());
    let traces = traces.map(|path| SystemCalls { text: fs::read_to_string(&path).unwrap(), path });
    let (notifiers, hooks): (Vec<_>, Vec<_>) = traces.partition(SystemCalls::is_notifier);
    assert!(hooks.len() >= calls, "{} traces of {calls} calls", hooks.len());
    for hook in &hooks {
        assert!(!hook.has_network(), "{}:\n{}", hook.path.display(), hook.text);
    }
    assert!(hooks.iter().any(|hook| hook.text.contains("AF_UNIX")), "tvine was not told");
    assert!(notifiers.iter().any(SystemCalls::has_network), "{} notifiers", notifiers.len());
    assert!(!slack.threads().is_empty(), "nothing was delivered");
}

fn codex_recordings() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../turnbridge-core/testdata/codex/hooks");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| fs::read(path).unwrap()).collect()
}

fn listen_as_tvine(socket: &Path) {
    let listener = UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = { stream }.read_to_end(&mut Vec::new());
        }
    });
}
