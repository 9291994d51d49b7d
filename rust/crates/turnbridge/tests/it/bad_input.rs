//! Tests hooks with input that is no event, damaged, of wrong types or huge: they exit with 0,
//! print nothing and damage no file. A problem is at most one line in the log.

use serde_json::{Value, json};

use crate::support::world::{SESSION, World, assert_silent_success, feed, payload, recordings};

/// Asserts that the bytes are no event: exactly one log line, and no session is touched.
#[track_caller]
fn is_refused(world: &World, input: &[u8]) {
    let before = world.hooks_log().len();
    world.hook("turnbridge-status", &["--origin", "plugin"], input);
    let log = world.hooks_log();
    assert_eq!(log.len(), before + 1, "{log:?}");
    assert_eq!(log[before]["message"], "the input is no hook event");
    assert_eq!(log[before]["bytes"], input.len());
}

#[test]
fn every_recording_cut_at_every_97th_byte_leaves_one_line_in_the_log() {
    let world = World::new();
    world.status(&payload("UserPromptSubmit", json!({"prompt": "before"})));
    let file = std::fs::read(world.session_file(SESSION)).unwrap();
    for (_, bytes) in recordings() {
        for length in (0..bytes.trim_ascii_end().len()).step_by(97) {
            is_refused(&world, &bytes[..length]);
        }
    }
    assert_eq!(std::fs::read(world.session_file(SESSION)).unwrap(), file);
    assert_eq!(world.sessions().len(), 1);
}

#[test]
fn what_is_no_event_at_all_is_refused() {
    let world = World::new();
    let inputs: [&[u8]; 9] = [
        b"",
        b"\n",
        b"\0\0\0\0",
        b"\xff\xfe\xfd",
        b"not json",
        b"[1,2,3]",
        b"{\"hook_event_name\":[],\"session_id\":{}}",
        b"{\"hook_event_name\":\"Stop\",\"session_id\":\"../../../etc/passwd\"}",
        b"{\"hook_event_name\":\"Stop\",\"session_id\":\"a\"} {\"trailing\":1}",
    ];
    for input in inputs {
        is_refused(&world, input);
    }
    is_refused(&world, "[".repeat(1_000_000).as_bytes());
    assert!(world.sessions().is_empty());
    // The log names the error, never the content.
    let log = serde_json::to_string(&world.hooks_log()).unwrap();
    assert!(!log.contains("passwd") && !log.contains("not json"), "{log}");
}

#[test]
fn every_field_of_every_recording_with_a_wrong_type_breaks_nothing() {
    for (_, bytes) in recordings() {
        let world = World::new();
        let recorded: Value = serde_json::from_slice(&bytes).unwrap();
        let names: Vec<String> = recorded.as_object().unwrap().keys().cloned().collect();
        for (index, name) in names.iter().enumerate() {
            let mut changed = recorded.clone();
            let wrong = [json!(7), json!({"x": [null]}), json!([]), Value::Null, json!(true)];
            changed[name] = wrong[index % wrong.len()].clone();
            world.status(&changed);
        }
        for session in world.sessions() {
            assert!(session["state"].is_string());
        }
    }
}

#[test]
fn a_wrong_type_in_a_field_that_can_be_missed_is_logged_and_the_event_counts() {
    let world = World::new();
    world.status(&payload("UserPromptSubmit", json!({"cwd": 7, "prompt": ["x"]})));
    assert_eq!(world.sessions()[0]["state"], "working");
    assert_eq!(world.hooks_log()[0]["problems"], json!(["input: cwd", "input: prompt"]));
}

#[test]
fn an_event_that_is_not_ours_is_passed_over_in_silence() {
    let world = World::new();
    world.status(&payload("SomeFutureEvent", json!({"new": [1]})));
    assert!(world.sessions().is_empty());
    assert!(world.hooks_log().is_empty());
}

#[test]
fn twenty_megabytes_of_tool_output_are_streamed_past() {
    let world = World::new();
    let output = "0123456789abcdef\\n\"日本\"".repeat(1_000_000);
    let big = payload("PostToolUse", json!({"tool_name": "Bash", "tool_response": output}));
    let big = big.to_string();
    assert!(big.len() > 20_000_000);
    world.hook("turnbridge-status", &["--origin", "plugin"], big.as_bytes());
    assert_eq!(world.sessions()[0]["state"], "working");
    assert!(world.hooks_log().is_empty());
}

#[test]
fn text_that_is_not_utf_8_is_logged_and_the_event_counts() {
    let world = World::new();
    let mut input =
        payload("UserPromptSubmit", json!({"prompt": "PROMPT"})).to_string().into_bytes();
    let at = input.windows(6).position(|window| window == b"PROMPT").unwrap();
    input[at] = 0xff;
    world.hook("turnbridge-status", &["--origin", "plugin"], &input);
    assert_eq!(world.sessions()[0]["prompt"], "\u{fffd}ROMPT");
    assert_eq!(world.hooks_log()[0]["problems"], json!(["input: not UTF-8"]));
}

#[test]
fn a_session_file_that_was_damaged_is_begun_anew() {
    let world = World::new();
    for damage in ["", "{", "null", "{\"version\":0}"] {
        world.status(&payload("UserPromptSubmit", json!({"prompt": "x"})));
        std::fs::write(world.session_file(SESSION), damage).unwrap();
        world.status(&payload("PermissionRequest", json!({"tool_name": "Bash"})));
        assert_eq!(world.sessions()[0]["state"], "waiting_user");
    }
    assert_eq!(world.hooks_log().len(), 4);
}

#[test]
fn unknown_arguments_do_not_disturb_a_hook() {
    let world = World::new();
    let mut command = world.command("turnbridge-status");
    command.args(["--from-the-future", "--origin"]);
    let input = payload("UserPromptSubmit", json!({"prompt": "x"})).to_string();
    assert_silent_success(&feed(command, input.as_bytes()));
    assert_eq!(world.sessions().len(), 1);
}

#[cfg(unix)]
#[test]
fn streams_that_are_closed_are_not_mistaken_for_files() {
    let world = World::with_gate();
    let script = "exec \"$0\" --origin plugin 2>&- >&-";
    let mut command = world.hermetic.command("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_turnbridge-stop-gate")]);
    let stop = payload("Stop", json!({"last_assistant_message": "x", "prompt_id": "p"}));
    let output = feed(command, stop.to_string().as_bytes());
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    // None of its files contains the text.
    let session =
        std::fs::read_to_string(world.session_file(crate::support::world::SESSION)).unwrap();
    assert!(session.ends_with('}'), "{session}");
    assert_eq!(world.decisions().len(), 1);
}
