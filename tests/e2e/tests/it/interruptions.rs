//! Esc, of which no hook tells (X31): shown as `interrupted` within a second, and not for longer
//! than until the next prompt.

use std::time::Duration;

use serde_json::json;
use testkit::{Claude, Reply};

use crate::gates::{self, note};
use crate::terminal::{Terminal, state_of};
use crate::world::{Which, World};

const A_SECOND: Duration = Duration::from_secs(1);

#[test]
fn esc_inside_a_running_tool_interrupts_the_turn_x31() {
    let Some(claude) = gates::slow() else { return };
    let tool = Reply::tool("Bash", json!({"command": "sleep 20; echo slept"}));
    check(claude, tool, |terminal| {
        terminal.tmux.wait_for("Running…", Duration::from_secs(30));
    });
}

#[test]
fn esc_inside_a_permission_dialog_interrupts_the_turn_x31() {
    let Some(claude) = gates::slow() else { return };
    let tool = Reply::tool("Bash", json!({"command": "touch never"}));
    check(claude, tool, |terminal| {
        terminal.wait_for_dialog();
    });
}

#[test]
fn esc_before_the_first_token_interrupts_the_turn_x31() {
    let Some(claude) = gates::slow() else { return };
    check(claude, Reply::text("too late").delayed(Duration::from_secs(20)), |terminal| {
        terminal.world.api.wait_for_requests(1, Duration::from_secs(30));
    });
}

#[test]
fn esc_while_the_answer_streams_interrupts_the_turn_x31() {
    let Some(claude) = gates::slow() else { return };
    let answer = Reply::text("The first paragraph.\n\nThe rest.").pausing(Duration::from_secs(20));
    check(claude, answer, |terminal| {
        terminal.tmux.wait_for("The first paragraph.", Duration::from_secs(30));
    });
}

/// Begins a turn, waits until it is where `arrive` wants it, presses Esc, and begins another.
#[track_caller]
fn check(claude: Claude, reply: Reply, arrive: impl Fn(&Terminal)) {
    let second = Reply::text("the second answer").delayed(Duration::from_secs(1));
    let world = World::new(claude, vec![reply, second]);
    let terminal = Terminal::start(&world);
    terminal.submit("first prompt");
    arrive(&terminal);
    let before = state_of(&world.only_session(Which::Live));
    assert!(["working", "waiting_user"].contains(&before.as_str()), "{before} before Esc");

    let interrupted = terminal.press_and_time("Escape", "completed/interrupted");
    note(&format!("Esc while {before} → interrupted: {interrupted:?}"));
    assert!(interrupted < A_SECOND, "interrupted only {interrupted:?} after Esc");
    terminal.tmux.wait_for("❯", Duration::from_secs(30));
    assert_eq!(state_of(&world.only_session(Which::Live)), "completed/interrupted");

    terminal.clear_input();
    terminal.submit("second prompt");
    terminal.wait_for_state("working");
    let completed = terminal.wait_for_state("completed/ok");
    assert_eq!(completed["prompt"], "second prompt");
    let shown = world.show(completed["session_id"].as_str().expect("an id"));
    let [turn] = &shown["turns"].as_array().expect("turns")[..] else { panic!("{shown:#}") };
    assert_eq!(turn["prompt"], "second prompt");
    assert_eq!(turn["answer"], "the second answer");
    terminal.exit();
    world.assert_no_problems();
}
