//! Tests Esc in Claude, which no hook reports (X31): the session is `interrupted` within a second,
//! and only until the next prompt.

use std::time::Duration;

use serde_json::json;
use testkit::{Claude, ModelReply, Script};

use crate::dialogs::{task, wait_for_answers};
use crate::support::gates::{self, note};
use crate::support::terminal::{AgentTerminal, state_of};
use crate::support::timeouts::TIMEOUT;
use crate::support::world::{ApiWorld, SessionSelection};

const A_SECOND: Duration = Duration::from_secs(1);

/// A delay longer than any of these tests.
const AGES: Duration = Duration::from_secs(20);

#[test]
fn esc_inside_a_running_tool_interrupts_the_turn_x31() {
    let Some(claude) = gates::slow() else { return };
    check(claude, long_tool(), "Escape", |terminal| {
        terminal.tmux.wait_for(&long_command(), TIMEOUT);
    });
}

#[test]
fn esc_inside_a_permission_dialog_interrupts_the_turn_x31() {
    let Some(claude) = gates::slow() else { return };
    let tool = ModelReply::tool("Bash", json!({"command": "touch never"}));
    check(claude, tool, "Escape", |terminal| {
        terminal.wait_for_dialog();
    });
}

#[test]
fn esc_inside_a_question_interrupts_the_turn_x31() {
    let Some(claude) = gates::slow() else { return };
    let option = |label: &str| json!({"label": label, "description": label});
    let options = [option("Alpha"), option("Beta")];
    let question = json!({"question": "Which one?", "header": "Pick", "multiSelect": false, "options": options});
    let tool = ModelReply::tool("AskUserQuestion", json!({"questions": [question]}));
    check(claude, tool, "Escape", |terminal| {
        terminal.tmux.wait_for("Enter to select", TIMEOUT);
        terminal.wait_for_state("waiting_user");
        terminal.wait_for_keys();
    });
}

/// Claude's note stays `busy` for the agent; the transcript has the record of the interruption once
/// there is an answer. The agent continues, and its end begins a turn.
#[test]
fn esc_beside_an_agent_in_the_background_interrupts_the_turn_and_not_the_agent_x31() {
    let Some(claude) = gates::slow() else { return };
    let script = Script::new()
        .then(ModelReply::tool("Agent", task("subtask-a")))
        .then(ModelReply::text("The agent is at it."))
        .then(ModelReply::text("The first paragraph.\n\nThe rest.").pausing(AGES))
        .then(ModelReply::text("The agent is done."))
        .on(
            "subtask-a",
            vec![
                ModelReply::tool("Bash", json!({"command": "sleep 12"})),
                ModelReply::text("Ready."),
            ],
        );
    let world = ApiWorld::new(claude, script);
    let terminal = AgentTerminal::start(&world);
    terminal.submit("let an agent do it");
    terminal.wait_for_state("completed/ok");
    terminal.submit("and now this");
    terminal.tmux.wait_for("The first paragraph.", TIMEOUT);
    terminal.wait_for_state("working");
    terminal.press_and_time("Escape", "completed/interrupted");
    terminal.assert_stays("completed/interrupted");
    terminal.wait_for_state("completed/ok");
    let answers = wait_for_answers(&world, &terminal, 2);
    assert_eq!(answers, ["The agent is at it.", "The agent is done."]);
    terminal.exit();
    world.assert_no_problems();
}

#[test]
fn no_as_the_answer_to_a_permission_dialog_interrupts_the_turn_x31() {
    let Some(claude) = gates::slow() else { return };
    let tool = ModelReply::tool("Bash", json!({"command": "touch never"}));
    // The number depends on the other choices.
    check_pressing(claude, tool, |terminal| {
        terminal.wait_for_dialog();
        let screen = terminal.tmux.screen();
        let number = screen.lines().find_map(|line| line.trim().strip_suffix(". No"));
        number.unwrap_or_else(|| panic!("no `No` on the screen:\n{screen}")).to_owned()
    });
}

#[test]
fn esc_before_the_first_token_interrupts_the_turn_x31() {
    let Some(claude) = gates::slow() else { return };
    check(claude, ModelReply::text("too late").delayed(AGES), "Escape", |terminal| {
        terminal.world.api.wait_for_requests(1, TIMEOUT);
    });
}

#[test]
fn esc_while_the_answer_streams_interrupts_the_turn_x31() {
    let Some(claude) = gates::slow() else { return };
    let answer = ModelReply::text("The first paragraph.\n\nThe rest.").pausing(AGES);
    check(claude, answer, "Escape", |terminal| {
        terminal.tmux.wait_for("The first paragraph.", TIMEOUT);
    });
}

/// Claude's own note contains `waiting` then (for `dialog open`), although no work and no tool
/// waits; the transcript still has the record of the interruption.
#[test]
fn an_interrupted_session_stays_interrupted_while_a_settings_panel_is_open_x31() {
    let Some(claude) = gates::slow() else { return };
    let world = ApiWorld::new(claude, vec![long_tool()]);
    let terminal = AgentTerminal::start(&world);
    terminal.submit("first prompt");
    terminal.tmux.wait_for(&long_command(), TIMEOUT);
    terminal.press_and_time("Escape", "completed/interrupted");
    // Claude writes its record after the tool's end, a moment after its note changes to `idle`.
    terminal.tmux.wait_for("Interrupted", TIMEOUT);
    terminal.submit("/config");
    terminal.tmux.wait_for("Search settings", TIMEOUT);
    terminal.assert_stays("completed/interrupted");
    world.assert_no_problems();
}

/// claude runs `sleep` without asking.
fn long_tool() -> ModelReply {
    ModelReply::tool("Bash", json!({"command": long_command()}))
}

fn long_command() -> String {
    format!("sleep {}", AGES.as_secs())
}

/// Begins a turn, waits for `arrive`, presses `key`, and begins another turn.
#[track_caller]
fn check(claude: Claude, reply: ModelReply, key: &str, arrive: impl Fn(&AgentTerminal)) {
    check_pressing(claude, reply, |terminal| {
        arrive(terminal);
        key.to_owned()
    });
}

/// The same; `arrive` also returns the key.
#[track_caller]
fn check_pressing(claude: Claude, reply: ModelReply, arrive: impl Fn(&AgentTerminal) -> String) {
    let second = ModelReply::text("the second answer").delayed(A_SECOND);
    let world = ApiWorld::new(claude, vec![reply, second]);
    let terminal = AgentTerminal::start(&world);
    terminal.submit("first prompt");
    let key = arrive(&terminal);
    let before = state_of(&world.only_session(SessionSelection::Live));
    assert!(["working", "waiting_user"].contains(&before.as_str()), "{before} before {key}");

    let interrupted = terminal.press_and_time(&key, "completed/interrupted");
    note(&format!("{key} while {before} → interrupted: {interrupted:?}"));
    terminal.assert_stays("completed/interrupted");

    terminal.clear_input();
    terminal.submit("second prompt");
    terminal.wait_for_state("working");
    let completed = terminal.wait_for_state("completed/ok");
    assert_eq!(completed["prompt"], "second prompt");
    // An interrupted turn has no answer, so it has no record.
    let turn = world.only_turn(&completed);
    assert_eq!(turn["prompt"], "second prompt");
    assert_eq!(turn["answer"], "the second answer");
    terminal.exit();
    world.assert_no_problems();
}
