//! Dialogs beside other work: parallel tools, and sub-agents with dialogs of their own.

use std::fs;

use serde_json::json;
use testkit::{Reply, Script};

use crate::gates;
use crate::hosts::pairs;
use crate::patience::wait_for;
use crate::terminal::{Terminal, state_of};
use crate::world::{Which, World};

#[test]
fn a_tool_that_ends_beside_an_open_dialog_does_not_close_it() {
    let Some(claude) = gates::slow() else { return };
    let world = World::new(claude, vec![]);
    let inside = world.hermetic.project().join("inside.txt");
    let outside = world.hermetic.root().join("outside.txt");
    for path in [&inside, &outside] {
        fs::write(path, "text\n").expect("write a file to read");
    }
    world.api.push(
        Reply::tool("Read", json!({"file_path": outside}))
            .and_tool("Read", json!({"file_path": inside})),
    );
    world.api.push(Reply::text("Both are read."));
    let terminal = Terminal::start(&world);
    terminal.submit("read both");
    let waiting = terminal.wait_for_dialog();
    assert_eq!(waiting["waiting_for"], json!(["Read"]));
    // The other Read ends while the dialog is open.
    wait_for("the end of the other Read", || {
        let messages = pairs(&world.tvine.messages(), "status", "event");
        match messages.iter().any(|message| message.ends_with(" PostToolUse")) {
            true => Ok(()),
            false => Err(format!("{messages:?}\n{}", terminal.tmux.screen())),
        }
    });
    assert_eq!(state_of(&world.only_session(Which::Live)), "waiting_user");
    assert_eq!(world.tvine.status()["status"], "Waiting");

    terminal.tmux.send_key("Enter");
    terminal.wait_for_state("completed/ok");
    terminal.exit();
    assert_eq!(
        pairs(&world.kawaii.lines(), "event", "hook"),
        [
            "completed SessionStart",
            "working UserPromptSubmit",
            "waiting_user PermissionRequest",
            "working PostToolUse",
            "completed Stop",
            "stopped SessionEnd",
        ]
    );
    world.assert_no_problems();
}

#[test]
fn a_dialog_of_a_sub_agent_is_one_of_the_session_and_ends_with_its_approval() {
    let Some(claude) = gates::slow() else { return };
    let task = json!({
        "description": "Touch a file", "prompt": "subtask-7", "subagent_type": "general-purpose",
    });
    let script =
        Script::new().then(Reply::tool("Agent", task)).then(Reply::text("The agent is done.")).on(
            "subtask-7",
            vec![
                Reply::tool("Bash", json!({"command": "touch by-agent; sleep 2; touch ended"})),
                Reply::text("Touched."),
            ],
        );
    let world = World::new(claude, script);
    let terminal = Terminal::start(&world);
    terminal.submit("let an agent do it");
    let waiting = terminal.wait_for_dialog();
    assert_eq!(waiting["waiting_for"], json!(["Bash"]));
    terminal.press_and_time("Enter", "working");
    assert!(!world.hermetic.project().join("ended").exists(), "working only with the tool's end");
    terminal.wait_for_state("completed/ok");
    assert!(world.hermetic.project().join("by-agent").exists());
    terminal.exit();
    crate::gates::note(&format!("{:#?}", pairs(&world.kawaii.lines(), "event", "hook")));
    crate::gates::note(&format!("{:#?}", pairs(&world.tvine.messages(), "status", "event")));
    world.assert_no_problems();
}
