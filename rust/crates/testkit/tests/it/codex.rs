//! Tests the real Codex against the loopback Responses API: requests, replies, and the rollout that
//! Turnbridge reads. No request may leave the machine, so every test finally checks the list of
//! requests that the loopback server refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{
    Codex, Hermetic, ModelReply, ResponsesApi, Script, Tmux, read_rollout, skipped, wait_until,
};

const TIMEOUT: Duration = Duration::from_secs(30);

/// Codex's default models write code instead of calling tools by name, and their sub-agents know
/// their parent's thread.
const CODE_MODEL: [&str; 2] = ["--model", "gpt-6.1-sol"];

struct CodexApi {
    codex: Codex,
    hermetic: Hermetic,
    api: ResponsesApi,
}

impl CodexApi {
    fn new(script: impl Into<Script>) -> Option<CodexApi> {
        let Some(codex) = Codex::find() else {
            skipped("the pinned `codex` is not in `tests/codex`; `scripts/test` installs it");
            return None;
        };
        Some(CodexApi { codex, hermetic: Hermetic::new(), api: ResponsesApi::start(script) })
    }

    fn exec(&self, prompt: &str) -> Command {
        self.codex.exec(&self.hermetic, &self.api, prompt)
    }

    /// Returns the records of the only thread.
    #[track_caller]
    fn only_rollout(&self) -> Vec<Value> {
        let rollouts = self.codex.rollouts(&self.hermetic);
        assert_eq!(rollouts.len(), 1, "{rollouts:?}");
        read_rollout(&rollouts[0])
    }

    #[track_caller]
    fn assert_nothing_left_the_machine(&self) {
        assert_eq!(self.api.strays(), Vec::<String>::new());
    }
}

/// Returns Codex's events of a type on standard output.
#[track_caller]
fn told(output: &Output, kind: &str) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    let events = text.lines().map(|line| serde_json::from_str(line).expect(line));
    events.filter(|event: &Value| event["type"] == kind).collect()
}

/// Returns the payloads of the records that begin and end turns.
fn boundaries(records: &[Value]) -> Vec<&Value> {
    let is_boundary = |payload: &&Value| {
        let kind = payload["type"].as_str();
        matches!(kind, Some("task_started" | "task_complete" | "turn_aborted"))
    };
    records.iter().map(|record| &record["payload"]).filter(is_boundary).collect()
}

/// Checks the two boundaries of the only turn, and returns the last one.
#[track_caller]
fn end_of_only_turn<'a>(records: &'a [Value], kind: &str) -> &'a Value {
    let boundaries = boundaries(records);
    let kinds: Vec<_> = boundaries.iter().map(|payload| &payload["type"]).collect();
    assert_eq!(kinds, ["task_started", kind]);
    boundaries[1]
}

/// Returns the result of the only tool call that `request` contains.
#[track_caller]
fn only_tool_output(request: &Value) -> String {
    let is_output =
        |item: &&Value| item["type"].as_str().is_some_and(|kind| kind.ends_with("_call_output"));
    let items = request["input"].as_array().expect("input");
    let outputs: Vec<_> = items.iter().filter(is_output).collect();
    assert_eq!(outputs.len(), 1, "{outputs:?}");
    outputs[0]["output"].to_string()
}

#[test]
fn a_plain_turn_answers_and_leaves_one_rollout() {
    let Some(world) = CodexApi::new(vec![ModelReply::text("Nothing to do.")]) else { return };
    let output = world.exec("look around").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(told(&output, "item.completed")[0]["item"]["text"], "Nothing to do.");

    let records = world.only_rollout();
    assert_eq!(records[0]["type"], "session_meta");
    assert_eq!(records[0]["payload"]["cwd"], json!(world.hermetic.project()));
    let thread = &told(&output, "thread.started")[0]["thread_id"];
    assert_eq!(&records[0]["payload"]["id"], thread);
    let end = end_of_only_turn(&records, "task_complete");
    assert_eq!(end["last_agent_message"], "Nothing to do.");
    assert_eq!(end["error"], Value::Null);
    assert_eq!(world.api.requests().len(), 1);
    world.assert_nothing_left_the_machine();
}

#[test]
fn a_tool_call_runs_a_command() {
    let script = vec![
        ModelReply::text("Let me see.")
            .and_tool("exec_command", json!({"cmd": "echo made > made.txt; echo tool-ran"})),
        ModelReply::text("It ran."),
    ];
    let Some(world) = CodexApi::new(script) else { return };
    let output = world.exec("run it").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let made = fs::read_to_string(world.hermetic.project().join("made.txt")).unwrap();
    assert_eq!(made.trim_end(), "made");
    let requests = world.api.requests();
    assert_eq!(requests.len(), 2);
    let result = only_tool_output(&requests[1]);
    assert!(result.contains("tool-ran"), "{result}");
    let records = world.only_rollout();
    assert_eq!(end_of_only_turn(&records, "task_complete")["last_agent_message"], "It ran.");
    world.assert_nothing_left_the_machine();
}

#[test]
fn a_model_that_writes_code_runs_a_command() {
    let code = r#"const r = await tools.exec_command({cmd: "echo tool-ran"}); text(r);"#;
    let script = vec![ModelReply::tool("functions.exec", json!(code)), ModelReply::text("It ran.")];
    let Some(world) = CodexApi::new(script) else { return };
    let output = world.exec("run it").args(CODE_MODEL).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let result = only_tool_output(&world.api.requests()[1]);
    assert!(result.contains("tool-ran"), "{result}");
    end_of_only_turn(&world.only_rollout(), "task_complete");
    world.assert_nothing_left_the_machine();
}

#[test]
fn failures_of_the_api_end_the_turn_with_an_error() {
    let cases = [
        (ModelReply::error(500, "server_error", "out of order"), "internal_server_error"),
        (ModelReply::error(429, "usage_limit_reached", "no more"), "usage_limit_exceeded"),
        (ModelReply::error(200, "context_length_exceeded", "too long"), "context_window_exceeded"),
    ];
    for (reply, expected) in cases {
        let Some(world) = CodexApi::new(vec![reply]) else { return };
        let output = world.exec("look around").output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert_eq!(told(&output, "turn.failed").len(), 1, "{output:?}");
        let records = world.only_rollout();
        let end = end_of_only_turn(&records, "task_complete");
        assert_eq!(end["error"]["codex_error_info"], expected, "{end}");
        assert_eq!(end["last_agent_message"], Value::Null);
        assert_eq!(world.api.requests().len(), 1, "tried again");
        world.assert_nothing_left_the_machine();
    }
}

#[test]
fn an_interrupt_before_the_answer_leaves_an_aborted_turn() {
    let slow = ModelReply::text("Too late.").delayed(TIMEOUT);
    let Some(world) = CodexApi::new(vec![slow]) else { return };
    check_interrupt(&world, || drop(world.api.wait_for_requests(1, TIMEOUT)));
}

#[test]
fn an_interrupt_while_a_command_runs_leaves_an_aborted_turn() {
    let input = json!({"cmd": "echo > started; exec sleep 30", "yield_time_ms": 30_000});
    let Some(world) = CodexApi::new(vec![ModelReply::tool("exec_command", input)]) else { return };
    let started = world.hermetic.project().join("started");
    check_interrupt(&world, || {
        wait_until(TIMEOUT, "the command", || started.exists().then_some(()));
    });
}

#[track_caller]
fn check_interrupt(world: &CodexApi, wait: impl FnOnce()) {
    let mut command = world.exec("look around");
    let mut process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait();
    let kill = Command::new("kill").args(["-INT", &process.id().to_string()]).status().unwrap();
    assert!(kill.success());
    process.wait().unwrap();
    let records = world.only_rollout();
    assert_eq!(end_of_only_turn(&records, "turn_aborted")["reason"], "interrupted");
    assert_eq!(world.api.requests().len(), 1);
    world.assert_nothing_left_the_machine();
}

#[test]
fn the_notify_program_is_told_of_a_turn() {
    let Some(world) = CodexApi::new(vec![ModelReply::text("Nothing to do.")]) else { return };
    let told = world.hermetic.root().join("told");
    let notify = recording_program(&world, &told);
    let top = format!("notify = ['{}', 'first']", notify.display());
    world.codex.configure(&world.hermetic, &world.api, &top);
    let output = world.exec("look around").output().unwrap();
    assert!(output.status.success(), "{output:?}");

    // Codex does not wait for it.
    let text = wait_until(TIMEOUT, "the notify program", || fs::read_to_string(&told).ok());
    let (first, json) = text.split_once('\n').unwrap();
    assert_eq!(first, "first");
    let notice: Value = serde_json::from_str(json).unwrap();
    let records = world.only_rollout();
    let turn = end_of_only_turn(&records, "task_complete");
    let expected = json!({
        "type": "agent-turn-complete", "client": "codex_exec",
        "thread-id": records[0]["payload"]["id"], "turn-id": turn["turn_id"],
        "cwd": world.hermetic.project(), "input-messages": ["look around"],
        "last-assistant-message": "Nothing to do.",
    });
    assert_eq!(notice, expected);
    world.assert_nothing_left_the_machine();
}

/// Writes a program that stores its arguments, one on each line, in `told`. The file appears
/// complete.
fn recording_program(world: &CodexApi, told: &Path) -> PathBuf {
    let program = world.hermetic.root().join("notify.sh");
    let told = told.display();
    let script =
        format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > '{told}.new'\nmv '{told}.new' '{told}'\n");
    testkit::write_program(&program, &script);
    program
}

#[test]
fn a_sub_agent_has_its_own_answers_and_its_own_rollout() {
    let task = json!({"message": "count the files", "task_name": "count", "agent_type": "default"});
    let script = Script::new()
        .then(ModelReply::tool("collaboration.spawn_agent", task))
        .then(ModelReply::tool("collaboration.wait_agent", json!({"timeout_ms": 20_000})))
        .then(ModelReply::text("They were counted."))
        .on("count the files", vec![ModelReply::text("Seven.")]);
    let Some(world) = CodexApi::new(script) else { return };
    let output = world.exec("have them counted").args(CODE_MODEL).output().unwrap();
    assert!(output.status.success(), "{output:?}");

    let threads = world.codex.rollouts(&world.hermetic);
    let threads: Vec<_> = threads.iter().map(|path| read_rollout(path)).collect();
    let answer = |source: &str| {
        let mut of_source = threads.iter().filter(|t| t[0]["payload"]["thread_source"] == source);
        let (Some(thread), None) = (of_source.next(), of_source.next()) else {
            panic!("not one thread of a {source}")
        };
        boundaries(thread).last().unwrap()["last_agent_message"].clone()
    };
    assert_eq!(answer("user"), "They were counted.");
    assert_eq!(answer("subagent"), "Seven.");
    world.assert_nothing_left_the_machine();
}

#[test]
fn the_terminal_shows_an_answer_as_it_comes_and_is_left_with_escape() {
    if Command::new("tmux").arg("-V").output().is_err() {
        return skipped("there is no `tmux` for Codex's terminal");
    }
    let slow = ModelReply::text("First piece.\n\nSecond piece.").pausing(TIMEOUT);
    // The request for a title quotes the prompt, and must not get the conversation's reply.
    let Some(world) = CodexApi::new(Script::new().on("look around", vec![slow])) else { return };
    let mut command = world.codex.command(&world.hermetic, &world.api);
    let tmux = Tmux::start(&world.hermetic, command.arg("look around"));
    let screen = tmux.wait_for("First piece.", TIMEOUT);
    assert!(!screen.contains("Second piece."), "{screen}");
    tmux.wait_for("Test session", TIMEOUT);
    tmux.send_key("Escape");
    let records = wait_until(TIMEOUT, "the end of the turn", || {
        let records = world.only_rollout();
        (boundaries(&records).len() == 2).then_some(records)
    });
    assert_eq!(end_of_only_turn(&records, "turn_aborted")["reason"], "interrupted");
    assert_eq!(records[0]["payload"]["source"], "cli");
    assert_eq!(world.api.requests().len(), 1);
    assert!(!world.hermetic.codex_home().join("app-server-control").exists(), "a daemon");
    for stray in world.api.strays() {
        assert_eq!(stray, "CONNECT raw.githubusercontent.com:443");
    }
}
