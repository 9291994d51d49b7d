//! Tests folders and files that other users can write to, or own: Turnbridge must not act on files
//! that others could have put there.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{SlackApi, SlackSetup, StandIn};
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::{heard, outbox, pending_turns};

use crate::support::world::{SESSION, World, payload};

const TIMEOUT: Duration = Duration::from_secs(60);

/// A world with a session, a notice that waits for Slack, and a forged reply in the inbox.
struct FolderTrustWorld {
    world: World,
    slack: SlackApi,
    agent: StandIn,
}

impl FolderTrustWorld {
    fn new() -> FolderTrustWorld {
        let slack = SlackApi::start(SlackSetup::default());
        let world = World::new().with("TURNBRIDGE_SLACK_TIME_SCALE", "20");
        let agent = StandIn::new(&world.hermetic.root().join("bin"), "claude", "exit 0");
        world.status(&payload("UserPromptSubmit", json!({"prompt": "go"})));
        let scene = FolderTrustWorld { world, slack, agent };
        scene.world.configure(&format!(
            "[slack]\nbot_token = \"xoxb-loopback-bot\"\napi_url = \"{}\"\n\
             [destinations.dm]\ntarget_user_id = \"U0OWNER\"\n[gate]\nenabled = false\n\
             [resume]\nclaude = \"{}\"\n",
            scene.slack.base_url(),
            scene.agent.program().display()
        ));
        let notice = json!({
            "version": 1, "id": "claude-1", "kind": "turn", "created_at": "2026-01-01T00:00:00.000000Z",
            "tool": "claude", "session_id": SESSION, "turn_id": null, "cwd": null,
            "transcript_path": null, "prompt": "go", "answers": ["Done."],
        });
        scene.put("outbox/claude-1.json", &notice);
        let reply = json!({
            "version": 1, "id": "r1", "source": "slack", "channel": "D1",
            "thread_ts": "1700000000.000100", "ts": "1700000001.000200", "user": "U0OWNER",
            "text": "rm -rf /", "received_at": "2026-01-01T00:00:00.000000Z", "tool": "claude",
            "session_id": SESSION, "cwd": scene.world.hermetic.project(),
        });
        scene.put("inbox/r1.json", &reply);
        scene
    }

    fn state(&self, name: &str) -> PathBuf {
        self.world.hermetic.state_dir().join(name)
    }

    fn put(&self, name: &str, value: &Value) {
        let path = self.state(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        chmod(path.parent().unwrap(), 0o700);
        fs::write(&path, value.to_string()).unwrap();
        chmod(&path, 0o600);
    }

    /// Checks that every program refuses, and reports it where it can.
    #[track_caller]
    fn check_refusals(&self, problem: &str, hint: &str) {
        let before = self.files();
        for arguments in [
            &["run-reply", "r1"][..],
            &["sessions"],
            &["outbox", "retry"],
            &["daemon", "--foreground"],
        ] {
            let said = self.refusal(arguments);
            assert!(said.contains(problem) && said.contains(hint), "{arguments:?}: {said}");
        }
        let prompt = payload("UserPromptSubmit", json!({"prompt": "another"})).to_string();
        self.world.hook("turnbridge-status", &[], prompt.as_bytes());
        let stop = payload("Stop", json!({"last_assistant_message": "x"})).to_string();
        self.world.hook("turnbridge-stop-gate", &[], stop.as_bytes());
        let output = self.world.command("turnbridge-notify").arg("--deliver").output().unwrap();
        crate::support::world::assert_silent_success(&output);
        assert_eq!(self.files(), before);
        assert!(self.agent.calls().is_empty() && self.slack.calls().is_empty());
    }

    #[track_caller]
    fn refusal(&self, arguments: &[&str]) -> String {
        let mut command = self.world.command("turnbridge");
        command.args(arguments).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        if !ends_in_time(|| child.try_wait().unwrap().is_some()) {
            child.kill().unwrap();
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with("error: ") && said.contains("\nhint: "), "{said}");
        said
    }

    /// Returns names and lengths of all files in the state folder.
    fn files(&self) -> Vec<(PathBuf, u64)> {
        let mut files = files_in(&self.world.hermetic.state_dir());
        files.sort();
        files
    }
}

fn files_in(folder: &Path) -> Vec<(PathBuf, u64)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let lengths = entries.flat_map(|path| match path.is_dir() {
        true => files_in(&path),
        false => vec![(path.clone(), path.metadata().map_or(0, |metadata| metadata.len()))],
    });
    lengths.collect()
}

/// Returns whether it ends before a timeout: a daemon that does not refuse would run forever.
fn ends_in_time(mut has_ended: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !has_ended() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_state_folder_that_others_can_write_to_is_refused_by_every_program() {
    for folder in ["", "inbox", "outbox", "sessions", "turns", "pending", "heard", "logs"] {
        let scene = FolderTrustWorld::new();
        fs::create_dir_all(scene.state(folder)).unwrap();
        for mode in [0o777, 0o770] {
            chmod(&scene.state(folder), mode);
            let problem = format!("can be written to by others (mode {mode:04o})");
            scene.check_refusals(&problem, "run `chmod -R go-rwx ");
        }
    }
}

#[test]
fn a_state_folder_or_a_link_of_another_user_is_refused_by_every_program() {
    let scene = FolderTrustWorld::new();
    let inbox = scene.state("inbox");
    if chown(&inbox, Some(4_711), None).is_err() {
        return testkit::skipped("only root can give a folder to another user");
    }
    scene.check_refusals("belongs to another user (uid 4711)", "sudo chown -R");
    chown(&inbox, Some(0), None).unwrap();
    let moved = scene.world.hermetic.root().join("moved");
    fs::rename(&inbox, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &inbox).unwrap();
    std::os::unix::fs::lchown(&inbox, Some(4_711), None).unwrap();
    scene.check_refusals("belongs to another user (uid 4711)", "remove the link `");
    // A service may run as `nobody`.
    std::os::unix::fs::lchown(&inbox, Some(65_534), None).unwrap();
    scene.check_refusals("belongs to another user (uid 65534)", "remove the link `");
}

#[test]
fn a_reply_that_another_user_has_put_into_the_inbox_is_not_run() {
    let scene = FolderTrustWorld::new();
    if chown(scene.state("inbox/r1.json"), Some(4_711), None).is_err() {
        return testkit::skipped("only root can give a file to another user");
    }
    let said = scene.refusal(&["run-reply", "r1"]);
    assert!(said.contains("no reply `r1` waits"), "{said}");
    assert!(scene.agent.calls().is_empty());
}

#[test]
fn what_another_user_has_put_into_a_folder_of_ours_is_not_acted_on() {
    let scene = FolderTrustWorld::new();
    let paths = StatePaths::below(&scene.state(""));
    let heard = json!({
        "version": 1, "received_at": "2026-01-01T00:00:00.000000Z",
        "reported": {"ts": "1700000001.000200", "text": "rm -rf /"},
    });
    scene.put("heard/slack-D1-1700000001.000200.json", &heard);
    let ended = payload("Stop", json!({"last_assistant_message": "Done."}));
    let mut stopped = scene.world.command("turnbridge-stop-gate");
    stopped.env("TURNBRIDGE_TEST_KILL_AT", "notice written");
    crate::support::world::feed(stopped, ended.to_string().as_bytes());
    let counts = || {
        let notices = outbox::oldest_first(&paths).unwrap().count();
        (heard::all(&paths).unwrap().len(), pending_turns::sessions(&paths).len(), notices)
    };
    assert_eq!(counts(), (1, 1, 1));
    for folder in ["heard", "pending", "outbox"] {
        for (file, _) in files_in(&scene.state(folder)) {
            if chown(file, Some(4_711), None).is_err() {
                return testkit::skipped("only root can give a file to another user");
            }
        }
    }
    assert_eq!(counts(), (0, 0, 0));
    scene.world.turnbridge(&["outbox", "retry"]);
    assert_eq!(scene.slack.threads().len(), 0);
}

#[test]
fn a_daemon_that_runs_delivers_nothing_from_a_folder_that_others_can_write_to_by_then() {
    let scene = FolderTrustWorld::new();
    let notice = scene.state("outbox/claude-1.json");
    let text = fs::read(&notice).unwrap();
    fs::remove_file(&notice).unwrap();
    fs::remove_file(scene.state("inbox/r1.json")).unwrap();
    let mut daemon = scene.world.command("turnbridge");
    let daemon = daemon.args(["daemon", "--foreground"]).stdin(Stdio::null()).spawn().unwrap();
    let _daemon = DaemonGuard(daemon);
    let is_up = || scene.state("daemon.json").exists().then_some(());
    testkit::wait_until(TIMEOUT, "the daemon", is_up);
    chmod(&scene.state("outbox"), 0o777);
    fs::write(&notice, &text).unwrap();
    let log = || fs::read_to_string(scene.state("logs/notify.log")).unwrap_or_default();
    let refusals = || log().matches("can be written to by others").count();
    testkit::wait_until(TIMEOUT, "a refusal", || {
        (refusals() > 0 || !scene.slack.threads().is_empty()).then_some(())
    });
    assert!(scene.slack.threads().is_empty(), "{:?}\n{}", scene.slack.threads(), log());
    // It checks again, and logs no second line.
    fs::write(&notice, &text).unwrap();
    chmod(&scene.state("outbox"), 0o700);
    fs::write(&notice, &text).unwrap();
    testkit::wait_until(TIMEOUT, "the notice", || {
        (!scene.slack.threads().is_empty()).then_some(())
    });
    assert_eq!(refusals(), 1, "{}", log());
}

/// A daemon that a drop ends.
struct DaemonGuard(Child);

impl Drop for DaemonGuard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_config_that_others_can_write_to_is_not_followed() {
    let scene = FolderTrustWorld::new();
    let folder = scene.world.hermetic.config_dir();
    for (path, mode, hint) in [
        (folder.join("config.toml"), 0o666, "chmod 600"),
        (folder.clone(), 0o777, "chmod -R go-rwx"),
    ] {
        let before = path.metadata().unwrap().permissions();
        chmod(&path, mode);
        let said = scene.refusal(&["outbox", "retry"]);
        assert!(said.contains("can be written to by others") && said.contains(hint), "{said}");
        let output = scene.world.command("turnbridge-notify").arg("--deliver").output().unwrap();
        crate::support::world::assert_silent_success(&output);
        let log = fs::read_to_string(scene.state("logs/notify.log")).unwrap();
        assert!(log.lines().last().unwrap().contains(hint), "{log}");
        assert!(scene.slack.calls().is_empty(), "{:?}", scene.slack.calls());
        fs::set_permissions(&path, before).unwrap();
    }
    // With correct folders, the notice arrives.
    scene.world.turnbridge(&["outbox", "retry"]);
    assert_eq!(scene.slack.threads().len(), 1);
}
