//! Tests `turnbridge pane`: it shows the session in each pane, from the reports of hooks, shells
//! and hosts.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::wait_until;

use crate::schemas;
use crate::support::world::{SESSION, World, feed, lines_of, payload};

const TIMEOUT: Duration = Duration::from_secs(30);
const THREAD: &str = "925c8529-ee09-4cb8-8902-dd785b12ca0a";

impl World {
    fn panes(&self) -> Value {
        serde_json::from_str::<Value>(&self.turnbridge(&["pane", "list", "--json"])).unwrap()
            ["panes"]
            .clone()
    }

    /// Returns `pane session state` of every line.
    fn shown(&self) -> Vec<String> {
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let row = |pane: &Value| ["pane", "session_id", "state"].map(|key| text(&pane[key]));
        self.panes().as_array().unwrap().iter().map(|pane| row(pane).join(" ")).collect()
    }

    fn state(&self, id: &str) -> Value {
        let sessions = self.sessions();
        let session = sessions.iter().find(|session| session["session_id"] == id);
        session.map_or(Value::Null, |session| session["state"].clone())
    }

    /// Begins a rollout of Codex in the folder, now.
    fn write_rollout(&self, thread: &str, cwd: &str, at: &str) -> PathBuf {
        let folder = self.hermetic.codex_home().join("sessions/2026/11/16");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("rollout-2026-11-16T10-00-00-{thread}.jsonl"));
        let lines = [
            json!({"timestamp": at, "type": "session_meta",
                "payload": {"id": thread, "cwd": cwd, "source": "cli", "cli_version": "0.166.0"}}),
            json!({"timestamp": at, "type": "event_msg",
                "payload": {"type": "task_started", "turn_id": "t1"}}),
        ];
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(&path, text).unwrap();
        path
    }
}

fn prompt() -> Value {
    payload("UserPromptSubmit", json!({"prompt": "x"}))
}

fn refused(world: &World, arguments: &[&str]) -> String {
    let output = world.command("turnbridge").args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// KT-75.
#[test]
fn kt_44_56_73_claudes_pane_is_known_from_its_hooks_until_it_is_left() {
    for leaving in ["prompt", "close"] {
        let world = World::new().with("KAWAII_PANE_ID", "p1");
        let notes = world.hermetic.root().join("kawaii.jsonl");
        let world = world.with("KAWAII_NOTIFY_PATH", notes.to_str().unwrap());
        world.status(&prompt());
        assert!(!world.hermetic.state_dir().join("panes.json").exists(), "no hook writes it");
        assert_eq!(world.shown(), [format!("kawaii:p1 {SESSION} working")]);
        world.turnbridge(&["pane", leaving, "--pane", "kawaii:p2"]);
        assert_eq!(world.state(SESSION), "working");
        // By the terminal's own name for it, and without a name in the pane itself.
        let here = ["pane", leaving];
        let named = ["pane", leaving, "--pane", "p1"];
        world.turnbridge(if leaving == "prompt" { &here } else { &named });
        assert_eq!(world.state(SESSION), "stopped");
        assert!(world.shown().is_empty());
        let told = lines_of(&fs::read_to_string(notes).unwrap());
        let events: Vec<_> = told.iter().map(|line| line["event"].clone()).collect();
        assert_eq!(events, ["working", "stopped"]);
        world.status(&prompt());
        assert_eq!(world.state(SESSION), "working", "the user came back to it");
    }
}

/// KT-57: a launch is no state.
#[test]
fn kt_67_69_72_threads_of_codex_are_bound_by_launches_without_any_daemon() {
    let world = World::new();
    let project = world.hermetic.project();
    let cwd = project.to_str().unwrap();
    world.turnbridge(&["pane", "launch", "--pane", "kitty:1", "--", "codex", "resume", THREAD]);
    world.turnbridge(&["pane", "launch", "--pane", "kitty:2", "--line", "X=1 codex 'do it'"]);
    world.turnbridge(&["pane", "launch", "--pane", "kitty:3", "--", "vim", "codex"]);
    assert_eq!(world.shown(), ["kitty:1 - -", "kitty:2 - -"]);
    assert_eq!(world.panes()[1]["waiting"], true);
    world.write_rollout(THREAD, "/elsewhere", "2026-01-01T00:00:00.000Z");
    let new = "a25c8529-ee09-4cb8-8902-dd785b12ca0a";
    world.write_rollout(new, cwd, "2096-01-01T00:00:00.000Z");
    assert_eq!(world.shown(), [format!("kitty:1 {THREAD} -"), format!("kitty:2 {new} -")]);
    world.turnbridge(&["pane", "prompt", "--pane", "kitty:1", "--cwd", cwd]);
    world.turnbridge(&["pane", "launch", "--pane", "kitty:2", "--", "codex", "exec", "hi"]);
    assert_eq!(world.shown(), ["kitty:2 - -"]);
    assert_eq!(world.panes()[0]["waiting"], false);
}

#[test]
fn a_line_that_goes_to_another_folder_first_waits_there() {
    let world = World::new();
    let inner = world.hermetic.project().join("inner");
    fs::create_dir(&inner).unwrap();
    world.turnbridge(&["pane", "launch", "--pane", "kitty:1", "--line", "cd inner && codex"]);
    let mut command = world.command("turnbridge");
    let arguments =
        ["pane", "launch", "--pane", "kitty:2", "--line", "-", "--syntax", "powershell"];
    command.args(arguments);
    assert!(feed(command, b"codex -C inner `\n").status.success());
    world.write_rollout(THREAD, inner.to_str().unwrap(), "2096-01-01T00:00:00.000Z");
    assert_eq!(world.shown(), [format!("kitty:1 {THREAD} -"), "kitty:2 - -".to_owned()]);
}

#[test]
fn kt_85_where_a_thread_is_shown_is_not_certain_the_list_says_what_to_do() {
    let world = World::new();
    let hint = "which thread belongs to which of the waiting panes cannot be told for certain; \
                `codex resume ID` in a new tab shows the one you mean\n";
    world.turnbridge(&["pane", "launch", "--pane", "kitty:1", "--", "codex"]);
    let one = world.turnbridge(&["pane", "list"]);
    assert_eq!(one, "kitty:1  codex  (its thread has not begun)  -\n");
    world.turnbridge(&["pane", "launch", "--pane", "kitty:2", "--", "codex"]);
    let two = world.turnbridge(&["pane", "list"]);
    assert_eq!(two, format!("{one}{}{hint}", one.replace("kitty:1", "kitty:2")));
}

#[test]
fn a_pane_that_nobody_names_and_a_name_that_is_none_are_refused() {
    let world = World::new();
    insta::assert_snapshot!(refused(&world, &["pane", "prompt"]), @"
    error: this terminal does not say which pane this is
    hint: name it with `--pane ID`, or run this in tmux, Zellij, WezTerm, kitty, iTerm2 or Windows Terminal
    ");
    insta::assert_snapshot!(refused(&world, &["pane", "close", "--pane", "a\u{1b}[0m"]), @r#"
    error: "a\u{1b}[0m" is no pane
    hint: a pane's name is one line of printable characters; see `turnbridge pane list`
    "#);
    assert_eq!(world.turnbridge(&["pane", "list"]), "no pane shows a session\n");
}

#[test]
fn kt_44_82_a_scanned_stream_tells_events_and_acts_on_them() {
    let world = World::new().with("KAWAII_PANE_ID", "p1");
    world.status(&prompt());
    world.turnbridge(&["pane", "launch", "--pane", "kawaii:p2", "--", "claude"]);
    let scan = |arguments: &[&str], bytes: &[u8]| -> Vec<Value> {
        let mut command = world.command("turnbridge");
        command.args(["pane", "scan"]).args(arguments);
        let output = feed(command, bytes);
        assert!(output.status.success(), "{output:?}");
        let told = lines_of(&String::from_utf8(output.stdout).unwrap());
        told.iter().for_each(|line| schemas::check("pane-scan", line));
        told
    };
    let stream = b"\x1b]7;file://host/a%20b\x1b\\$ \x1b]0;t\x07";
    let told = scan(&[], stream);
    let events: Vec<_> = told.iter().map(|line| line["event"].clone()).collect();
    assert_eq!(events, ["cwd", "prompt", "title"]);
    assert_eq!((&told[0]["path"], &told[0]["pane"]), (&json!("/a b"), &json!("kawaii:p1")));
    assert_eq!(world.state(SESSION), "working", "it was only told");
    scan(&["--act", "--pane", "kawaii:p2"], stream);
    assert_eq!(world.state(SESSION), "working");
    scan(&["--act", "--json"], stream);
    assert_eq!(world.state(SESSION), "stopped");
    world.status(&prompt());
    scan(&["--act"], b"the stream ends, and with it the pane");
    assert_eq!(world.state(SESSION), "stopped");
}

#[test]
fn kt_82_it_is_noted_that_the_output_of_a_pane_has_stopped_and_goes_on() {
    let world = World::new().with("KAWAII_PANE_ID", "p1");
    world.turnbridge(&["pane", "launch", "--", "claude"]);
    let mut command = world.command("turnbridge");
    command.args(["pane", "scan", "--act", "--quiet", "0.05"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut scan = ProcessGuard(command.spawn().unwrap());
    let mut stdin = scan.0.stdin.take().unwrap();
    let stopped_at = || world.panes()[0]["output_stopped_at"].clone();
    stdin.write_all(b"busy").unwrap();
    let first = wait_until(TIMEOUT, "a stop", || Some(stopped_at()).filter(Value::is_string));
    stdin.write_all(b"busy again").unwrap();
    wait_until(TIMEOUT, "another stop", || {
        Some(stopped_at()).filter(|at| at.is_string() && *at != first)
    });
    drop(stdin);
    assert!(scan.0.wait().unwrap().success());
    assert!(world.shown().is_empty(), "the pane is closed");
}

/// A process that a drop ends.
struct ProcessGuard(Child);

impl Drop for ProcessGuard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// KT-3, KT-58.
#[cfg(unix)]
#[test]
fn kt_69_the_daemon_binds_a_new_thread_and_tells_the_panes_host_of_it() {
    let world = World::new();
    let notes = world.hermetic.root().join("kawaii.jsonl");
    let mut command = world.command("turnbridge");
    command.args(["daemon", "--foreground"]).stdin(Stdio::null()).stderr(Stdio::null());
    let _daemon = ProcessGuard(command.spawn().unwrap());
    wait_until(TIMEOUT, "the daemon", || {
        let status = world.turnbridge(&["daemon", "status", "--json"]);
        serde_json::from_str::<Value>(&status).unwrap()["running"].as_bool().filter(|up| *up)
    });
    let mut launch = world.command("turnbridge");
    launch.env("KAWAII_PANE_ID", "p7").env("KAWAII_NOTIFY_PATH", &notes);
    assert!(launch.args(["pane", "launch", "--", "codex"]).status().unwrap().success());
    let cwd = world.hermetic.project();
    let now = turnbridge_store::clock::now().to_string();
    world.write_rollout(THREAD, cwd.to_str().unwrap(), &now);
    let registry = world.hermetic.state_dir().join("panes.json");
    wait_until(TIMEOUT, "the binding, by nobody but the daemon", || {
        fs::read_to_string(&registry).ok().filter(|text| text.contains(THREAD))
    });
    let told = wait_until(TIMEOUT, "what the pane's host is told", || {
        let text = fs::read_to_string(&notes).ok().filter(|text| text.ends_with('\n'))?;
        lines_of(&text).into_iter().next()
    });
    assert_eq!((&told["source"], &told["pane_id"]), (&json!("codex"), &json!("p7")));
    assert_eq!((&told["event"], &told["session_id"]), (&json!("working"), &json!(THREAD)));
    world.turnbridge(&["pane", "prompt", "--pane", "p7"]);
    assert_eq!(world.state(THREAD), "stopped");
    let told = lines_of(&fs::read_to_string(&notes).unwrap());
    assert_eq!(told.last().unwrap()["event"], "stopped");
}
