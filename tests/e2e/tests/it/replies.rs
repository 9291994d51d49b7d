//! Tests replies that `turnbridge run-reply` gives to the real agents, as the daemon starts it: the
//! typed text is the next prompt of the same session, in its own folder.

use std::fs;
use std::ops::Deref;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Claude, Codex, Hermetic, ModelReply, Tmux, read_rollout};

use crate::support::agent_home::{SessionSelection, executable, stdout_of};
use crate::support::codex_world::CodexWorld;
use crate::support::gates;
use crate::support::world::ApiWorld;

const TIMEOUT: Duration = Duration::from_secs(60);

/// A text with everything that a shell, an option parser or an encoding could interpret.
const NASTY: &str = "--dangerously-skip-permissions\n$(touch pwned) `touch pwned` \"double\" 'single' \\\n\
                     a < b && c > d; &lt; https://example.com/?a=1&b=2 @ann 日本語 🎉\n/clear\n";

/// Writes a reply like the daemon.
fn add_reply(hermetic: &Hermetic, id: &str, tool: &str, session_id: &str, text: &str) {
    let folder = hermetic.state_dir().join("inbox");
    fs::create_dir_all(&folder).expect("make the inbox");
    let reply = json!({
        "version": 1, "id": id, "source": "slack", "channel": "D1", "thread_ts": "1.0", "ts": "2.0",
        "user": "U1", "text": text, "received_at": "2026-01-01T00:00:00Z", "tool": tool,
        "session_id": session_id, "cwd": hermetic.project(),
    });
    fs::write(folder.join(format!("{id}.json")), reply.to_string()).expect("write the reply");
}

/// Runs `turnbridge run-reply ID` with the environment of `agent`, and returns the result.
#[track_caller]
fn run_reply(hermetic: &Hermetic, agent: &Command, id: &str) -> Value {
    assert!(start_runner(hermetic, agent, id).success());
    let path = hermetic.state_dir().join("inbox").join(format!("{id}.result"));
    let result = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&result).expect("a result")
}

/// Runs it and waits for its end.
#[track_caller]
fn start_runner(hermetic: &Hermetic, agent: &Command, id: &str) -> ExitStatus {
    let mut command = hermetic.command(executable("turnbridge"));
    let variables = agent.get_envs();
    command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
    // The daemon's working folder does not matter.
    command.current_dir(hermetic.root()).args(["run-reply", id]).stdin(Stdio::null());
    command.status().expect("run turnbridge")
}

/// Returns the user's texts in a request to Claude's model, without Claude's own additions.
pub fn claude_prompts(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().expect("messages").iter();
    let contents = messages.filter(|message| message["role"] == "user").map(|m| &m["content"]);
    let texts = contents.flat_map(|content| match content {
        Value::Array(blocks) => blocks.iter().map(|block| block["text"].clone()).collect(),
        text => vec![text.clone()],
    });
    texts.filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

fn claude_world(replies: Vec<ModelReply>) -> Option<(ApiWorld, String)> {
    let claude = gates::fast()?;
    let world = ApiWorld::new(claude, replies);
    let program = world.claude.program().display().to_string();
    world.configure(&format!("[gate]\nenabled = false\n[resume]\nclaude = '{program}'\n"));
    let mut command = world.claude();
    command.args(["-p", "first"]);
    stdout_of(&command.output().expect("run claude"));
    let id =
        world.only_session(SessionSelection::All)["session_id"].as_str().expect("an id").to_owned();
    Some((world, id))
}

/// SLV-T3, X30.
#[test]
fn a_reply_is_the_next_prompt_of_the_claude_session() {
    let replies = ["One.", "Two.", "Three."].map(ModelReply::text).to_vec();
    let Some((world, id)) = claude_world(replies) else { return };
    let run = |reply: &str, text: &str| {
        add_reply(&world.hermetic, reply, "claude", &id, text);
        run_reply(&world.hermetic, &world.claude_without_plugin(), reply)
    };
    // By standard input, and as an argument.
    for (reply, text, turns) in [("r1", NASTY, 2), ("r2", "$(touch pwned) go on", 3)] {
        let result = run(reply, text);
        assert_eq!((&result["outcome"], &result["code"]), (&json!("done"), &json!(0)), "{result}");
        assert_eq!(result["output"], Value::Null, "the hooks have seen its turn");
        let request = world.api.requests().pop().expect("a request");
        let prompts = claude_prompts(&request);
        assert!(prompts.iter().any(|prompt| prompt == text), "{prompts:#?}");
        let shown = world.show(&id);
        assert_eq!(shown["turns"].as_array().map(Vec::len), Some(turns), "{shown:#}");
    }
    // A slash command ends no turn: its output is stored for the thread.
    let result = run("r3", "/cost");
    assert_eq!(result["outcome"], "done", "{result}");
    let output = result["output"].as_str().expect("its output");
    assert!(output.contains("Total duration"), "{output}");
    assert!(!world.hermetic.project().join("pwned").exists(), "a shell has run it");
    assert!(!world.hermetic.root().join("pwned").exists(), "a shell has run it");
    assert_eq!(world.only_session(SessionSelection::All)["session_id"], id.as_str());
    world.assert_no_problems();
}

#[test]
fn what_claude_would_take_for_a_command_or_an_unknown_session_is_no_prompt_lost() {
    if gates::slow::<Claude>().is_none() {
        return;
    }
    let Some((world, id)) = claude_world(vec![ModelReply::text("One."); 6]) else { return };
    let run = |reply: &str, session: &str, text: &str| {
        add_reply(&world.hermetic, reply, "claude", session, text);
        run_reply(&world.hermetic, &world.claude_without_plugin(), reply)
    };
    // Names of Claude's own subcommands, and options.
    for (number, text) in ["mcp", "doctor", "-x", "-p what is this"].into_iter().enumerate() {
        let result = run(&format!("r{number}"), &id, text);
        assert_eq!(result["outcome"], "done", "{text}: {result}");
        let prompts = claude_prompts(&world.api.requests().pop().expect("a request"));
        assert!(prompts.iter().any(|prompt| prompt == text), "{text}: {prompts:#?}");
    }
    let result = run("r9", "99999999-2222-4333-8444-555555555556", "go on");
    assert_eq!(
        (&result["outcome"], &result["reason"]),
        (&json!("failed"), &json!("session_unknown"))
    );
    world.assert_no_problems();
}

/// A thread of Codex with one past turn.
struct RepliedThread {
    world: CodexWorld,
    thread: String,
}

impl Deref for RepliedThread {
    type Target = CodexWorld;

    fn deref(&self) -> &CodexWorld {
        &self.world
    }
}

impl RepliedThread {
    #[track_caller]
    fn new(replies: Vec<ModelReply>) -> Option<RepliedThread> {
        let world = CodexWorld::bare(gates::fast()?, replies);
        let program = world.codex.program().display().to_string();
        world.configure(&format!("[resume]\ncodex = '{program}'\n"));
        let mut command = world.codex.exec(&world.hermetic, &world.api, "first");
        stdout_of(&command.output().expect("run codex"));
        let rollouts = world.codex.rollouts(&world.hermetic);
        assert_eq!(rollouts.len(), 1, "{rollouts:?}");
        let meta = &read_rollout(&rollouts[0])[0]["payload"];
        let thread = meta["id"].as_str().expect("a thread's id").to_owned();
        Some(RepliedThread { world, thread })
    }

    #[track_caller]
    fn run(&self, id: &str, thread: &str, text: &str) -> Value {
        add_reply(&self.hermetic, id, "codex", thread, text);
        run_reply(&self.hermetic, &self.codex.command(&self.hermetic, &self.api), id)
    }

    fn rollout(&self) -> Vec<Value> {
        let rollouts = self.codex.rollouts(&self.hermetic);
        assert_eq!(rollouts.len(), 1, "another thread was made: {rollouts:?}");
        read_rollout(&rollouts[0])
    }
}

/// Returns the user's last text in a request to Codex's model.
pub fn codex_prompt(request: &Value) -> String {
    let input = request["input"].as_array().expect("input").iter();
    let users = input.filter(|item| item["type"] == "message" && item["role"] == "user");
    let texts = users.flat_map(|item| item["content"].as_array().cloned().unwrap_or_default());
    let last = texts.last().expect("a user's text");
    last["text"].as_str().unwrap_or_default().to_owned()
}

/// SLV-T3, SLV-50.
#[test]
fn a_reply_is_the_next_prompt_of_the_codex_thread() {
    let Some(world) = RepliedThread::new(vec![ModelReply::text("One."), ModelReply::text("Two.")])
    else {
        return;
    };
    let result = world.run("r1", &world.thread, NASTY);
    assert_eq!((&result["outcome"], &result["code"]), (&json!("done"), &json!(0)), "{result}");
    let request = world.api.requests().pop().expect("a request");
    assert_eq!(codex_prompt(&request).trim_end(), NASTY.trim_end());
    let is_end = |record: &&Value| record["payload"]["type"] == "task_complete";
    assert_eq!(world.rollout().iter().filter(is_end).count(), 2);
    let turns = world.rollout().into_iter().filter(|record| record["type"] == "turn_context");
    let folders: Vec<_> = turns.map(|turn| turn["payload"]["cwd"].clone()).collect();
    assert!(folders.iter().all(|folder| *folder == json!(world.hermetic.project())), "{folders:?}");
    assert!(!pwned(world.hermetic.root()), "a shell has run it");
    let unknown = world.run("r2", "99999999-2222-4333-8444-555555555556", "go on");
    assert_eq!(
        (&unknown["outcome"], &unknown["reason"]),
        (&json!("failed"), &json!("session_unknown"))
    );
    assert_eq!(world.api.strays(), Vec::<String>::new());
}

/// Returns whether a shell has executed a part of a reply's text.
pub fn pwned(root: &Path) -> bool {
    root.join("pwned").exists() || root.join("project/pwned").exists()
}

/// A `codex exec` would start a queued reply and abort it: the reply waits for its end instead.
#[test]
fn a_thread_on_which_a_codex_exec_works_is_waited_for() {
    if gates::slow::<Codex>().is_none() {
        return;
    }
    let long = ModelReply::text("Busy.").delayed(Duration::from_secs(10));
    let replies = vec![ModelReply::text("One."), long, ModelReply::text("Three.")];
    let Some(world) = RepliedThread::new(replies) else { return };
    let mut holder = world.codex.command(&world.hermetic, &world.api);
    holder.args(["exec", "--skip-git-repo-check", "resume", &world.thread, "second"]);
    holder.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut holder = holder.spawn().expect("start codex");
    world.api.wait_for_requests(2, Duration::from_secs(60));
    add_reply(&world.hermetic, "r1", "codex", &world.thread, "-x third");
    let agent = world.codex.command(&world.hermetic, &world.api);
    let runner = || start_runner(&world.hermetic, &agent, "r1");
    assert!(runner().success());
    let claim = world.hermetic.state_dir().join("inbox/r1.run");
    assert!(!claim.exists(), "it was claimed while a `codex exec` has the thread");
    assert!(holder.wait().expect("wait for codex").success());
    let result = run_reply(&world.hermetic, &agent, "r1");
    assert_eq!(result["outcome"], "done", "{result}");
    let prompts: Vec<_> = world.api.requests().iter().map(codex_prompt).collect();
    assert_eq!(prompts, ["first", "second", "-x third"]);
}

/// A terminal that is its own server polls its queue every ten seconds.
#[test]
fn a_thread_that_a_terminal_has_open_gets_the_reply_through_its_queue() {
    if gates::slow::<Codex>().is_none() {
        return;
    }
    let replies = ["One.", "Two."].map(ModelReply::text).to_vec();
    let Some(world) = RepliedThread::new(replies) else { return };
    let mut command = world.codex.command(&world.hermetic, &world.api);
    command.args(["resume", &world.thread]);
    let tmux = Tmux::start(&world.hermetic, &command);
    let lock = world.hermetic.codex_home().join("thread-writer-locks");
    let lock = lock.join(format!("{}.lock", world.thread));
    testkit::wait_until(TIMEOUT, "the open thread", || lock.exists().then_some(()));
    tmux.wait_for("One.", TIMEOUT);
    let result = world.run("r1", &world.thread, "-x\nthird");
    assert_eq!(result["outcome"], "handed_over", "{result}");
    tmux.wait_for("Two.", TIMEOUT);
    let prompts: Vec<_> = world.api.requests().iter().map(codex_prompt).collect();
    assert_eq!(prompts, ["first", "-x\nthird"]);
}

/// Starts the runner, waits for the agent's request, and stops the run like the daemon.
#[track_caller]
fn stop_while_running(
    hermetic: &Hermetic,
    agent: &Command,
    id: &str,
    is_asked: impl Fn() -> bool,
) -> Value {
    let mut command = hermetic.command(executable("turnbridge"));
    let variables = agent.get_envs();
    command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
    command.args(["run-reply", id]).stdin(Stdio::null());
    let mut runner = command.spawn().expect("start turnbridge");
    testkit::wait_until(TIMEOUT, "the agent's request", || is_asked().then_some(()));
    let kill = Command::new("kill").args(["-TERM", &runner.id().to_string()]).status();
    assert!(kill.expect("run kill").success());
    assert!(runner.wait().expect("wait for the runner").success());
    let path = hermetic.state_dir().join("inbox").join(format!("{id}.result"));
    serde_json::from_slice(&fs::read(path).expect("a result")).expect("JSON")
}

#[test]
fn a_stopped_run_ends_the_real_agents() {
    if gates::slow::<Codex>().is_none() {
        return;
    }
    let late = || ModelReply::text("Too late.").delayed(Duration::from_secs(60));
    let Some((world, id)) = claude_world(vec![ModelReply::text("One."), late()]) else { return };
    add_reply(&world.hermetic, "r1", "claude", &id, "think long");
    let command = world.claude_without_plugin();
    let is_asked = || world.api.requests().len() >= 2;
    let result = stop_while_running(&world.hermetic, &command, "r1", is_asked);
    assert_eq!(result["outcome"], "stopped", "{result}");
    let session = world.only_session(SessionSelection::All);
    assert_eq!(session["live_runs"], 0, "{session:#}");
    drop(world);

    let Some(world) = RepliedThread::new(vec![ModelReply::text("One."), late()]) else { return };
    add_reply(&world.hermetic, "r1", "codex", &world.thread, "think long");
    let command = world.codex.command(&world.hermetic, &world.api);
    let is_asked = || world.api.requests().len() >= 2;
    let result = stop_while_running(&world.hermetic, &command, "r1", is_asked);
    assert_eq!(result["outcome"], "stopped", "{result}");
    let ends: Vec<_> =
        world.rollout().iter().map(|record| record["payload"]["type"].clone()).collect();
    assert!(ends.contains(&json!("turn_aborted")), "{ends:?}");
}
