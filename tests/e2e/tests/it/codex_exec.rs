//! Tests `codex exec` without hooks: `turnbridge codex state` reports the right state from Codex's
//! own files after each run. Turnbridge never changes Codex's settings.

use std::fs;
use std::process::{Child, Command};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Codex, ModelReply, Script, Tmux, read_rollout};

use crate::support::agent_home::{executable, stdout_of};
use crate::support::codex_world::{CODE_MODEL, CodexWorld, run, thread_of, thread_told};
use crate::support::gates;
use crate::support::timeouts::{TIMEOUT, wait_for};

/// The expected output of `codex state`.
struct ExpectedState<'a> {
    state: &'a str,
    prompt: &'a str,
    answer: Value,
}

#[track_caller]
fn check(world: &CodexWorld, thread: &str, expected: &ExpectedState) -> Value {
    let found = world.state(thread);
    assert_eq!(found["state"], expected.state, "{found:#}");
    assert_eq!(found["prompt"], expected.prompt, "{found:#}");
    assert_eq!(found["answer"], expected.answer, "{found:#}");
    assert_eq!(found["thread_id"], thread, "{found:#}");
    assert_eq!(found["root_id"], thread, "{found:#}");
    assert_eq!(found["kind"], "user", "{found:#}");
    assert_eq!(found["cwd"], json!(world.hermetic.project()), "{found:#}");
    assert_eq!(found["live"], false, "{found:#}");
    check_prefixes(world, thread);
    found
}

/// Checks that only the line that ends a turn completes it.
#[track_caller]
fn check_prefixes(world: &CodexWorld, thread: &str) {
    let mut command = world.hermetic.command(executable("turnbridge"));
    command.args(["codex", "state", thread, "--trace"]);
    let trace = stdout_of(&command.output().expect("run turnbridge"));
    let states: Vec<&str> =
        trace.lines().filter_map(|line| line.rsplit_once('\t')).map(|(_, state)| state).collect();
    let rollout = world.rollouts().into_iter().find(|path| thread_of(path) == thread);
    let records = read_rollout(&rollout.expect("the thread's rollout"));
    assert_eq!(states.len(), records.len());
    let mut is_open = false;
    for (record, state) in records.iter().zip(states) {
        match record["payload"]["type"].as_str() {
            Some("task_started") => is_open = true,
            Some("task_complete" | "turn_aborted") => is_open = false,
            _ => {}
        }
        assert!(!is_open || state == "working", "{state} in an open turn, after {record}");
    }
}

/// Runs `exercise`, and checks that neither Codex nor Turnbridge has changed the settings.
#[track_caller]
fn run_and_check_settings(world: &CodexWorld, mut exercise: impl FnMut() -> String) {
    // The first command writes them, unless a test has done so.
    drop(world.codex());
    let settings = world.codex_config();
    let thread = exercise();
    assert!(world.codex_config() == settings, "codex has changed config.toml");
    for arguments in [
        &["codex", "state", &thread, "--json"][..],
        &["sessions", "--json", "--all"],
        &["outbox", "--json"],
        &["routes", "--json"],
    ] {
        world.turnbridge(arguments);
    }
    assert!(world.codex_config() == settings, "turnbridge has changed config.toml");
}

#[test]
fn a_plain_turn_and_one_with_a_tool_of_codex_exec_are_completed() {
    let Some(codex) = gates::fast() else { return };
    let script = vec![
        ModelReply::text("Nothing to do."),
        ModelReply::text("Let me see.").and_tool("exec_command", json!({"cmd": "echo tool-ran"})),
        ModelReply::text("It ran."),
    ];
    let world = CodexWorld::bare(codex, script);
    for (prompt, answer) in [("look around", "Nothing to do."), ("run it", "It ran.")] {
        run_and_check_settings(&world, || {
            let output = run(&mut world.exec(prompt));
            stdout_of(&output);
            let thread = thread_told(&output);
            check(
                &world,
                &thread,
                &ExpectedState { state: "completed", prompt, answer: json!(answer) },
            );
            thread
        });
    }
}

#[test]
fn a_turn_of_codex_exec_whose_model_fails_is_failed() {
    let Some(codex) = gates::fast() else { return };
    let script = vec![
        ModelReply::error(500, "server_error", "out of order"),
        ModelReply::error(200, "context_length_exceeded", "too long"),
    ];
    let world = CodexWorld::bare(codex, script);
    for error in ["internal_server_error", "context_window_exceeded"] {
        run_and_check_settings(&world, || {
            let output = run(&mut world.exec("look around"));
            assert_eq!(output.status.code(), Some(1), "{output:?}");
            let thread = thread_told(&output);
            let expected =
                ExpectedState { state: "failed", prompt: "look around", answer: Value::Null };
            let found = check(&world, &thread, &expected);
            assert_eq!(found["error"], error, "{found:#}");
            thread
        });
    }
}

#[test]
fn a_turn_of_codex_exec_that_is_interrupted_is_aborted() {
    let Some(codex) = gates::fast() else { return };
    let world = CodexWorld::bare(codex, vec![long_tool()]);
    run_and_check_settings(&world, || {
        let mut process = start_long_tool(&world);
        signal(&process, "-INT");
        process.wait().expect("wait for codex");
        let thread = world.only_thread();
        let expected = ExpectedState { state: "aborted", prompt: "take long", answer: Value::Null };
        check(&world, &thread, &expected);
        thread
    });
}

#[test]
fn a_turn_of_codex_exec_that_is_killed_is_working_until_the_next_one_is_completed() {
    let Some(codex) = gates::fast() else { return };
    let world = CodexWorld::bare(codex, vec![long_tool(), ModelReply::text("Here again.")]);
    run_and_check_settings(&world, || {
        let mut process = start_long_tool(&world);
        signal(&process, "-KILL");
        process.wait().expect("wait for codex");
        let thread = world.only_thread();
        let expected = ExpectedState { state: "working", prompt: "take long", answer: Value::Null };
        check(&world, &thread, &expected);

        let output = run(&mut world.exec_with(&["resume", &thread, "go on"]));
        stdout_of(&output);
        assert_eq!(thread_told(&output), thread);
        assert_eq!(world.only_thread(), thread);
        let answer = json!("Here again.");
        check(&world, &thread, &ExpectedState { state: "completed", prompt: "go on", answer });
        thread
    });
}

/// The time of the lock's file shows the owner of an open turn.
#[test]
fn a_codex_that_is_refused_a_thread_does_not_make_its_turn_look_abandoned() {
    let Some(codex) = gates::fast() else { return };
    let world = CodexWorld::bare(codex, vec![long_tool()]);
    let mut process = start_long_tool(&world);
    let thread = world.only_thread();
    // The pause exceeds the difference between a file's time and the record's.
    std::thread::sleep(Duration::from_secs(1));
    let output = run(&mut world.exec_with(&["resume", &thread, "go on"]));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("already has an active writer"), "{error}");
    let found = world.state(&thread);
    assert_eq!((&found["state"], &found["live"]), (&json!("working"), &json!(true)), "{found:#}");
    signal(&process, "-KILL");
    process.wait().expect("wait for codex");
}

#[test]
fn a_thread_whose_codex_was_killed_in_its_turn_is_stopped_when_a_terminal_opens_it() {
    let Some(codex) = gates::slow::<Codex>() else { return };
    let world = CodexWorld::bare(codex, vec![long_tool(), ModelReply::text("Here again.")]);
    let mut process = start_long_tool(&world);
    let thread = world.only_thread();
    signal(&process, "-KILL");
    process.wait().expect("wait for codex");
    // The pause exceeds the difference between a file's time and the record's; a quick machine has
    // opened it by then.
    std::thread::sleep(Duration::from_secs(1));
    let mut command = world.codex();
    command.args(["resume", &thread]);
    let tmux = Tmux::start(&world.hermetic, &command);
    wait_for("the terminal", || match world.state(&thread) {
        // Codex holds the lock a moment before it has written the lock's file.
        found if found["live"] == true && found["state"] == "stopped" => Ok(()),
        other => Err(format!("{other:#}\n{}", tmux.screen())),
    });
    tmux.send_text("go on");
    tmux.wait_for("go on", TIMEOUT);
    // Codex treats an immediate Enter as a pasted line break.
    std::thread::sleep(Duration::from_millis(500));
    tmux.send_key("Enter");
    wait_for("the answer", || match world.state(&thread) {
        found if found["state"] == "completed" => Ok(()),
        other => Err(format!("{other:#}\n{}", tmux.screen())),
    });
}

/// Returns a model's reply that runs a command for longer than any test.
pub fn long_tool() -> ModelReply {
    let input = json!({"cmd": "touch begun; exec sleep 20", "yield_time_ms": 20_000});
    ModelReply::tool("exec_command", input)
}

/// Starts Codex and waits until its command runs.
#[track_caller]
pub fn start_long_tool(world: &CodexWorld) -> Child {
    let process = world.exec("take long").spawn().expect("start codex");
    let begun = world.hermetic.project().join("begun");
    testkit::wait_until(TIMEOUT, "the command", || begun.exists().then_some(()));
    let thread = world.only_thread();
    let found = wait_for("the turn in the rollout", || match world.state(&thread) {
        found if found["prompt"] == "take long" => Ok(found),
        other => Err(other.to_string()),
    });
    assert_eq!(found["live"], true, "{found:#}");
    process
}

/// Sends a signal to the process.
#[track_caller]
pub fn signal(process: &Child, name: &str) {
    let kill = Command::new("kill").args([name, &process.id().to_string()]).status();
    assert!(kill.expect("run kill").success());
}

/// The server is Turnbridge's own, with a silent engine.
#[test]
fn a_turn_of_codex_exec_with_a_tool_of_an_mcp_server_is_completed() {
    let Some(codex) = gates::fast() else { return };
    let script = vec![
        ModelReply::tool("mcp__voice.speak", json!({"text": "Hello there."})),
        ModelReply::text("It was said."),
    ];
    let world = CodexWorld::bare(codex, script);
    world.codex.configure(&world.hermetic, &world.api, "");
    let path = world.hermetic.codex_home().join("config.toml");
    let config = fs::read_to_string(&path).expect("read Codex's config.toml");
    let server = executable("turnbridge");
    let table = format!("[mcp_servers.voice]\ncommand = '{}'\nargs = ['mcp']\n", server.display());
    fs::write(&path, config + &table).expect("write Codex's config.toml");
    let engines = world.hermetic.root().join("engines");
    fs::create_dir(&engines).expect("create a folder");
    for name in ["say", "spd-say"] {
        let engine = engines.join(name);
        testkit::write_program(&engine, "#!/bin/sh\nexit 0\n");
    }
    run_and_check_settings(&world, || {
        let mut command = world.exec("say hello");
        let folders = std::env::var("PATH").expect("a PATH");
        command.env("PATH", format!("{}:{folders}", engines.display()));
        let output = run(&mut command);
        stdout_of(&output);
        let thread = thread_told(&output);
        let answer = json!("It was said.");
        check(&world, &thread, &ExpectedState { state: "completed", prompt: "say hello", answer });
        let requests = world.api.requests();
        let result = requests[1]["input"].as_array().and_then(|items| items.last()).expect("items");
        assert!(result["output"].to_string().contains("Speaking."), "{result}");
        thread
    });
}

#[test]
fn a_turn_of_codex_exec_with_a_sub_agent_is_completed_and_the_sub_agent_is_no_user_s_thread() {
    let Some(codex) = gates::fast() else { return };
    let world = CodexWorld::bare(codex, with_sub_agent());
    run_and_check_settings(&world, || {
        let output = run(world.exec("have them counted").args(CODE_MODEL));
        stdout_of(&output);
        let thread = thread_told(&output);
        let answer = json!("They were counted.");
        let prompt = "have them counted";
        check(&world, &thread, &ExpectedState { state: "completed", prompt, answer });

        let threads: Vec<_> = world.rollouts().iter().map(|path| thread_of(path)).collect();
        assert_eq!(threads.len(), 2, "{threads:?}");
        let child = threads.iter().find(|id| **id != thread).expect("the sub-agent's thread");
        let found = world.state(child);
        assert_eq!(found["state"], "completed", "{found:#}");
        assert_eq!(found["kind"], "subagent", "{found:#}");
        assert_eq!(found["root_id"], thread, "{found:#}");
        assert_eq!(found["answer"], "Seven.", "{found:#}");
        thread
    });
}

/// Returns a model's replies for a turn with one sub-agent.
pub fn with_sub_agent() -> Script {
    let task = json!({"message": "count the files", "task_name": "count", "agent_type": "default"});
    Script::new()
        .then(ModelReply::tool("collaboration.spawn_agent", task))
        .then(ModelReply::tool("collaboration.wait_agent", json!({"timeout_ms": 20_000})))
        .then(ModelReply::text("They were counted."))
        .on("count the files", vec![ModelReply::text("Seven.")])
}
