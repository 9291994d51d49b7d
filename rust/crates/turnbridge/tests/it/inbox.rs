//! Tests `turnbridge run-reply` and `turnbridge inbox` with stub agents that record their calls.
//! The stubs are shell scripts, so these tests run on unix only.

#![cfg(unix)]

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use turnbridge_core::agents::resume::LiveSession;
use turnbridge_core::replies::reply_plan::{ReplyConditions, ReplyStep, plan};
use turnbridge_core::replies::thread_message::ThreadMessage;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::inbox as store;
use turnbridge_system::replies::runs::find_out;

use crate::support::world::{SESSION, World, lines_of, payload};

const TIMEOUT: Duration = Duration::from_secs(60);

/// Records its arguments, each ended by a NUL, its folder, the id of the reply and its input; then
/// runs the test's script.
const STUB: &str = r#"#!/bin/sh
record="$STUB_RECORD/$$"
printf '%s\0' "$0" "$@" > "$record.args"
pwd > "$record.cwd"
printf '%s' "$TURNBRIDGE_REPLY_ID" > "$record.reply"
env > "$record.env"
cat > "$record.stdin"
echo "$TURNBRIDGE_REPLY_ID" >> "$STUB_RECORD/runs"
. "$STUB_RECORD/behaviour"
"#;

struct InboxWorld {
    world: World,
}

/// The call of a stub.
struct StubCall {
    program: String,
    arguments: Vec<String>,
    cwd: String,
    reply: String,
    stdin: String,
    env: String,
}

impl InboxWorld {
    fn new() -> InboxWorld {
        let world = World::new();
        let inbox = InboxWorld { world };
        fs::create_dir_all(inbox.record()).unwrap();
        inbox.behave("echo answer");
        for name in ["claude", "codex"] {
            inbox.add_stub(name);
        }
        inbox
    }

    fn record(&self) -> PathBuf {
        self.world.hermetic.root().join("record")
    }

    fn programs(&self) -> PathBuf {
        self.world.hermetic.root().join("bin")
    }

    fn add_stub(&self, name: &str) {
        fs::create_dir_all(self.programs()).unwrap();
        let path = self.programs().join(name);
        testkit::write_program(&path, STUB);
    }

    /// Sets the script that the stubs run after the recording.
    fn behave(&self, script: &str) {
        fs::write(self.record().join("behaviour"), script).unwrap();
    }

    fn folder(&self) -> PathBuf {
        self.world.hermetic.state_dir().join("inbox")
    }

    fn file(&self, id: &str, extension: &str) -> PathBuf {
        self.folder().join(format!("{id}.{extension}"))
    }

    /// Writes a reply like the daemon.
    fn add(&self, id: &str, text: &str, more: Value) {
        let mut reply = json!({
            "version": 1, "id": id, "source": "slack", "channel": "D1",
            "thread_ts": "1700000000.000100", "ts": "1700000001.000200", "user": "U1",
            "text": text, "received_at": "2026-01-01T00:00:00.000000Z", "tool": "claude",
            "session_id": SESSION, "cwd": self.world.hermetic.project(),
        });
        reply.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        fs::create_dir_all(self.folder()).unwrap();
        fs::write(self.file(id, "json"), reply.to_string()).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.world.command("turnbridge");
        let path = std::env::join_paths(
            std::iter::once(self.programs())
                .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
        );
        command.env("PATH", path.unwrap()).env("STUB_RECORD", self.record()).args(arguments);
        command
    }

    fn run(&self, id: &str) -> Output {
        self.command(&["run-reply", id]).output().unwrap()
    }

    fn spawn(&self, id: &str) -> Child {
        let mut command = self.command(&["run-reply", id]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Runs it and returns its result.
    #[track_caller]
    fn result(&self, id: &str) -> Value {
        let output = self.run(id);
        assert!(output.status.success(), "{output:?}");
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
        self.read_result(id)
    }

    #[track_caller]
    fn read_result(&self, id: &str) -> Value {
        serde_json::from_slice(&fs::read(self.file(id, "result")).unwrap()).unwrap()
    }

    fn runs(&self) -> Vec<String> {
        let text = fs::read_to_string(self.record().join("runs")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Returns the only call.
    #[track_caller]
    fn called(&self) -> StubCall {
        let files = fs::read_dir(self.record()).unwrap().map(|file| file.unwrap().path());
        let args: Vec<_> =
            files.filter(|path| path.extension().is_some_and(|e| e == "args")).collect();
        assert_eq!(args.len(), 1, "{args:?}");
        let read = |extension: &str| fs::read_to_string(args[0].with_extension(extension)).unwrap();
        let text = read("args");
        let mut words = text.strip_suffix('\0').unwrap().split('\0').map(str::to_owned);
        StubCall {
            program: words.next().unwrap(),
            arguments: words.collect(),
            cwd: read("cwd").trim_end().to_owned(),
            reply: read("reply"),
            stdin: read("stdin"),
            env: read("env"),
        }
    }

    fn log(&self) -> Vec<Value> {
        let logs = [
            self.world.hermetic.state_dir().join("logs/daemon.log"),
            self.world.hermetic.home().join("Library/Logs/turnbridge/daemon.log"),
        ];
        lines_of(&logs.map(|log| fs::read_to_string(log).unwrap_or_default()).concat())
    }

    fn list(&self) -> Vec<Value> {
        let list: Value =
            serde_json::from_str(&self.world.turnbridge(&["inbox", "--json"])).unwrap();
        list["replies"].as_array().unwrap().clone()
    }

    /// Creates a session by its hooks.
    fn add_session(&self, variables: &[(&str, &str)], more: Value) {
        let mut command = self.world.command("turnbridge-status");
        command.args(["--origin", "plugin"]).envs(variables.iter().copied());
        let payload = payload("UserPromptSubmit", more);
        let output = crate::support::world::feed(command, payload.to_string().as_bytes());
        crate::support::world::assert_silent_success(&output);
    }
}

#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    testkit::wait_until(TIMEOUT, what, || is_so().then_some(()));
}

/// SLV-24, LIVE-4.
#[test]
fn slv_51_54_83_claude_gets_the_prompt_by_stdin_in_the_sessions_folder() {
    let inbox = InboxWorld::new();
    let text = "go on: $(touch pwned) `touch pwned` \"double\" 'single' \\ ; touch pwned & * ~";
    inbox.add("r1", text, json!({}));
    let result = inbox.result("r1");
    assert_eq!(result["outcome"], "done");
    // No hook has seen a turn end: the output is the only result.
    assert_eq!(result["output"], "answer\n");
    let called = inbox.called();
    assert!(called.program.ends_with("/bin/claude"), "{}", called.program);
    assert_eq!(called.arguments, ["-r", SESSION, "-p"]);
    assert_eq!(called.cwd, inbox.world.hermetic.project().to_str().unwrap());
    assert_eq!((called.reply.as_str(), called.stdin.as_str()), ("r1", text));
    assert!(!inbox.world.hermetic.project().join("pwned").exists());
    let log = inbox.log();
    assert_eq!(log.len(), 1, "{log:?}");
    assert_eq!((&log[0]["outcome"], &log[0]["code"]), (&json!("done"), &json!("0")));
    assert_eq!(log[0]["stdout_bytes"], 7);
    assert_eq!((&log[0]["tool"], &log[0]["session_id"]), (&json!("claude"), &json!(SESSION)));
    assert_eq!(log[0]["thread_ts"], "1700000000.000100");
    assert!(log[0]["duration_ms"].is_u64(), "{}", log[0]);
    let line = log[0].to_string();
    assert!(!line.contains("go on") && !line.contains("answer"), "text in the log: {line}");
}

#[test]
fn x30_line_ends_and_leading_dashes_reach_claude_by_stdin() {
    for text in ["one\ntwo `x` $(y)\n", "--dangerously-skip-permissions", "mcp"] {
        let inbox = InboxWorld::new();
        inbox.add("r1", text, json!({}));
        assert_eq!(inbox.result("r1")["outcome"], "done");
        let called = inbox.called();
        assert_eq!(called.arguments, ["-r", SESSION, "-p"], "{text}");
        assert_eq!(called.stdin, text);
    }
    let inbox = InboxWorld::new();
    let long = "long enough ".repeat(100_000);
    inbox.add("r1", &long, json!({}));
    assert_eq!(inbox.result("r1")["outcome"], "done");
    assert_eq!(inbox.called().stdin.len(), long.len());
}

#[test]
fn slv_52_literal_newlines_are_two_characters() {
    let inbox = InboxWorld::new();
    inbox.world.configure("[resume]\nclaude_newlines = \"literal\"\n");
    inbox.add("r1", "one\r\ntwo three\n", json!({}));
    inbox.result("r1");
    let called = inbox.called();
    assert_eq!(called.arguments, ["-r", SESSION, "-p"]);
    assert_eq!(called.stdin, "one\\ntwo three\\n");
}

/// Every user of the machine can read arguments.
#[cfg(target_os = "linux")]
#[test]
fn no_word_of_a_reply_is_in_the_arguments_of_any_process() {
    // A unique text, in case the tests run twice on this machine.
    let needle = format!("needle-{}", std::process::id());
    for (agent, text) in [
        ("claude", format!("a short {needle}")),
        ("claude", format!("long {needle} ").repeat(2_500)),
        ("codex", format!("a short {needle}")),
    ] {
        let inbox = InboxWorld::new();
        inbox.behave(
            "while [ -e \"$STUB_RECORD\" ] && [ ! -e \"$STUB_RECORD/go\" ]; do sleep 0.05; done",
        );
        inbox.add("r1", &text, json!({"tool": agent}));
        let mut runner = inbox.spawn("r1");
        wait_until("the agent", || !inbox.runs().is_empty());
        assert_eq!(processes_with(&needle), Vec::<String>::new(), "{agent}");
        fs::write(inbox.record().join("go"), "").unwrap();
        runner.wait().unwrap();
        assert_eq!(inbox.called().stdin, text);
    }
}

/// Returns the command lines of all processes that contain these words.
#[cfg(target_os = "linux")]
fn processes_with(words: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(words)).collect()
}

/// LIVE-4.
#[test]
fn slv_50_codex_gets_the_prompt_on_stdin_and_its_options_before_resume() {
    let inbox = InboxWorld::new();
    let text = "-x\n$(touch pwned)\n";
    inbox.add("r1", text, json!({"tool": "codex"}));
    let result = inbox.result("r1");
    assert_eq!(result["outcome"], "done");
    assert_eq!(result["output"], Value::Null, "its rollout tells");
    let called = inbox.called();
    assert!(called.program.ends_with("/bin/codex"), "{}", called.program);
    let project = inbox.world.hermetic.project();
    let project = project.to_str().unwrap();
    let expected = ["exec", "-C", project, "--skip-git-repo-check", "resume", SESSION, "-"];
    assert_eq!(called.arguments, expected);
    assert_eq!(called.stdin, text);
}

/// A Codex whose thread is open in another process.
const HELD: &str = "echo \"thread x already has an active writer (code -32600)\" >&2\nexit 1\n";

/// A `codex queue` whose message an interface starts immediately.
const QUEUE_BEGINS: &str = r#"if [ "$1" = queue ]; then
    at=$(date -u +%Y-%m-%dT%H:%M:%S.999Z)
    record() { printf '{"timestamp":"%s","type":"event_msg","payload":%s}\n' "$at" "$1" >>"$rollout"; }
    for rollout in "$CODEX_HOME"/sessions/2026/11/18/*.jsonl; do
        record '{"type":"task_started","turn_attribution":{"turn_trigger":"queue"}}'
        record '{"type":"item_completed","item":{"type":"UserMessage","content":[{"text":"-x\nhello"}]}}'
    done
    echo "Queued message q for thread t."
    exit 0
fi
"#;

/// A `codex queue` whose message no process starts.
const QUEUE_KEEPS: &str =
    "[ \"$1\" = queue ] && echo \"Queued message q for thread t.\" && exit 0\n";

fn turn_started(trigger: &str) -> Value {
    json!({"type": "task_started", "turn_attribution": {"turn_trigger": trigger}})
}

impl InboxWorld {
    /// Writes the thread's rollout with these events.
    fn codex_thread(&self, events: &[Value]) {
        let folder = self.world.hermetic.codex_home().join("sessions/2026/11/18");
        fs::create_dir_all(&folder).unwrap();
        let line = |event: &Value| {
            let at = turnbridge_store::clock::now().to_string();
            format!("{}\n", json!({"timestamp": at, "type": "event_msg", "payload": event}))
        };
        let path = folder.join(format!("rollout-2026-11-18T02-32-33-{SESSION}.jsonl"));
        fs::write(path, events.iter().map(line).collect::<String>()).unwrap();
    }

    /// Holds the lock as a Codex with the open thread.
    fn hold_codex_thread(&self) -> fs::File {
        let folder = self.world.hermetic.codex_home().join("thread-writer-locks");
        fs::create_dir_all(&folder).unwrap();
        let lock = fs::File::create(folder.join(format!("{SESSION}.lock"))).unwrap();
        lock.lock().unwrap();
        lock
    }
}

/// `codex queue` reports a queued message, which is true, but is no turn yet.
#[test]
fn a_reply_that_codex_has_queued_and_not_begun_is_not_said_to_be_handed_over() {
    let inbox = InboxWorld::new();
    inbox.behave(&format!("{QUEUE_KEEPS}{HELD}"));
    inbox.codex_thread(&[turn_started("user")]);
    inbox.add("r1", "-x\nhello", json!({"tool": "codex"}));
    assert_eq!(inbox.result("r1")["outcome"], "not_begun");
}

/// `codex queue` during a turn, which Esc ends a moment later.
const QUEUE_THEN_ESC: &str = r#"if [ "$1" = queue ]; then
    at=$(date -u +%Y-%m-%dT%H:%M:%S.999Z)
    for rollout in "$CODEX_HOME"/sessions/2026/11/18/*.jsonl; do
        printf '{"timestamp":"%s","type":"event_msg","payload":{"type":"turn_aborted"}}\n' "$at" >>"$rollout"
    done
    echo "Queued message q for thread t."
    exit 0
fi
"#;

/// Nothing begins it before the next prompt from the keyboard, so there is nothing to wait for.
#[cfg(any(target_os = "linux", target_os = "macos"))]
#[test]
fn a_queued_reply_whose_thread_is_interrupted_is_said_at_once_not_to_have_begun() {
    let inbox = InboxWorld::new();
    inbox.behave(&format!("{QUEUE_THEN_ESC}{HELD}"));
    let _terminal = inbox.hold_codex_thread();
    inbox.codex_thread(&[turn_started("user")]);
    inbox.add("r1", "-x\nhello", json!({"tool": "codex"}));
    let begun = Instant::now();
    assert_eq!(inbox.result("r1")["outcome"], "not_begun");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

/// Its answer is there, after all.
#[test]
fn a_queued_reply_that_begins_later_is_not_said_not_to_have_begun_for_ever() {
    let inbox = InboxWorld::new();
    inbox.behave(&format!("{QUEUE_KEEPS}{HELD}"));
    let mut events = vec![turn_started("user")];
    inbox.codex_thread(&events);
    let paths = StatePaths::below(&inbox.world.hermetic.state_dir());
    for id in ["r1", "r2"] {
        inbox.add(id, "go on", json!({"tool": "codex"}));
        assert_eq!(inbox.result(id)["outcome"], "not_begun");
        store::finish(&paths, id).unwrap();
    }
    let outcomes = || {
        let list = inbox.list();
        let outcome = |id: &str| {
            let reply = list.iter().find(|reply| reply["id"] == id).unwrap();
            reply["result"]["outcome"].as_str().unwrap().to_owned()
        };
        [outcome("r1"), outcome("r2")]
    };
    let after_a_look = || {
        let mut daemon = inbox.command(&["daemon", "--foreground"]);
        daemon.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut daemon = daemon.spawn().unwrap();
        wait_until("the daemon", || {
            inbox.world.turnbridge(&["daemon", "status"]).starts_with("running")
        });
        inbox.world.turnbridge(&["daemon", "stop"]);
        daemon.wait().unwrap();
        outcomes()
    };
    // What is typed there is another turn.
    let content = json!({"type": "UserMessage", "content": [{"text": "go on"}]});
    let said = json!({"type": "item_completed", "item": content});
    events.extend([json!({"type": "turn_aborted"}), turn_started("user"), said.clone()]);
    events.push(json!({"type": "task_complete"}));
    inbox.codex_thread(&events);
    assert_eq!(after_a_look(), ["not_begun", "not_begun"]);
    events.extend([turn_started("queue"), said.clone(), json!({"type": "task_complete"})]);
    inbox.codex_thread(&events);
    assert_eq!(after_a_look(), ["handed_over", "not_begun"]);
    assert_eq!(after_a_look(), ["handed_over", "not_begun"], "each turn is of one reply");
    events.extend([turn_started("queue"), said]);
    inbox.codex_thread(&events);
    assert_eq!(after_a_look(), ["handed_over", "handed_over"]);
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
#[test]
fn nothing_is_queued_for_a_codex_exec_or_after_an_interruption_and_the_reply_stays_unclaimed() {
    let aborted = [turn_started("user"), json!({"type": "turn_aborted"})];
    for events in [&aborted[..], &[turn_started("exec")]] {
        let inbox = InboxWorld::new();
        inbox.behave(&format!("{QUEUE_BEGINS}{HELD}"));
        let lock = inbox.hold_codex_thread();
        inbox.codex_thread(events);
        inbox.add("r1", "-x\nhello", json!({"tool": "codex"}));
        assert!(inbox.spawn("r1").wait().unwrap().success());
        assert_eq!(inbox.runs(), Vec::<String>::new(), "{events:?}");
        let shown = &inbox.list()[0];
        assert_eq!((&shown["state"], &shown["result"]), (&json!("waiting"), &Value::Null));
        // The terminal was closed, so no process holds the thread. A program that another test
        // starts at this moment has the file open as well, and would keep a lock that is only
        // closed.
        lock.unlock().unwrap();
        inbox.behave("exit 0\n");
        assert_eq!(inbox.result("r1")["outcome"], "done", "{events:?}");
    }
}

#[test]
fn a_thread_that_another_codex_has_open_gets_the_reply_through_its_queue() {
    let inbox = InboxWorld::new();
    inbox.behave(&format!("{QUEUE_BEGINS}{HELD}"));
    inbox.codex_thread(&[]);
    inbox.add("r1", "-x\nhello", json!({"tool": "codex"}));
    assert_eq!(inbox.result("r1")["outcome"], "handed_over");
    let files = fs::read_dir(inbox.record()).unwrap().map(|file| file.unwrap().path());
    let calls: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "args"))
        .map(|path| fs::read_to_string(path).unwrap())
        .filter(|arguments| arguments.contains("\0queue\0"))
        .collect();
    let expected = format!("\0queue\0--thread\0{SESSION}\0--message=-x\nhello\0");
    assert!(calls.len() == 1 && calls[0].ends_with(&expected), "{calls:?}");
}

/// `codex queue` accepts a message only as an argument.
#[test]
fn slv_53_a_reply_that_is_too_long_for_an_argument_is_an_error_and_goes_no_other_way() {
    let inbox = InboxWorld::new();
    inbox.behave(&format!("{QUEUE_BEGINS}{HELD}"));
    inbox.codex_thread(&[turn_started("user")]);
    let _terminal = inbox.hold_codex_thread();
    inbox.add("r1", &"too long ".repeat(20_000), json!({"tool": "codex"}));
    let result = inbox.result("r1");
    assert_eq!((&result["outcome"], &result["reason"]), (&json!("failed"), &json!("too_long")));
    assert_eq!(inbox.runs(), Vec::<String>::new());
}

/// The process that had it open is gone before the second try: no process would read a queued
/// message.
#[test]
fn a_thread_that_was_open_for_a_moment_only_is_run_and_nothing_is_queued() {
    let inbox = InboxWorld::new();
    let once = "[ -e \"$STUB_RECORD/tried\" ] && exit 0\ntouch \"$STUB_RECORD/tried\"\n";
    inbox.behave(&format!("{QUEUE_BEGINS}{once}{HELD}"));
    inbox.codex_thread(&[]);
    inbox.add("r1", "-x\nhello", json!({"tool": "codex"}));
    assert_eq!(inbox.result("r1")["outcome"], "done");
    assert_eq!(inbox.runs().len(), 2, "one try, and one more");
}

/// Claude Code removes the unpacked archive when its run ends.
#[test]
fn a_plugin_that_came_in_a_zip_is_loaded_again_from_where_we_lie() {
    let inbox = InboxWorld::new();
    let archive = inbox.world.hermetic.root().join("an archive");
    fs::create_dir_all(archive.join(".claude-plugin")).unwrap();
    fs::write(archive.join(".claude-plugin/plugin.json"), "{}").unwrap();
    let program = archive.join("turnbridge");
    fs::copy(env!("CARGO_BIN_EXE_turnbridge"), &program).unwrap();
    let data = inbox.world.hermetic.home().join("turnbridge-inline");
    let variables = [
        ("CLAUDE_PLUGIN_ROOT", "/unpacked/for a run"),
        ("CLAUDE_PLUGIN_DATA", data.to_str().unwrap()),
        ("CLAUDE_PROJECT_DIR", archive.to_str().unwrap()),
    ];
    inbox.add_session(&variables, json!({"prompt": "x"}));
    inbox.add("r1", "go on", json!({}));
    let usual = inbox.command(&[]);
    let mut command = inbox.world.hermetic.command(&program);
    command.envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
    assert!(command.args(["run-reply", "r1"]).output().unwrap().status.success());
    let plugin_dir = format!("--plugin-dir={}", archive.display());
    assert_eq!(inbox.called().arguments[0], plugin_dir);
}

#[test]
fn what_the_session_was_started_with_is_passed_on_and_what_is_around_the_daemon_is_not() {
    let inbox = InboxWorld::new();
    let home = inbox.world.hermetic.home();
    let data = home.join("turnbridge-inline");
    let session_dir = inbox.world.hermetic.root().join("started here");
    fs::create_dir(&session_dir).unwrap();
    inbox.add_session(
        &[
            ("CLAUDE_PLUGIN_ROOT", "/plug in"),
            ("CLAUDE_PLUGIN_DATA", data.to_str().unwrap()),
            ("CLAUDE_PROJECT_DIR", session_dir.to_str().unwrap()),
        ],
        json!({"prompt": "x", "permission_mode": "plan"}),
    );
    inbox.add("r1", "go on", json!({}));
    let mut command = inbox.command(&["run-reply", "r1"]);
    let others = [
        ("CLAUDECODE", "1"),
        ("CLAUDE_CODE_SSE_PORT", "4711"),
        ("CODEX_SANDBOX", "seatbelt"),
        ("CODEX_SANDBOX_NETWORK_DISABLED", "1"),
        ("TVINE_SESSION_ID", "other"),
        ("TMUX_PANE", "%9"),
        // By these its hooks would lead to the daemon's own terminal.
        ("ZELLIJ", "0"),
        ("ZELLIJ_SESSION_NAME", "other"),
        ("WEZTERM_UNIX_SOCKET", "/run/other"),
        ("KITTY_LISTEN_ON", "unix:/run/other"),
    ];
    command.envs(others).env("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "7").env("NO_PROXY", "x");
    assert!(command.output().unwrap().status.success());
    let called = inbox.called();
    let expected = ["--plugin-dir=/plug in", "--permission-mode", "plan", "-r", SESSION, "-p"];
    assert_eq!(called.arguments, expected);
    assert_eq!(called.cwd, session_dir.to_str().unwrap(), "not the route's folder");
    for (name, _) in others {
        assert!(!called.env.contains(&format!("{name}=")), "{name}");
    }
    for own in ["CLAUDE_CODE_MAX_OUTPUT_TOKENS=7\n", "NO_PROXY=x\n"] {
        assert!(called.env.contains(own), "{own}");
    }
}

#[test]
fn claude_is_resumed_with_the_config_folder_that_its_session_was_started_with() {
    let own = InboxWorld::new().world.hermetic.claude_config_dir();
    for of_session in [Some("/srv/claude"), None] {
        let inbox = InboxWorld::new();
        let mut hook = inbox.world.command("turnbridge-status");
        hook.args(["--origin", "plugin"]).env_remove("CLAUDE_CONFIG_DIR");
        hook.envs(of_session.map(|folder| ("CLAUDE_CONFIG_DIR", folder)));
        hook.env("CLAUDE_PROJECT_DIR", inbox.world.hermetic.project());
        let prompt = payload("UserPromptSubmit", json!({"prompt": "x"}));
        crate::support::world::assert_silent_success(&crate::support::world::feed(
            hook,
            prompt.to_string().as_bytes(),
        ));
        inbox.add("r1", "go on", json!({}));
        let mut command = inbox.command(&["run-reply", "r1"]);
        command.env("CLAUDE_CONFIG_DIR", &own);
        assert!(command.output().unwrap().status.success());
        assert_eq!(inbox.read_result("r1")["outcome"], "done");
        let env = inbox.called().env;
        let seen = env.lines().find_map(|line| line.strip_prefix("CLAUDE_CONFIG_DIR="));
        assert_eq!(seen, of_session);
    }
}

#[test]
fn permissions_are_bypassed_only_when_that_is_allowed() {
    for (config, expected) in [("", false), ("[resume]\nallow_bypass = true\n", true)] {
        let inbox = InboxWorld::new();
        inbox.world.configure(config);
        let project = inbox.world.hermetic.project();
        inbox.add_session(
            &[("CLAUDE_PROJECT_DIR", project.to_str().unwrap())],
            json!({"prompt": "x", "permission_mode": "bypassPermissions"}),
        );
        inbox.add("r1", "go on", json!({}));
        inbox.result("r1");
        let arguments = inbox.called().arguments;
        assert_eq!(arguments.contains(&"bypassPermissions".to_owned()), expected, "{arguments:?}");
    }
}

#[test]
fn slv_80_every_failure_has_its_reason() {
    let check = |more: Value, behaviour: &str, reason: &str, code: Value| {
        let inbox = InboxWorld::new();
        inbox.behave(behaviour);
        inbox.add("r1", "go on", more);
        let result = inbox.result("r1");
        assert_eq!((&result["outcome"], &result["reason"]), (&json!("failed"), &json!(reason)));
        assert_eq!(result["code"], code, "{reason}");
        assert_eq!(inbox.log()[0]["reason"], reason);
        inbox
    };
    check(json!({}), "exit 3", "exit_code", json!(3));
    check(json!({}), "kill -9 $$", "signal", json!(9));
    let unknown = "echo 'No conversation found with session ID: x' >&2; exit 1";
    check(json!({}), unknown, "session_unknown", json!(1));
    for more in [
        json!({"cwd": "/nowhere/at/all"}),
        json!({"session_id": "../../x"}),
        json!({"tool": "rm"}),
        json!({"session_id": null, "tool": null}),
    ] {
        let reason = if more.get("cwd").is_some() { "folder_missing" } else { "session_invalid" };
        let inbox = check(more, "true", reason, Value::Null);
        assert!(inbox.runs().is_empty(), "a process was started");
    }
    let inbox = InboxWorld::new();
    inbox.world.configure("[resume]\nclaude = \"/nowhere/claude\"\n");
    inbox.add("r1", "go on", json!({}));
    assert_eq!(inbox.result("r1")["reason"], "program_missing");
}

#[test]
fn a_reply_that_is_not_there_or_no_name_starts_nothing() {
    let inbox = InboxWorld::new();
    for id in ["nobody", "../../x", "-x"] {
        let output = inbox.command(&["run-reply", "--", id]).output().unwrap();
        assert!(!output.status.success(), "{id}");
    }
    assert!(inbox.runs().is_empty());
}

#[test]
fn a_reply_runs_once_however_many_runners_are_started() {
    let inbox = InboxWorld::new();
    inbox.add("r1", "go on", json!({}));
    let runners: Vec<_> = (0..6).map(|_| inbox.spawn("r1")).collect();
    for mut runner in runners {
        runner.wait().unwrap();
    }
    inbox.run("r1");
    assert_eq!(inbox.runs(), ["r1"]);
    assert_eq!(inbox.read_result("r1")["outcome"], "done");
}

#[test]
fn the_hooks_acknowledge_the_reply_and_then_the_output_is_nobodys() {
    let inbox = InboxWorld::new();
    let hook = |program: &str, event: &str, more: Value| {
        let path = match program {
            "status" => env!("CARGO_BIN_EXE_turnbridge-status"),
            _ => env!("CARGO_BIN_EXE_turnbridge-stop-gate"),
        };
        let payload = payload(event, more).to_string();
        format!("printf '%s' '{payload}' | '{path}' --origin plugin\n")
    };
    inbox.behave(&format!(
        "{}test -s '{}' || exit 7\n{}echo answer",
        hook("status", "UserPromptSubmit", json!({"prompt": "go on"})),
        inbox.file("r1", "ack").display(),
        hook(
            "gate",
            "Stop",
            json!({"stop_hook_active": false, "last_assistant_message": "answer"})
        ),
    ));
    inbox.add("r1", "go on", json!({}));
    let result = inbox.result("r1");
    assert_eq!((&result["outcome"], &result["output"]), (&json!("done"), &Value::Null));
    let acknowledged = fs::read_to_string(inbox.file("r1", "ack")).unwrap();
    let events: Vec<_> = acknowledged.lines().filter(|line| !line.starts_with("by ")).collect();
    assert_eq!(events, ["UserPromptSubmit", "Stop"]);
    // Codex's hooks do the same; an id without a waiting runner, or an invalid one, has no effect.
    let inbox = InboxWorld::new();
    inbox.add("r2", "go on", json!({"tool": "codex"}));
    for id in ["r2", "other", "../r3", ""] {
        let mut command = inbox.world.command("turnbridge-status");
        command.args(["--tool", "codex"]).env("TURNBRIDGE_REPLY_ID", id);
        let prompt = payload("UserPromptSubmit", json!({"prompt": "x", "turn_id": SESSION}));
        let output = crate::support::world::feed(command, prompt.to_string().as_bytes());
        crate::support::world::assert_silent_success(&output);
    }
    let names = fs::read_dir(inbox.folder()).unwrap();
    let mut names: Vec<_> =
        names.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["r2.ack", "r2.json"]);
    assert!(!inbox.world.hermetic.state_dir().join("r3.ack").exists());
}

#[test]
fn stop_ends_the_agent_and_what_it_has_started() {
    for by_signal in [true, false] {
        let inbox = InboxWorld::new();
        inbox.behave("sleep 600 & echo $! > \"$STUB_RECORD/child\"\nwait\n");
        inbox.add("r1", "go on", json!({}));
        let mut runner = inbox.spawn("r1");
        let child = inbox.record().join("child");
        wait_until("the agent's child", || {
            fs::read_to_string(&child).is_ok_and(|text| text.ends_with('\n'))
        });
        assert_eq!(inbox.list()[0]["state"], "running");
        let error = inbox.command(&["inbox", "drop", "r1"]).output().unwrap();
        assert!(String::from_utf8_lossy(&error.stderr).contains("is running"), "{error:?}");
        if by_signal {
            let kill = Command::new("kill").arg(runner.id().to_string()).status();
            assert!(kill.unwrap().success());
        } else {
            fs::write(inbox.file("r1", "stop"), "").unwrap();
        }
        runner.wait().unwrap();
        assert_eq!(inbox.read_result("r1")["outcome"], "stopped");
        let pid = fs::read_to_string(&child).unwrap();
        wait_until("the end of its child", || !is_alive(pid.trim()));
    }
}

fn is_alive(pid: &str) -> bool {
    let output = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap();
    let state = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

#[test]
fn the_inbox_lists_what_waits_and_drops_it() {
    let inbox = InboxWorld::new();
    assert_eq!(inbox.world.turnbridge(&["inbox"]), "no replies\n");
    inbox.add("slack-D1-1.0", "first\nline", json!({"ts": "1.0"}));
    inbox.add("slack-D1-2.0", &"long ".repeat(20), json!({"ts": "2.0"}));
    insta::assert_snapshot!(inbox.world.turnbridge(&["inbox"]), @"
    slack-D1-1.0 2026-01-01T00:00:00.000000Z waiting first line
    slack-D1-2.0 2026-01-01T00:00:00.000000Z waiting long long long long long long long long
    ");
    assert_eq!(inbox.world.turnbridge(&["inbox", "drop", "slack-D1-2"]), "dropped slack-D1-2.0\n");
    inbox.result("slack-D1-1.0");
    let output = inbox.run("slack-D1-2.0");
    assert!(!output.status.success(), "a dropped reply was found");
    assert_eq!(inbox.runs(), ["slack-D1-1.0"]);
    insta::assert_snapshot!(inbox.world.turnbridge(&["inbox"]), @"
    slack-D1-2.0 2026-01-01T00:00:00.000000Z finished dropped long long long long long long long long
    slack-D1-1.0 2026-01-01T00:00:00.000000Z ended done first line
    ");
    let ambiguous = inbox.command(&["inbox", "drop", "nothing"]).output().unwrap();
    assert!(String::from_utf8_lossy(&ambiguous.stderr).contains("no reply `nothing` waits"));
}

/// X12: the runner is killed at random points; the next process starts it again.
#[test]
fn killed_at_any_moment_a_reply_runs_at_most_once_and_its_files_tell() {
    let rounds = if testkit::is_slow() { 60 } else { 10 };
    let inbox = InboxWorld::new();
    inbox.behave("sleep 0.02\n");
    let (mut never, mut once) = (0, 0);
    for round in 0..rounds {
        let id = format!("r{round}");
        inbox.add(&id, "go on", json!({}));
        let mut runner = inbox.spawn(&id);
        // From before its start to after its end.
        std::thread::sleep(Duration::from_millis((round * 37) % 160));
        runner.kill().unwrap();
        runner.wait().unwrap();
        inbox.run(&id);
        wait_until("the end of its run", || {
            let list = inbox.list();
            let own = list.iter().find(|reply| reply["id"] == id.as_str()).unwrap();
            own["state"] != "running"
        });
        let list = inbox.list();
        let own = list.iter().find(|reply| reply["id"] == id.as_str()).unwrap();
        let runs = inbox.runs().iter().filter(|run| **run == id).count();
        match (own["state"].as_str().unwrap(), runs) {
            ("ended", 1) => once += 1,
            // Claimed, but no process lives: the plan looks for its prompt, and informs the thread.
            ("lost", 0 | 1) => never += 1,
            other => panic!("{other:?}: {own}"),
        }
    }
    assert_eq!(never + once, rounds);
    assert!(once > 0, "no run came to its end");
}

/// Executes the plan like the daemon, without Slack: the messages are stored in `said`.
struct PlanDriver<'a> {
    inbox: &'a InboxWorld,
    paths: StatePaths,
    launched: Vec<(String, Child)>,
    said: Vec<(String, ThreadMessage)>,
}

impl PlanDriver<'_> {
    /// Reads the files once and executes the steps. Returns `false` if there are none.
    fn step(&mut self) -> bool {
        self.launched.retain_mut(|(_, runner)| runner.try_wait().unwrap().is_none());
        let entries = store::entries(&self.paths).unwrap();
        let launched: Vec<_> = self.launched.iter().map(|(id, _)| id.clone()).collect();
        let around = ReplyConditions {
            is_launched: &|id| launched.iter().any(|own| own == id),
            is_open: &|_| false,
            goes_into_terminal: &|_| false,
            obstacle: &|_| None,
            live: LiveSession::Run,
        };
        for step in plan(&entries, &around) {
            let id = step.id().to_owned();
            match step {
                ReplyStep::PostMessage(_, message) => {
                    self.said.push((id.clone(), message));
                    store::mark_message_sent(&self.paths, &id, message).unwrap();
                }
                ReplyStep::Run(_) => {
                    assert!(
                        self.said.contains(&(id.clone(), ThreadMessage::Receipt)),
                        "{id}: SLV-37"
                    );
                    self.launched.push((id.clone(), self.inbox.spawn(&id)));
                }
                ReplyStep::FindOut(_) => {
                    let entry = entries.iter().find(|entry| entry.reply.id == id).unwrap();
                    find_out(&self.paths, &entry.reply).unwrap();
                }
                ReplyStep::Finish(_) => store::finish(&self.paths, &id).unwrap(),
                ReplyStep::Stop(_) => {}
            }
        }
        !entries.is_empty()
    }
}

/// X12, with real processes: runners are killed, and the daemon forgets whom it started.
#[test]
fn whoever_is_killed_every_reply_runs_at_most_once_and_every_one_ran_or_was_told() {
    let is_slow = testkit::is_slow();
    let (replies, kills) = if is_slow { (100, 30) } else { (30, 10) };
    let inbox = InboxWorld::new();
    // One of the two agents has hooks that acknowledge.
    let acknowledge = "echo UserPromptSubmit >> \"$INBOX/$TURNBRIDGE_REPLY_ID.ack\"";
    let folder = inbox.folder();
    let behaviour = format!(
        "INBOX='{}'\n[ $(($$ % 2)) = 0 ] && {acknowledge}\nsleep 0.05\n[ $(($$ % 7)) = 0 ] && exit 1\ntrue\n",
        folder.display()
    );
    inbox.behave(&behaviour);
    let sessions =
        [SESSION, "01a1e18e-2062-79f1-b187-979e8f997b9c", "01a1e18e-2062-79f1-b187-979e8f997b9d"];
    for number in 0..replies {
        let more = json!({"session_id": sessions[number % 3], "ts": format!("1.{number:06}")});
        inbox.add(&format!("r{number}"), "go on", more);
    }
    let paths = StatePaths::below(&inbox.world.hermetic.state_dir());
    let mut driver = PlanDriver { inbox: &inbox, paths, launched: Vec::new(), said: Vec::new() };
    let (mut seed, mut killed) = (0x9e37_79b9_7f4a_7c15_u64, 0);
    let mut forgotten = Vec::new();
    let deadline = std::time::Instant::now() + 5 * TIMEOUT;
    while driver.step() {
        assert!(std::time::Instant::now() < deadline, "never finished: {:#?}", inbox.list());
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        std::thread::sleep(Duration::from_millis(seed % 40));
        if killed < kills && !driver.launched.is_empty() && seed % 3 == 0 {
            let victim = (seed >> 32) as usize % driver.launched.len();
            driver.launched[victim].1.kill().unwrap();
            killed += 1;
        }
        if seed % 11 == 0 {
            // Another daemon, which has started no runner.
            forgotten.append(&mut driver.launched);
        }
    }
    forgotten.append(&mut driver.launched);
    forgotten.iter_mut().for_each(|(_, runner)| drop(runner.wait()));
    let runs = inbox.runs();
    for number in 0..replies {
        let id = format!("r{number}");
        let count = runs.iter().filter(|run| **run == id).count();
        let is_told = [ThreadMessage::Failed, ThreadMessage::Uncertain, ThreadMessage::Interrupted]
            .iter()
            .any(|told| driver.said.contains(&(id.clone(), *told)));
        assert!(count <= 1, "{id} ran {count} times");
        assert!(count == 1 || is_told, "{id} neither ran nor was told: {:?}", driver.said);
    }
    assert!(killed > 0, "nobody was killed");
}
