//! Tests the data that tvine and Kawaii Terminal get from hooks.

use serde_json::{Value, json};

use crate::schemas;
use crate::support::world::{SESSION, World, lines_of, payload};

fn turn() -> Vec<Value> {
    vec![
        payload("SessionStart", json!({"source": "startup"})),
        payload("UserPromptSubmit", json!({"prompt": "go"})),
        payload(
            "PreToolUse",
            json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "x"}}),
        ),
        payload("PermissionRequest", json!({"tool_name": "Bash", "tool_input": {"command": "x"}})),
        payload("Notification", json!({"notification_type": "permission_prompt"})),
        payload(
            "PostToolUse",
            json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "x"}}),
        ),
        payload("PostToolBatch", json!({"tool_calls": []})),
        payload("Notification", json!({"notification_type": "idle_prompt"})),
        payload("Stop", json!({"last_assistant_message": "done"})),
        payload("Notification", json!({"notification_type": "idle_prompt"})),
        payload("UserPromptSubmit", json!({"prompt": "again"})),
        payload("StopFailure", json!({"error": "server_error"})),
        payload("SessionEnd", json!({"reason": "other"})),
    ]
}

/// KT-27 to KT-30.
#[test]
fn kawaii_gets_a_line_for_its_six_events_and_for_every_change_kt_32_to_41_x39() {
    let world = World::new();
    let path = world.hermetic.root().join("kawaii.jsonl");
    let debug = world.hermetic.root().join("debug.jsonl");
    let world = world
        .with("KAWAII_NOTIFY_PATH", path.to_str().unwrap())
        .with("KAWAII_NOTIFY_DEBUG_PATH", debug.to_str().unwrap())
        .with("KAWAII_PANE_ID", "pane-7")
        .with("KAWAII_TERMINAL_INSTANCE_ID", "i1");
    turn().iter().for_each(|payload| world.status(payload));
    let lines = lines_of(&std::fs::read_to_string(path).unwrap());
    for line in &lines {
        schemas::check("kawaii-line", line);
        assert_eq!(line["source"], "claude");
        assert_eq!(line["session_id"], SESSION);
        assert_eq!(line["pane_id"], "pane-7");
        assert_eq!(line["instance_id"], "i1");
        assert!(line["timestamp"].as_str().unwrap().ends_with('Z'));
    }
    let told: Vec<_> = lines
        .iter()
        .map(|line| {
            let error = line["error"].as_str().map(|error| format!(" {error}"));
            format!(
                "{} {}{}",
                line["hook"].as_str().unwrap(),
                line["event"].as_str().unwrap(),
                error.unwrap_or_default()
            )
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"), @"
    SessionStart completed
    UserPromptSubmit working
    PermissionRequest waiting_user
    Notification waiting_user
    PostToolUse working
    Stop completed
    UserPromptSubmit working
    StopFailure completed server_error
    SessionEnd stopped
    ");
    // KT-30: the raw input.
    assert_eq!(lines_of(&std::fs::read_to_string(debug).unwrap()), turn());
}

#[test]
fn without_a_pane_kawaii_gets_nothing_kt_35() {
    let world = World::new();
    let path = world.hermetic.root().join("kawaii.jsonl");
    let world = world.with("KAWAII_NOTIFY_PATH", path.to_str().unwrap());
    turn().iter().for_each(|payload| world.status(payload));
    assert!(!path.exists());
    assert!(world.hooks_log().is_empty());
}

/// TV-2, TV-11, TV-12..19, TV-26, X3, X6. The order of the two is tested beside the code (TV-23).
#[cfg(unix)]
#[test]
fn tvine_gets_a_file_and_the_same_line_on_its_socket_tv_21_22_x4() {
    use std::io::Read;
    use std::os::unix::net::UnixListener;
    let world = World::new();
    let project = world.hermetic.root().join("tvine-project");
    let socket = world.hermetic.root().join("t.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let world = world
        .with("TVINE_PROJECT_DIR", project.to_str().unwrap())
        .with("TVINE_SESSION_ID", "tv-1")
        .with("TVINE_SOCKET_PATH", socket.to_str().unwrap());
    let status_file = project.join("sessions/tv-1/status.json");
    let mut told = Vec::new();
    for payload in turn() {
        world.status(&payload);
        listener.set_nonblocking(true).unwrap();
        let mut message = String::new();
        if let Ok((mut stream, _)) = listener.accept() {
            stream.read_to_string(&mut message).unwrap();
            let file = std::fs::read_to_string(&status_file).unwrap();
            assert_eq!(message, format!("{file}\n"));
            let message: Value = serde_json::from_str(&message).unwrap();
            schemas::check("tvine-status", &message);
            assert_eq!(message["session_id"], "tv-1");
            assert_eq!(message["agent_session_id"], SESSION);
            told.push(format!(
                "{} {}",
                message["event"].as_str().unwrap(),
                message["status"].as_str().unwrap()
            ));
        } else {
            told.push(format!("({}: nothing)", payload["hook_event_name"].as_str().unwrap()));
        }
    }
    insta::assert_snapshot!(told.join("\n"), @"
    SessionStart Idle
    UserPromptSubmit Busy
    PreToolUse Busy
    PermissionRequest Waiting
    Notification Waiting
    PostToolUse Busy
    PostToolBatch Busy
    (Notification: nothing)
    Stop Idle
    Notification Idle
    UserPromptSubmit Busy
    StopFailure Idle
    SessionEnd Idle
    ");
    // TV-26: the app is gone, and the file is still written.
    drop(listener);
    world.status(&payload("UserPromptSubmit", json!({"prompt": "alone"})));
    let file: Value = serde_json::from_slice(&std::fs::read(&status_file).unwrap()).unwrap();
    assert_eq!(file["status"], "Busy");
    assert!(world.hooks_log().is_empty());
}

#[test]
fn a_sink_that_fails_is_logged_and_the_others_are_served() {
    let world = World::new();
    let taken = world.hermetic.root().join("taken");
    std::fs::write(&taken, "a file, not a folder").unwrap();
    let path = world.hermetic.root().join("kawaii.jsonl");
    let world = world
        .with("TVINE_PROJECT_DIR", taken.to_str().unwrap())
        .with("TVINE_SESSION_ID", "../escape")
        .with("KAWAII_NOTIFY_PATH", path.to_str().unwrap())
        .with("KAWAII_PANE_ID", "p");
    world.status(&payload("UserPromptSubmit", json!({"prompt": "x"})));
    let world = world.with("TVINE_SESSION_ID", "fine");
    world.status(&payload("Stop", json!({})));
    assert_eq!(lines_of(&std::fs::read_to_string(path).unwrap()).len(), 2);
    assert_eq!(world.hooks_log().len(), 2);
    assert!(!world.hermetic.root().join("escape").exists());
}

#[test]
fn a_sub_agent_of_an_unknown_session_tells_nobody_that_it_stopped() {
    let world = World::new();
    let path = world.hermetic.root().join("kawaii.jsonl");
    let world =
        world.with("KAWAII_NOTIFY_PATH", path.to_str().unwrap()).with("KAWAII_PANE_ID", "p");
    world.status(&payload("PreToolUse", json!({"tool_name": "Bash", "agent_id": "a"})));
    world.status(&payload("SubagentStop", json!({"agent_id": "a"})));
    assert!(!path.exists());
    assert!(world.sessions().is_empty());
    // After its end there is no output either.
    world.status(&payload("SessionStart", json!({"source": "startup"})));
    world.status(&payload("SessionEnd", json!({"reason": "other"})));
    world.status(&payload("SubagentStop", json!({"agent_id": "a"})));
    assert_eq!(lines_of(&std::fs::read_to_string(path).unwrap()).len(), 2);
}
