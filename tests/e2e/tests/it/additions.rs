//! Tests prompts that the user types while a turn of the real Claude runs (LIVE-8): each is an
//! addition to that turn, or the prompt of the next one.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::ModelReply;

use crate::support::gates;
use crate::support::terminal::AgentTerminal;
use crate::support::timeouts::{TIMEOUT, wait_for};
use crate::support::world::{ApiWorld, SessionSelection};

/// The length of a turn, which leaves time to type.
const A_WHILE: Duration = Duration::from_secs(6);

#[test]
fn live_8_what_is_typed_while_a_tool_runs_is_listed_with_the_turn() {
    let Some(claude) = gates::slow() else { return };
    let command = format!("sleep {}", A_WHILE.as_secs());
    let script =
        vec![ModelReply::tool("Bash", json!({"command": command})), ModelReply::text("Both done.")];
    let world = ApiWorld::new(claude, script);
    let terminal = AgentTerminal::start(&world);
    terminal.submit("first prompt");
    terminal.tmux.wait_for(&command, TIMEOUT);
    let begun = world.only_session(SessionSelection::Live);
    terminal.submit("and the tests");
    wait_for_event(&world, "UserPromptSubmit");
    let session = world.only_session(SessionSelection::Live);
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
    let world = ApiWorld::new(
        claude,
        vec![
            ModelReply::text("The first paragraph.\n\nThe rest.").pausing(A_WHILE),
            ModelReply::text("The second answer.").delayed(A_WHILE),
        ],
    );
    let terminal = AgentTerminal::start(&world);
    terminal.submit("first prompt");
    terminal.tmux.wait_for("The first paragraph.", TIMEOUT);
    terminal.submit("one more thing");
    wait_for_event(&world, "UserPromptSubmit");
    let turns = wait_for_turns(&world, &terminal, 1);
    assert_eq!(turns[0]["prompt"], "first prompt");
    assert_eq!(turns[0]["additions"], Value::Null, "{turns:#?}");
    terminal.wait_for_state("working");
    assert_eq!(world.only_session(SessionSelection::Live)["prompt"], "one more thing");
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
        ModelReply::tool("Bash", json!({"command": command})),
        ModelReply::text("The second answer.").delayed(A_WHILE),
    ];
    let world = ApiWorld::new(claude, script);
    let terminal = AgentTerminal::start(&world);
    terminal.submit("first prompt");
    terminal.tmux.wait_for(command, TIMEOUT);
    terminal.submit("rather this");
    wait_for_event(&world, "UserPromptSubmit");
    terminal.tmux.send_key("Escape");
    wait_for("the next turn at work", || {
        let session = world.only_session(SessionSelection::Live);
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
fn wait_for_event(world: &ApiWorld, name: &str) {
    wait_for(&format!("the last event {name}"), || {
        let session = world.only_session(SessionSelection::Live);
        let is_it = session["last_event"] == name && session["state"] == "working";
        if is_it { Ok(()) } else { Err(format!("{session:#}")) }
    });
}

#[track_caller]
fn wait_for_turns(world: &ApiWorld, terminal: &AgentTerminal, count: usize) -> Vec<Value> {
    wait_for(&format!("{count} turns"), || {
        let session = world.only_session(SessionSelection::Live);
        let shown = world.show(session["session_id"].as_str().unwrap_or_default());
        let turns = shown["turns"].as_array().cloned().unwrap_or_default();
        match turns.len() >= count {
            true => Ok(turns),
            false => Err(format!("{turns:#?}\n{}", terminal.tmux.screen())),
        }
    })
}
