//! Tests two hundred parallel hooks: no file is torn, no event is lost, and the newest event
//! decides. Also tests a clock that was set back.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::support::world::{SESSION, World, assert_silent_success, lines_of, payload};

const HOOKS: usize = 200;

/// Starts a hook whose event is `number` microseconds after the others' common start.
fn start(world: &World, payload: &Value, number: usize) -> Child {
    let mut command = world.command("turnbridge-status");
    command
        .args(["--origin", "plugin"])
        .env("TURNBRIDGE_NOW", (1_800_000_000_000_000 + number as i64).to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    child
}

fn world_with_sinks() -> World {
    let world = World::new();
    let at = |name: &str| world.hermetic.root().join(name).to_str().unwrap().to_owned();
    let (tvine, kawaii) = (at("tvine"), at("kawaii.jsonl"));
    world
        .with("TVINE_PROJECT_DIR", &tvine)
        .with("TVINE_SESSION_ID", SESSION)
        .with("KAWAII_NOTIFY_PATH", &kawaii)
        .with("KAWAII_PANE_ID", "p1")
}

/// Polls a JSON file, and asserts that it is complete every time.
fn poll(path: &Path, stop: &AtomicBool) -> usize {
    let mut reads = 0;
    while !stop.load(Ordering::Relaxed) {
        if let Ok(bytes) = std::fs::read(path) {
            let parsed = serde_json::from_slice::<Value>(&bytes);
            assert!(parsed.is_ok(), "torn: {}", String::from_utf8_lossy(&bytes));
            reads += 1;
        }
        std::thread::yield_now();
    }
    reads
}

#[test]
fn two_hundred_hooks_on_one_session_leave_every_file_whole_and_the_newest_event_on_top() {
    let world = world_with_sinks();
    let events: Vec<Value> = (0..HOOKS)
        .map(|number| match number % 3 {
            0 => payload("UserPromptSubmit", json!({"prompt": format!("prompt {number}")})),
            1 => payload("SessionStart", json!({"source": "resume", "n": number})),
            _ => payload("PermissionRequest", json!({"tool_name": "Bash", "n": number})),
        })
        .collect();
    let stop = AtomicBool::new(false);
    let status = world.hermetic.root().join("tvine/sessions").join(SESSION).join("status.json");
    std::thread::scope(|scope| {
        let pollers = [world.session_file(SESSION), status.clone()].map(|path| {
            scope.spawn({
                let stop = &stop;
                move || poll(&path, stop)
            })
        });
        // Newest first, so that the order of arrival differs from the order of the events.
        let children: Vec<_> =
            (0..HOOKS).rev().map(|number| start(&world, &events[number], number)).collect();
        for child in children {
            assert_silent_success(&child.wait_with_output().unwrap());
        }
        stop.store(true, Ordering::Relaxed);
        for poller in pollers {
            assert!(poller.join().unwrap() > 0);
        }
    });
    assert!(world.hooks_log().is_empty(), "{:?}", world.hooks_log());
    let sessions = world.sessions();
    // 199 % 3 == 1: a SessionStart was the newest.
    assert_eq!(sessions[0]["state"], "completed");
    assert_eq!(sessions[0]["last_event"], "SessionStart");
    assert_eq!(sessions[0]["last_event_at"], "2027-01-15T08:00:00.000199Z");
    let status: Value = serde_json::from_slice(&std::fs::read(status).unwrap()).unwrap();
    assert_eq!(status["status"], "Idle");
    let lines = std::fs::read_to_string(world.hermetic.root().join("kawaii.jsonl")).unwrap();
    let lines = lines_of(&lines);
    assert_eq!(lines.last().unwrap()["timestamp"], "2027-01-15T08:00:00.000199Z");
}

#[test]
fn two_hundred_hooks_on_fifty_sessions_are_all_counted() {
    let world = world_with_sinks();
    let of_session = |number: usize, event: &str| {
        let mut payload = payload(event, json!({"prompt": "x", "source": "startup"}));
        payload["session_id"] = json!(format!("session-{}", number % 50));
        payload
    };
    let events = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest"];
    let children: Vec<_> = (0..HOOKS)
        .map(|number| start(&world, &of_session(number, events[number / 50]), number))
        .collect();
    for child in children {
        assert_silent_success(&child.wait_with_output().unwrap());
    }
    assert!(world.hooks_log().is_empty(), "{:?}", world.hooks_log());
    let sessions = world.sessions();
    assert_eq!(sessions.len(), 50);
    for session in sessions {
        assert_eq!(session["state"], "waiting_user", "{session}");
    }
    let lines = std::fs::read_to_string(world.hermetic.root().join("kawaii.jsonl")).unwrap();
    assert!(lines_of(&lines).len() >= 50);
}

#[test]
fn a_clock_set_back_by_an_hour_does_not_freeze_a_session() {
    let world = World::new();
    let call = |event: &str, seconds: i64| {
        let child = start(
            &world,
            &payload(event, json!({"prompt": "x", "tool_name": "Bash"})),
            usize::try_from(seconds * 1_000_000).unwrap(),
        );
        assert_silent_success(&child.wait_with_output().unwrap());
        world.sessions()[0]["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(call("UserPromptSubmit", 7_200), "working");
    assert_eq!(call("PermissionRequest", 7_190), "working", "ten seconds late: dropped");
    assert_eq!(call("PermissionRequest", 3_600), "waiting_user");
    assert_eq!(call("PostToolUse", 3_601), "working");
}
