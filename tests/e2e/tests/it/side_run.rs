//! Tests `claude -r ID -p` beside the open terminal: two processes of one session.

use std::fs;
use std::process::Stdio;

use serde_json::json;
use testkit::ModelReply;

use crate::support::gates;
use crate::support::terminal::{AgentTerminal, state_of};
use crate::support::timeouts::wait_for;
use crate::support::world::{ApiWorld, SessionSelection, stdout_of};

/// A session has runs, and the end of one is not the end of the other.
#[test]
fn a_resumed_run_beside_the_terminal_leaves_its_session_alive() {
    let Some(claude) = gates::slow() else { return };
    let script = vec![
        ModelReply::text("the terminal's answer"),
        ModelReply::tool("Bash", json!({"command": "until test -e go; do sleep 0.1; done"})),
        ModelReply::text("the side run's answer"),
        ModelReply::text("the terminal's second answer"),
    ];
    let world = ApiWorld::new(claude, script);
    let terminal = AgentTerminal::start(&world);
    terminal.submit("first prompt");
    let alone = terminal.wait_for_state("completed/ok");
    let id = alone["session_id"].as_str().expect("an id");
    let pid = terminal.tmux.pid();
    assert_eq!((&alone["pid"], &alone["live_runs"]), (&json!(pid), &json!(1)));

    let mut command = world.claude();
    command.args(["-r", id, "-p", "side prompt", "--allowedTools", "Bash"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let side = command.spawn().expect("start the side run");
    let side_pid = side.id();
    wait_for("the side run's tool", || {
        let session = world.only_session(SessionSelection::Live);
        match session["last_event"] == "PreToolUse" {
            true => Ok(()),
            false => Err(format!("{session:#}")),
        }
    });
    let both = world.only_session(SessionSelection::Live);
    assert_eq!(both["session_id"], id);
    assert_eq!((state_of(&both).as_str(), &both["live_runs"]), ("working", &json!(2)));
    let shown = world.show(id);
    let run_of = |pid: u32| {
        let mut runs = shown["runs"].as_array().expect("runs").iter();
        runs.find(|run| run["pid"] == pid).unwrap_or_else(|| panic!("no run {pid} in {shown:#}"))
    };
    assert_eq!(state_of(run_of(pid)), "completed/ok");
    assert_eq!(state_of(run_of(side_pid)), "working");

    fs::write(world.hermetic.project().join("go"), "").expect("let the side run go on");
    let output = side.wait_with_output().expect("wait for the side run");
    assert_eq!(stdout_of(&output), "the side run's answer\n");
    let after = world.only_session(SessionSelection::Live);
    assert_eq!(state_of(&after), "completed/ok");
    assert_eq!(after["session_id"], id);
    assert_eq!((&after["pid"], &after["live_runs"]), (&json!(pid), &json!(1)));

    terminal.submit("second prompt");
    let second = wait_for("the second answer", || {
        let session = world.only_session(SessionSelection::Live);
        match session["prompt"] == "second prompt" && state_of(&session) == "completed/ok" {
            true => Ok(session),
            false => Err(format!("{session:#}\n{}", terminal.tmux.screen())),
        }
    });
    assert_eq!((&second["pid"], &second["live_runs"]), (&json!(pid), &json!(1)));
    let turns = world.show(id)["turns"].clone();
    let turns = turns.as_array().expect("turns");
    let answers: Vec<_> = turns.iter().filter_map(|turn| turn["answer"].as_str()).collect();
    assert_eq!(
        answers,
        ["the terminal's answer", "the side run's answer", "the terminal's second answer"]
    );
    terminal.exit();
    assert_eq!(state_of(&world.only_session(SessionSelection::All)), "stopped");
    world.assert_no_problems();
}
