//! Tests a whole session of Claude at the terminal, with a permission dialog, from its start to
//! `/exit`.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::ModelReply;

use crate::support::agent_home::AgentHome;
use crate::support::gates::{self, note};
use crate::support::hosts::pairs;
use crate::support::terminal::{AgentTerminal, state_of};
use crate::support::timeouts::wait_for;
use crate::support::world::{ApiWorld, SessionSelection};

/// TV-12..17, KT-36..40, X31.
#[test]
fn an_interactive_session_shows_start_work_dialog_approval_end_and_exit() {
    let Some(claude) = gates::fast() else { return };
    let script = vec![
        ModelReply::tool("Bash", json!({"command": "touch begun; sleep 4; touch ended"}))
            .delayed(Duration::from_secs(1)),
        ModelReply::text("Both are touched."),
    ];
    let world = ApiWorld::new(claude, script);
    let terminal = AgentTerminal::start(&world);
    let session = world.only_session(SessionSelection::Live);
    let id = session["session_id"].as_str().expect("an id").to_owned();
    assert_eq!(state_of(&session), "completed");
    assert_eq!(session["pid"], terminal.tmux.pid());
    assert_eq!(session["interactive"], true);
    hosts_are_told(&world, "Idle SessionStart", "completed SessionStart");

    terminal.submit("touch both");
    assert_eq!(terminal.wait_for_state("working")["prompt"], "touch both");
    hosts_are_told(&world, "Busy UserPromptSubmit", "working UserPromptSubmit");

    let waiting = terminal.wait_for_dialog();
    assert_eq!(waiting["waiting_for"], json!(["Bash"]));
    hosts_are_told(&world, "Waiting PermissionRequest", "waiting_user PermissionRequest");

    // No hook reports the approval, and the tool runs for four seconds.
    let approved = terminal.press_and_time("Enter", "working");
    let project = world.hermetic.project();
    assert!(
        !project.join("ended").exists(),
        "working only after {approved:?}, with the tool's end"
    );
    note(&format!("approval of a dialog → working: {approved:?}"));
    let begun =
        || project.join("begun").exists().then_some(()).ok_or_else(|| terminal.tmux.screen());
    wait_for("the tool's first file", begun);
    assert!(!project.join("ended").exists());
    assert_eq!(state_of(&world.only_session(SessionSelection::Live)), "working");

    let completed = terminal.wait_for_state("completed/ok");
    assert_eq!(completed["session_id"], id);
    assert_eq!(completed["last_event"], "Stop");
    hosts_are_told(&world, "Idle Stop", "completed Stop");

    terminal.exit();
    assert_eq!(world.sessions(SessionSelection::Live), Vec::<Value>::new());
    let stopped = world.only_session(SessionSelection::All);
    assert_eq!(state_of(&stopped), "stopped");
    assert_eq!(stopped["session_id"], id);
    hosts_are_told(&world, "Idle SessionEnd", "stopped SessionEnd");

    assert_eq!(pairs(&world.kawaii.lines(), "event", "hook"), LINES_OF_ONE_DIALOG);
    assert_eq!(
        pairs(&world.tvine.messages(), "status", "event"),
        [
            "Idle SessionStart",
            "Busy UserPromptSubmit",
            "Busy PreToolUse",
            "Waiting PermissionRequest",
            "Busy PostToolUse",
            "Busy PostToolBatch",
            "Idle Stop",
            "Idle SessionEnd",
        ]
    );
    let turn = world.only_turn(&stopped);
    assert_eq!(
        (&turn["prompt"], &turn["answer"]),
        (&json!("touch both"), &json!("Both are touched."))
    );
    world.assert_no_problems();
}

/// The lines that Kawaii Terminal gets of a session with one prompt and one approved dialog.
pub const LINES_OF_ONE_DIALOG: [&str; 6] = [
    "completed SessionStart",
    "working UserPromptSubmit",
    "waiting_user PermissionRequest",
    "working PostToolUse",
    "completed Stop",
    "stopped SessionEnd",
];

/// Waits until both hosts have these as their last messages: the session file is written before the
/// hosts' sinks.
#[track_caller]
pub fn hosts_are_told(agent_home: &AgentHome, tvine: &str, kawaii: &str) {
    wait_for(&format!("`{tvine}` for tvine, `{kawaii}` for Kawaii Terminal"), || {
        let messages = pairs(&agent_home.tvine.messages(), "status", "event");
        if messages.last().map(String::as_str) != Some(tvine) {
            return Err(format!("socket: {messages:?}"));
        }
        let file = pairs(&[agent_home.tvine.status()], "status", "event");
        let lines = pairs(&agent_home.kawaii.lines(), "event", "hook");
        let told = [file.last(), lines.last()].map(|last| last.map(String::as_str));
        match told == [Some(tvine), Some(kawaii)] {
            true => Ok(()),
            false => Err(format!("status.json, last line: {told:?}")),
        }
    });
}
