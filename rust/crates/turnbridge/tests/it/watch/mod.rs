//! Tests `turnbridge watch --json`, the output for programs. `terminal` tests the view for users.

#[cfg(unix)]
mod terminal;

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::schemas;
use crate::support::world::{World, payload};

const TIMEOUT: Duration = Duration::from_secs(60);

/// Returns the id of the nth session.
fn id(number: u32) -> String {
    format!("825c8529-ee09-4cb8-8902-{number:012}")
}

/// Calls a hook of the nth session, whose project has its own name.
#[track_caller]
fn hook(world: &World, number: u32, project: &str, event: &str, more: Value) {
    let mut payload = payload(event, more);
    payload["session_id"] = json!(id(number));
    payload["cwd"] = json!(format!("/home/user/{project}"));
    world.status(&payload);
}

struct WatchProcess {
    child: Child,
    lines: Receiver<String>,
}

impl WatchProcess {
    fn start(world: &World, arguments: &[&str]) -> WatchProcess {
        let mut command = world.command("turnbridge");
        command.args(["watch", "--json"]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            stdout.lines().map_while(Result::ok).all(|line| sender.send(line).is_ok())
        });
        WatchProcess { child, lines }
    }

    #[track_caller]
    fn next(&self) -> Value {
        let line = self.lines.recv_timeout(TIMEOUT).expect("a line");
        let value: Value = serde_json::from_str(&line).expect(&line);
        schemas::check("watch", &value);
        value
    }

    #[track_caller]
    fn next_told(&self) -> String {
        let line = self.next();
        let session = &line["session"];
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        [&line["kind"], &session["project"], &session["state"]].map(text).join(" ")
    }
}

impl Drop for WatchProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn every_live_session_is_told_first_and_then_every_change() {
    let world = World::new();
    hook(&world, 1, "alpha", "UserPromptSubmit", json!({"prompt": "x"}));
    hook(&world, 2, "omega", "SessionEnd", json!({"reason": "other"}));
    let watching = WatchProcess::start(&world, &[]);
    assert_eq!(watching.next_told(), "present alpha working");
    assert_eq!(watching.next_told(), "ready - -");
    hook(&world, 1, "alpha", "PermissionRequest", json!({"tool_name": "Bash"}));
    assert_eq!(watching.next_told(), "changed alpha waiting_user");
    hook(&world, 3, "beta", "SessionStart", json!({"source": "startup"}));
    assert_eq!(watching.next_told(), "changed beta completed");
    hook(&world, 1, "alpha", "SessionEnd", json!({"reason": "other"}));
    assert_eq!(watching.next_told(), "changed alpha stopped");
    std::fs::remove_file(world.session_file(&id(2))).unwrap();
    let removed = watching.next();
    assert_eq!(
        removed,
        json!({"kind": "removed", "version": 1, "tool": "claude", "session_id": id(2)})
    );
}

#[test]
fn stopped_sessions_are_told_when_they_are_asked_for_and_a_first_session_is_seen() {
    let world = World::new();
    let watching = WatchProcess::start(&world, &[]);
    assert_eq!(watching.next_told(), "ready - -");
    hook(&world, 2, "omega", "SessionStart", json!({"source": "startup"}));
    assert_eq!(watching.next_told(), "changed omega completed", "there was no folder before");
    hook(&world, 2, "omega", "SessionEnd", json!({"reason": "other"}));
    let all = WatchProcess::start(&world, &["--all"]);
    assert_eq!(all.next_told(), "present omega stopped");
}

#[test]
fn what_no_hook_tells_is_told_too() {
    let world = World::new();
    hook(&world, 1, "alpha", "UserPromptSubmit", json!({"prompt": "x"}));
    let watching = WatchProcess::start(&world, &[]);
    assert_eq!(watching.next_told(), "present alpha working");
    assert_eq!(watching.next_told(), "ready - -");
    let transcript = json!({
        "type": "user",
        "timestamp": "2090-01-01T00:00:00.000Z",
        "message": {"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user]"}]},
    });
    let path = world.hermetic.root().join("transcript.jsonl");
    let mut prompt = payload("UserPromptSubmit", json!({"prompt": "y"}));
    prompt["session_id"] = json!(id(1));
    prompt["cwd"] = json!("/home/user/alpha");
    prompt["transcript_path"] = json!(path);
    world.status(&prompt);
    assert_eq!(watching.next_told(), "changed alpha working");
    std::fs::write(&path, format!("{transcript}\n")).unwrap();
    assert_eq!(watching.next_told(), "changed alpha completed");
}

#[cfg(unix)]
#[test]
fn it_ends_quietly_when_nobody_reads_any_more() {
    let world = World::new();
    hook(&world, 1, "alpha", "UserPromptSubmit", json!({"prompt": "x"}));
    let mut command = world.command("turnbridge");
    command.args(["watch", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    reader.read_line(&mut String::new()).unwrap();
    drop(reader);
    // Without any change that it could have written.
    let status = testkit::wait_until(TIMEOUT, "its end", || child.try_wait().unwrap());
    let mut errors = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut errors).unwrap();
    assert_eq!((status.code(), errors.as_str()), (Some(0), ""));
}

#[test]
fn the_schema_is_no_rubber_stamp() {
    for bad in [
        json!({}),
        json!({"kind": "present", "version": 1}),
        json!({"kind": "removed", "version": 2, "tool": "claude", "session_id": "x"}),
    ] {
        assert!(!schemas::is_valid("watch", &bad), "{bad}");
    }
}

#[test]
fn where_nothing_can_be_drawn_other_ways_are_named() {
    let world = World::new();
    let output = world.command("turnbridge").arg("watch").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(String::from_utf8(output.stderr).unwrap(), @"
    error: this is no terminal to draw on
    hint: `turnbridge sessions` prints a table, `turnbridge watch --json` every change
    ");
}
