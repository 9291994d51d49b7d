//! Tests `turnbridge focus` with a real tmux: it switches to the pane of a session, opens a window
//! that resumes it, or prints the command. Also tests the board's "Go to terminal".

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use testkit::{StandIn, Tmux, skipped, wait_until};

use crate::board::site::{BoardSite, WITHOUT_SLACK};
use crate::schemas;
use crate::support::world::{World, feed};

const TIMEOUT: Duration = Duration::from_secs(30);
const FIRST: &str = "825c8529-ee09-4cb8-8902-dd785b12ca0a";
const SECOND: &str = "925c8529-ee09-4cb8-8902-dd785b12ca0a";

/// Two windows with one agent each, the second in front.
struct TwoWindows {
    tmux: Tmux,
    world: World,
    claude: StandIn,
}

impl TwoWindows {
    /// Returns `None` without tmux.
    fn new() -> Option<TwoWindows> {
        if std::process::Command::new("tmux").arg("-V").output().is_err() {
            skipped("no tmux");
            return None;
        }
        let world = World::new();
        let programs = world.hermetic.root().join("bin");
        let claude = StandIn::new(&programs, "claude", "echo \"resumed in $PWD\"; exec sleep 600");
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let world = world.with("PATH", &path);
        let mut command = world.command("turnbridge");
        let variables: Vec<_> =
            command.get_envs().map(|(n, v)| (n.to_owned(), v.unwrap().to_owned())).collect();
        command = world.hermetic.command("/bin/sh");
        command.envs(variables).arg(agent(&world, FIRST));
        let tmux = Tmux::start(&world.hermetic, &command);
        tmux.run(&["new-window", "--", "/bin/sh", &agent(&world, SECOND)]);
        let two_windows = TwoWindows { tmux, world, claude };
        wait_until(TIMEOUT, "two sessions", || {
            (two_windows.world.sessions().len() == 2).then_some(())
        });
        Some(two_windows)
    }

    #[track_caller]
    fn focus(&self, arguments: &[&str]) -> Value {
        let mut command = self.world.command("turnbridge");
        command.args(["focus", "--json"]).args(arguments);
        let output = feed(command, b"");
        assert!(output.status.success(), "{output:?}");
        let shown = serde_json::from_slice(&output.stdout).unwrap();
        schemas::check("focus", &shown);
        shown
    }

    /// Returns the window in front.
    fn front(&self) -> String {
        self.tmux.run(&["display-message", "-p", "#{window_index}"]).trim().to_owned()
    }
}

/// Returns a program that calls the hook like an agent, and runs until it is ended.
fn agent(world: &World, id: &str) -> String {
    let script = world.hermetic.root().join(format!("agent-{id}"));
    let hook = env!("CARGO_BIN_EXE_turnbridge-status");
    let payload = format!(
        r#"{{"session_id":"{id}","cwd":"%s","hook_event_name":"%s","source":"startup","reason":"other"}}"#
    );
    let call = |event: &str| {
        format!(
            "printf '{payload}' \"$PWD\" {event} | CLAUDE_PROJECT_DIR=\"$PWD\" '{hook}' --origin plugin"
        )
    };
    let end = call("SessionEnd");
    let text = format!("{}\nread line\n{end}\nexec sleep 600\n", call("SessionStart"));
    fs::write(&script, text).unwrap();
    script.display().to_string()
}

#[test]
fn kt_74_focus_lands_in_the_pane_of_the_session() {
    let Some(two_windows) = TwoWindows::new() else { return };
    assert_eq!(two_windows.front(), "1");
    let done = two_windows.focus(&[&FIRST[..8]]);
    assert_eq!((&done["done"], &done["terminal"]), (&"switched".into(), &"tmux".into()));
    assert_eq!(two_windows.front(), "0");
    two_windows.focus(&[SECOND]);
    assert_eq!(two_windows.front(), "1");
    assert!(two_windows.claude.calls().is_empty());
}

/// The function behind the board's "Go to terminal".
#[test]
fn kt_74_the_board_lands_in_the_pane_of_the_session() {
    let Some(TwoWindows { tmux, world, claude }) = TwoWindows::new() else { return };
    let site = BoardSite::with(world, WITHOUT_SLACK);
    let focus = |id: &str| {
        site.post("/api/focus", &serde_json::json!({ "tool": "claude", "session_id": id }))
    };
    let front = || tmux.run(&["display-message", "-p", "#{window_index}"]).trim().to_owned();
    assert_eq!(front(), "1");
    let answer = focus(FIRST).json();
    assert_eq!(answer["ok"], true, "{answer}");
    assert_eq!(front(), "0");
    assert_eq!(focus("99999999-ee09-4cb8-8902-dd785b12ca0a").status, 404);
    assert_eq!(focus("--help").status, 404);
    assert_eq!(front(), "0");
    assert!(claude.calls().is_empty());
}

/// TV-27.
#[test]
fn kt_74_a_session_that_has_ended_is_resumed_in_a_new_window() {
    let Some(two_windows) = TwoWindows::new() else { return };
    two_windows.tmux.run(&["send-keys", "-t", ":0", "Enter"]);
    wait_until(TIMEOUT, "its end", || {
        let sessions = two_windows.world.sessions();
        sessions.iter().any(|session| session["state"] == "stopped").then_some(())
    });
    let done = two_windows.focus(&[FIRST]);
    assert_eq!(done["done"], "opened", "{done}");
    assert_eq!(two_windows.front(), "2");
    let folder = two_windows.world.hermetic.project();
    two_windows.tmux.wait_for(&format!("resumed in {}", folder.display()), TIMEOUT);
    assert_eq!(two_windows.claude.calls(), [["-r", FIRST].map(str::to_owned).to_vec()]);
}

/// An agent finds its sessions in its own folder only, and a new tab has the variables of the
/// terminal.
#[test]
fn a_session_is_resumed_with_the_home_of_its_agent() {
    let Some(two_windows) = TwoWindows::new() else { return };
    let bin = two_windows.world.hermetic.root().join("bin");
    let seen = two_windows.world.hermetic.root().join("seen");
    let tell = format!(
        "echo \"${{CLAUDE_CONFIG_DIR-none}}|$CODEX_HOME|$*\" >> '{}'; exec sleep 600",
        seen.display()
    );
    let _agents = ["claude", "codex"].map(|name| StandIn::new(&bin, name, &tell));
    let thread = "01a1e176-ae20-78d1-8f3a-b37611a5645c";
    let folder = two_windows.world.hermetic.project();
    let other = two_windows.world.hermetic.root().join("another home");
    let rollout = other.join(format!("sessions/2026/11/18/rollout-{thread}.jsonl"));
    let ended = |id: &str, arguments: &[&str], transcript: Option<&Path>, home: Option<&Path>| {
        for event in ["SessionStart", "SessionEnd"] {
            let payload = serde_json::json!({
                "session_id": id, "cwd": folder, "hook_event_name": event, "reason": "other",
                "source": "startup", "transcript_path": transcript,
            });
            let mut hook = two_windows.world.command("turnbridge-status");
            hook.args(arguments).env_remove("CLAUDE_CONFIG_DIR");
            hook.envs(home.map(|folder| ("CLAUDE_CONFIG_DIR", folder)));
            assert!(feed(hook, payload.to_string().as_bytes()).status.success());
        }
    };
    let plain = "a25c8529-ee09-4cb8-8902-dd785b12ca0a";
    let elsewhere = "b25c8529-ee09-4cb8-8902-dd785b12ca0a";
    ended(plain, &["--origin", "plugin"], None, None);
    ended(elsewhere, &["--origin", "plugin"], None, Some(&other));
    ended(thread, &["--tool", "codex"], Some(&rollout), None);
    let quoted = format!("'{}'", other.display());
    let usual =
        [two_windows.world.hermetic.claude_config_dir(), two_windows.world.hermetic.codex_home()];
    let [claude_home, codex_home] = usual.map(|home| home.display().to_string());
    let other = other.display().to_string();
    for (id, line, environment, told) in [
        (
            plain,
            format!("env -u CLAUDE_CONFIG_DIR claude -r {plain}"),
            serde_json::json!({ "CLAUDE_CONFIG_DIR": null }),
            format!("none|{codex_home}|-r {plain}"),
        ),
        (
            elsewhere,
            format!("CLAUDE_CONFIG_DIR={quoted} claude -r {elsewhere}"),
            serde_json::json!({ "CLAUDE_CONFIG_DIR": other }),
            format!("{other}|{codex_home}|-r {elsewhere}"),
        ),
        (
            thread,
            format!("CODEX_HOME={quoted} codex resume {thread}"),
            serde_json::json!({ "CODEX_HOME": other }),
            format!("{claude_home}|{other}|resume {thread}"),
        ),
    ] {
        let printed = two_windows.focus(&["--print", id]);
        assert_eq!(printed["command"], format!("cd {} && {line}", folder.display()));
        assert_eq!(printed["environment"], environment);
        let pane =
            two_windows.tmux.run(&["display-message", "-p", "#{socket_path},#{pid},0 #{pane_id}"]);
        let (socket, pane) = pane.trim().split_once(' ').unwrap();
        let mut command = two_windows.world.command("turnbridge");
        command.args(["focus", id]).env("TMUX", socket).env("TMUX_PANE", pane);
        let output = feed(command, b"");
        assert_eq!(output.stdout, b"resumed in a new tab or window of tmux\n", "{output:?}");
        wait_until(TIMEOUT, &told, || {
            let seen = fs::read_to_string(&seen).unwrap_or_default();
            seen.lines().any(|line| line == told).then_some(())
        });
    }
}

#[test]
fn kt_74_where_no_terminal_can_be_told_the_command_is_printed() {
    let world = World::new();
    let payload =
        crate::support::world::payload("SessionStart", serde_json::json!({"source": "startup"}));
    let mut payload = payload;
    payload["cwd"] = world.hermetic.project().to_str().unwrap().into();
    world.status(&payload);
    let printed = world.without_paths(&world.turnbridge(&["focus", FIRST]));
    let home = "CLAUDE_CONFIG_DIR=~/home/.claude";
    assert_eq!(printed, format!("cd ~/project && {home} claude -r {FIRST}\n"));
    let output = feed(
        {
            let mut command = world.command("turnbridge");
            command.args(["focus", "nothing"]);
            command
        },
        b"",
    );
    assert_eq!(output.status.code(), Some(1));
}

/// Only one process can have a thread open; a second `codex resume` would disturb the first.
#[test]
fn kt_85_a_codex_that_is_open_in_an_unknown_pane_is_not_resumed_a_second_time() {
    let Some(two_windows) = TwoWindows::new() else { return };
    let codex =
        StandIn::new(&two_windows.world.hermetic.root().join("bin"), "codex", "exec sleep 600");
    // This process is the agent, and it is in no pane.
    let thread = "01a1e176-ae20-78d1-8f3a-b37611a5645c";
    let folder = two_windows.world.hermetic.project();
    let start = serde_json::json!({
        "session_id": thread, "cwd": folder, "hook_event_name": "SessionStart", "source": "startup",
    });
    two_windows.world.hook("turnbridge-status", &["--tool", "codex"], start.to_string().as_bytes());
    // In tmux, where a new window would be possible.
    let pane =
        two_windows.tmux.run(&["display-message", "-p", "#{socket_path},#{pid},0 #{pane_id}"]);
    let (socket, pane) = pane.trim().split_once(' ').unwrap();
    let mut command = two_windows.world.command("turnbridge");
    command.args(["focus", "--json", thread]).env("TMUX", socket).env("TMUX_PANE", pane);
    let output = feed(command, b"");
    assert!(output.status.success(), "{output:?}");
    let done: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(done["done"], "printed", "{done}");
    let line = format!("cd {} && codex resume {thread}", folder.display());
    assert_eq!(done["command"], line);
    let note = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        note,
        "note: Codex has it open in a pane that is not known: go there, or close it there first\n"
    );
    assert_eq!(two_windows.tmux.run(&["list-windows"]).lines().count(), 2);
    assert!(codex.calls().is_empty());
}

/// `codex resume` in a terminal without input yet: the session has no live run.
#[cfg(not(windows))]
#[test]
fn kt_85_a_thread_that_a_codex_has_opened_without_a_turn_is_not_resumed_a_second_time() {
    let Some(two_windows) = TwoWindows::new() else { return };
    let codex =
        StandIn::new(&two_windows.world.hermetic.root().join("bin"), "codex", "exec sleep 600");
    let thread = "01a1e176-ae20-78d1-8f3a-b37611a5645c";
    let folder = two_windows.world.hermetic.project();
    for event in ["SessionStart", "SessionEnd"] {
        let payload = serde_json::json!({
            "session_id": thread, "cwd": folder, "hook_event_name": event, "reason": "other",
        });
        two_windows.world.hook(
            "turnbridge-status",
            &["--tool", "codex"],
            payload.to_string().as_bytes(),
        );
    }
    let locks = two_windows.world.hermetic.codex_home().join("thread-writer-locks");
    std::fs::create_dir_all(&locks).unwrap();
    let terminal = std::fs::File::create(locks.join(format!("{thread}.lock"))).unwrap();
    terminal.try_lock().unwrap();
    let pane =
        two_windows.tmux.run(&["display-message", "-p", "#{socket_path},#{pid},0 #{pane_id}"]);
    let (socket, pane) = pane.trim().split_once(' ').unwrap();
    let focus = || {
        let mut command = two_windows.world.command("turnbridge");
        command.args(["focus", "--json", thread]).env("TMUX", socket).env("TMUX_PANE", pane);
        let output = feed(command, b"");
        assert!(output.status.success(), "{output:?}");
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        (said["done"].clone(), said["open"].clone())
    };
    assert_eq!(focus(), ("printed".into(), true.into()));
    assert!(codex.calls().is_empty());
    drop(terminal);
    assert_eq!(focus(), ("opened".into(), false.into()));
}

/// The board's response to "Go to terminal" in this case.
#[test]
fn where_no_terminal_can_be_told_the_board_gives_the_command() {
    let site = BoardSite::start();
    site.turn("go");
    let order = serde_json::json!({ "tool": "claude", "session_id": FIRST });
    let answer = site.post("/api/focus", &order).json();
    let folder = site.world.hermetic.project();
    let home = site.world.hermetic.claude_config_dir();
    let home = format!("CLAUDE_CONFIG_DIR={}", home.display());
    let expected = serde_json::json!({
        "ok": false, "done": "printed", "terminal": null, "open": true,
        "command": format!("cd {} && {home} claude -r {FIRST}", folder.display()),
    });
    assert_eq!(answer, expected);
}

/// A second `codex resume` would get in the way of the first.
#[cfg(not(windows))]
#[test]
fn kt_85_the_board_gives_no_command_while_a_codex_has_the_thread_open_in_an_unknown_pane() {
    let site = BoardSite::start();
    let thread = "01a1e176-ae20-78d1-8f3a-b37611a5645c";
    let folder = site.world.hermetic.project();
    for event in ["SessionStart", "SessionEnd"] {
        let payload = serde_json::json!({
            "session_id": thread, "cwd": folder, "hook_event_name": event, "reason": "other",
        });
        site.world.hook("turnbridge-status", &["--tool", "codex"], payload.to_string().as_bytes());
    }
    let locks = site.world.hermetic.codex_home().join("thread-writer-locks");
    fs::create_dir_all(&locks).unwrap();
    let terminal = fs::File::create(locks.join(format!("{thread}.lock"))).unwrap();
    terminal.try_lock().unwrap();
    let order = serde_json::json!({ "tool": "codex", "session_id": thread });
    let focus = || site.post("/api/focus", &order).json();
    let mut expected =
        serde_json::json!({ "ok": false, "done": "printed", "terminal": null, "open": true });
    assert_eq!(focus(), expected);
    drop(terminal);
    expected["open"] = false.into();
    expected["command"] = format!("cd {} && codex resume {thread}", folder.display()).into();
    assert_eq!(focus(), expected);
}
