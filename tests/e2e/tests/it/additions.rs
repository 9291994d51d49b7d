//! Prompts typed while a turn runs (LIVE-8): additions to that turn, or the prompt of the next one.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::Reply;

use crate::support::gates;
use crate::support::patience::{PATIENCE, wait_for};
use crate::support::terminal::Terminal;
use crate::support::world::{Which, World};

/// The length of a turn, which leaves time to type.
const A_WHILE: Duration = Duration::from_secs(6);

#[test]
fn live_8_what_is_typed_while_a_tool_runs_is_listed_with_the_turn() {
    let Some(claude) = gates::slow() else { return };
    let command = format!("sleep {}", A_WHILE.as_secs());
    let script = vec![Reply::tool("Bash", json!({"command": command})), Reply::text("Both done.")];
    let world = World::new(claude, script);
    let terminal = Terminal::start(&world);
    terminal.submit("first prompt");
    terminal.tmux.wait_for(&command, PATIENCE);
    let begun = world.only_session(Which::Live);
    terminal.submit("and the tests");
    wait_for_event(&world, "UserPromptSubmit");
    let session = world.only_session(Which::Live);
    assert_eq!(session["prompt"], "first prompt");
    assert_eq!(session["since"], begun["since"], "{session:#}");
    let session = terminal.wait_for_state("completed/ok");
    let turn = world.only_turn(&session);
    assert_eq!(turn["prompt"], "first prompt");
    assert_eq!(turn["additions"], json!(["and the tests"]), "{turn:#}");
    assert_eq!(turn["answer"], "Both done.");
    terminal.exit();
    world.assert_no_problems();
}

/// No hook reports the begin of such a turn.
#[test]
fn live_8_what_the_agent_does_not_read_in_time_is_the_next_prompt_and_is_seen_to_work() {
    let Some(claude) = gates::slow() else { return };
    let world = World::new(
        claude,
        vec![
            Reply::text("The first paragraph.\n\nThe rest.").pausing(A_WHILE),
            Reply::text("The second answer.").delayed(A_WHILE),
        ],
    );
    let terminal = Terminal::start(&world);
    terminal.submit("first prompt");
    terminal.tmux.wait_for("The first paragraph.", PATIENCE);
    terminal.submit("one more thing");
    wait_for_event(&world, "UserPromptSubmit");
    let turns = wait_for_turns(&world, &terminal, 1);
    assert_eq!(turns[0]["prompt"], "first prompt");
    assert_eq!(turns[0]["additions"], Value::Null, "{turns:#?}");
    terminal.wait_for_state("working");
    assert_eq!(world.only_session(Which::Live)["prompt"], "one more thing");
    let turns = wait_for_turns(&world, &terminal, 2);
    assert_eq!(turns[1]["prompt"], "one more thing", "{turns:#?}");
    assert_eq!(turns[1]["answer"], "The second answer.");
    terminal.wait_for_state("completed/ok");
    terminal.exit();
    world.assert_no_problems();
}

/// Claude Code runs it immediately, and calls no hook for it.
#[test]
fn live_8_what_was_typed_before_esc_is_the_next_prompt_and_is_seen_to_work() {
    let Some(claude) = gates::slow() else { return };
    let command = "sleep 20";
    let script = vec![
        Reply::tool("Bash", json!({"command": command})),
        Reply::text("The second answer.").delayed(A_WHILE),
    ];
    let world = World::new(claude, script);
    let terminal = Terminal::start(&world);
    terminal.submit("first prompt");
    terminal.tmux.wait_for(command, PATIENCE);
    terminal.submit("rather this");
    wait_for_event(&world, "UserPromptSubmit");
    terminal.tmux.send_key("Escape");
    wait_for("the next turn at work", || {
        let session = world.only_session(Which::Live);
        let is_it = session["state"] == "working" && session["prompt"] == "rather this";
        if is_it { Ok(()) } else { Err(format!("{session:#}")) }
    });
    let turns = wait_for_turns(&world, &terminal, 1);
    assert_eq!(turns.len(), 1, "an interrupted turn has no record: {turns:#?}");
    assert_eq!(turns[0]["prompt"], "rather this", "{turns:#?}");
    assert_eq!(turns[0]["answer"], "The second answer.");
    terminal.wait_for_state("completed/ok");
    terminal.exit();
    world.assert_no_problems();
}

/// Waits for the second prompt's hook.
#[track_caller]
fn wait_for_event(world: &World, name: &str) {
    wait_for(&format!("the last event {name}"), || {
        let session = world.only_session(Which::Live);
        let is_it = session["last_event"] == name && session["state"] == "working";
        if is_it { Ok(()) } else { Err(format!("{session:#}")) }
    });
}

#[track_caller]
fn wait_for_turns(world: &World, terminal: &Terminal, count: usize) -> Vec<Value> {
    wait_for(&format!("{count} turns"), || {
        let session = world.only_session(Which::Live);
        let shown = world.show(session["session_id"].as_str().unwrap_or_default());
        let turns = shown["turns"].as_array().cloned().unwrap_or_default();
        match turns.len() >= count {
            true => Ok(turns),
            false => Err(format!("{turns:#?}\n{}", terminal.tmux.screen())),
        }
    })
}
