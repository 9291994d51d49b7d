//! Tests sessions of Claude that end without `/exit`, and turns that end in an API error.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use testkit::ModelReply;

use crate::support::gates;
use crate::support::hosts::pairs;
use crate::support::terminal::{AgentTerminal, state_of};
use crate::support::timeouts::wait_for;
use crate::support::world::{ApiWorld, SessionSelection};

/// KT-44, X31: a killed process reports nothing.
#[test]
fn a_killed_claude_is_stopped_and_no_longer_listed() {
    let Some(claude) = gates::slow() else { return };
    let world =
        ApiWorld::new(claude, vec![ModelReply::text("late").delayed(Duration::from_secs(20))]);
    let terminal = AgentTerminal::start(&world);
    terminal.submit("work for a while");
    terminal.wait_for_state("working");
    let pid = terminal.tmux.pid().to_string();
    let kill = Command::new("kill").args(["-KILL", &pid]).status().expect("run kill");
    assert!(kill.success(), "kill -KILL {pid}: {kill}");
    wait_for("the end of claude", || match terminal.tmux.is_running() {
        true => Err(terminal.tmux.screen()),
        false => Ok(()),
    });
    assert_eq!(world.sessions(SessionSelection::Live), Vec::<Value>::new());
    let session = world.only_session(SessionSelection::All);
    assert_eq!(state_of(&session), "stopped");
    assert_eq!(session["live_runs"], 0);
    assert_eq!(session["prompt"], "work for a while");
    world.assert_no_problems();
}

/// KT-40, KT-43, TV-28: claude still runs its SessionEnd hooks then.
#[test]
fn a_closed_terminal_stops_the_session() {
    let Some(claude) = gates::slow() else { return };
    let world = ApiWorld::new(claude, vec![]);
    let terminal = AgentTerminal::start(&world);
    terminal.submit("a prompt");
    terminal.wait_for_state("completed/ok");
    drop(terminal);
    assert_eq!(world.sessions(SessionSelection::Live), Vec::<Value>::new());
    assert_eq!(state_of(&world.only_session(SessionSelection::All)), "stopped");
    assert_eq!(
        pairs(&world.kawaii.lines(), "event", "hook").last().map(String::as_str),
        Some("stopped SessionEnd")
    );
    world.assert_no_problems();
}

/// The old id stops, a new id starts, in the same process.
#[test]
fn clear_stops_the_old_session_and_starts_another_one() {
    let Some(claude) = gates::slow() else { return };
    let world = ApiWorld::new(claude, vec![ModelReply::text("the answer")]);
    let terminal = AgentTerminal::start(&world);
    terminal.submit("a prompt");
    let old = terminal.wait_for_state("completed/ok");
    terminal.submit("/clear");
    let new =
        wait_for("another session", || match world.sessions(SessionSelection::Live).as_slice() {
            [session] if session["session_id"] != old["session_id"] => Ok(session.clone()),
            others => Err(format!("{others:#?}\n{}", terminal.tmux.screen())),
        });
    assert_eq!(state_of(&new), "completed");
    assert_eq!(new["pid"], old["pid"]);
    let all = world.sessions(SessionSelection::All);
    let states: Vec<_> =
        all.iter().map(|session| (&session["session_id"], state_of(session))).collect();
    assert_eq!(
        states,
        [(&old["session_id"], "stopped".to_owned()), (&new["session_id"], "completed".to_owned())]
    );
    wait_for("the new session in tvine's status.json", || {
        let status = world.tvine.status();
        match status["agent_session_id"] == new["session_id"] {
            true => Ok(()),
            false => Err(status.to_string()),
        }
    });
    let lines = world.kawaii.lines();
    assert_eq!(
        pairs(&lines, "event", "hook")[2..],
        ["completed Stop", "stopped SessionEnd", "completed SessionStart"]
    );
    assert_eq!(lines[3]["session_id"], old["session_id"]);
    assert_eq!(lines[4]["session_id"], new["session_id"]);
    terminal.exit();
    assert_eq!(world.sessions(SessionSelection::Live), Vec::<Value>::new());
    world.assert_no_problems();
}

/// StopFailure comes instead of Stop.
#[test]
fn an_api_error_ends_the_turn_as_failed_with_its_kind_and_the_next_one_goes_on() {
    let Some(claude) = gates::slow() else { return };
    let script = vec![
        ModelReply::error(500, "api_error", "Internal server error"),
        ModelReply::error(429, "rate_limit_error", "Slow down"),
        ModelReply::text("Better now."),
    ];
    let world = ApiWorld::new(claude, script);
    let terminal = AgentTerminal::start(&world);
    for (prompt, error) in [("first", "server_error"), ("second", "rate_limit")] {
        terminal.submit(prompt);
        let failed = wait_for(&format!("failed with {error}"), || {
            let session = world.only_session(SessionSelection::Live);
            match session["error"] == error {
                true => Ok(session),
                false => Err(format!("{session:#}\n{}", terminal.tmux.screen())),
            }
        });
        assert_eq!(state_of(&failed), "completed/failed");
        assert_eq!(failed["last_event"], "StopFailure");
    }
    terminal.submit("third");
    let completed = terminal.wait_for_state("completed/ok");
    assert_eq!(completed["error"], Value::Null);
    terminal.exit();
    assert_eq!(
        pairs(&world.kawaii.lines(), "event", "hook"),
        [
            "completed SessionStart",
            "working UserPromptSubmit",
            "completed StopFailure",
            "working UserPromptSubmit",
            "completed StopFailure",
            "working UserPromptSubmit",
            "completed Stop",
            "stopped SessionEnd",
        ]
    );
    world.assert_no_problems();
}

#[test]
fn an_api_error_of_a_headless_run_stays_in_its_turn_record() {
    let Some(claude) = gates::slow() else { return };
    let world =
        ApiWorld::new(claude, vec![ModelReply::error(429, "rate_limit_error", "Slow down")]);
    let output = world.claude().args(["-p", "a prompt"]).output().expect("run claude");
    assert!(!output.status.success(), "{output:?}");
    let lines = world.kawaii.lines();
    assert_eq!(
        pairs(&lines, "event", "hook"),
        [
            "completed SessionStart",
            "working UserPromptSubmit",
            "completed StopFailure",
            "stopped SessionEnd",
        ]
    );
    assert_eq!(lines[2]["detail"], "failed");
    assert_eq!(lines[2]["error"], "rate_limit");
    let messages = world.tvine.messages();
    assert_eq!(messages[2]["event"], "StopFailure");
    assert_eq!(messages[2]["status"], "Idle");
    assert_eq!(messages[2]["error"], "rate_limit");
    let session = world.only_session(SessionSelection::All);
    assert_eq!(state_of(&session), "stopped");
    let turn = world.only_turn(&session);
    assert_eq!(turn["prompt"], "a prompt");
    assert_eq!(turn["detail"], "failed");
    assert_eq!(turn["error"], "rate_limit");
    world.assert_no_problems();
}
