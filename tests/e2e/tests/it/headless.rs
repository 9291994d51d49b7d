//! Tests one turn of `claude -p`: what it reports to hosts, sessions and turn records.

use std::process::Stdio;

use serde_json::{Value, json};
use testkit::ModelReply;

use crate::support::gates;
use crate::support::hosts::{INSTANCE, PANE, TVINE_SESSION, pairs};
use crate::support::world::{ApiWorld, SessionSelection, repository, stdout_of};

/// TV-12..15, TV-17, TV-22, KT-33, KT-36, KT-37, KT-39, KT-40, X39. No dialog opens here.
#[test]
fn a_headless_turn_with_a_tool_is_told_to_everyone_in_order_and_adds_nothing_to_the_answer() {
    let Some(claude) = gates::fast() else { return };
    let script = vec![
        ModelReply::tool("Bash", json!({"command": "echo one", "description": "Say one"})),
        ModelReply::text("One was said."),
    ];
    let world = ApiWorld::new(claude, script);
    let project = world.hermetic.project();
    let mut command = world.claude();
    command.args(["-p", "say one", "--allowedTools", "Bash"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let process = command.spawn().expect("start claude");
    let pid = process.id();
    let output = process.wait_with_output().expect("wait for claude");

    assert_eq!(stdout_of(&output), "One was said.\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");

    let lines = world.kawaii.lines();
    assert_eq!(pairs(&lines, "event", "hook"), KAWAII_LINES);
    let messages = world.tvine.messages();
    assert_eq!(pairs(&messages, "status", "event"), TVINE_MESSAGES);
    assert_eq!(messages.last(), Some(&world.tvine.status()));

    assert_eq!(world.sessions(SessionSelection::Live), Vec::<Value>::new());
    let session = world.only_session(SessionSelection::All);
    let id = session["session_id"].as_str().expect("an id");
    assert_eq!(session["tool"], "claude");
    assert_eq!(session["state"], "stopped");
    assert_eq!(session["project"], "project");
    assert_eq!(session["cwd"], json!(project));
    assert_eq!(session["live_runs"], 0);
    for line in &lines {
        assert_eq!(line["source"], "claude");
        assert_eq!(line["session_id"], id);
        assert_eq!(line["pane_id"], PANE);
        assert_eq!(line["instance_id"], INSTANCE);
    }
    for message in &messages {
        assert_eq!(message["session_id"], TVINE_SESSION);
        assert_eq!(message["agent_session_id"], id);
    }

    let run = world.only_run(&session);
    assert_eq!(run["pid"], pid);
    assert_eq!(run["origin"], "plugin");
    assert_eq!(run["plugin_root"], json!(repository()));
    assert_eq!(run["by_plugin_dir"], true);
    let turn = world.only_turn(&session);
    assert_eq!(turn["prompt"], "say one");
    assert_eq!(turn["answer"], "One was said.");
    assert_eq!(turn["detail"], "ok");
    world.assert_no_problems();
}

/// The lines that Kawaii Terminal gets of a headless turn.
pub const KAWAII_LINES: [&str; 4] =
    ["completed SessionStart", "working UserPromptSubmit", "completed Stop", "stopped SessionEnd"];

/// The messages that tvine gets of a headless turn with one tool call.
pub const TVINE_MESSAGES: [&str; 7] = [
    "Idle SessionStart",
    "Busy UserPromptSubmit",
    "Busy PreToolUse",
    "Busy PostToolUse",
    "Busy PostToolBatch",
    "Idle Stop",
    "Idle SessionEnd",
];
