//! `turnbridge notify --tool codex`: Codex's report becomes one notice, or none.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{Bridge, PATIENCE};
use crate::support::world::feed;

const TESTDATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../turnbridge-core/testdata/codex");

const THREAD: &str = "01a1e18b-7630-76a2-a6c7-e01be454fe87";
const TURN: &str = "01a1e18b-769c-7ed3-919f-471840d0e67f";

fn report(turn: &str, answer: &str) -> Value {
    json!({
        "type": "agent-turn-complete", "thread-id": THREAD, "turn-id": turn, "client": "codex_exec",
        "cwd": "/home/user/project", "input-messages": ["not the source"],
        "last-assistant-message": answer,
    })
}

fn rollout(kind: &str, prompts: &[(&str, &str)]) -> String {
    let mut lines = vec![json!({"type": "session_meta", "payload": {
        "id": THREAD, "session_id": THREAD, "cwd": "/home/user/project", "cli_version": "0.166.0",
        "source": if kind == "user" { json!("exec") } else { json!({"subagent": kind}) },
        "thread_source": kind, "history_mode": "paginated",
    }})];
    for (turn, prompt) in prompts {
        lines.push(
            json!({"type": "event_msg", "payload": {"type": "task_started", "turn_id": turn}}),
        );
        lines.push(json!({"type": "event_msg", "payload": {
            "type": "item_completed", "turn_id": turn,
            "item": {"type": "UserMessage", "content": [{"type": "text", "text": prompt}]},
        }}));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

impl Bridge {
    /// Writes a thread's file, by the name that Codex gives it or by another.
    fn keep_rollout(&self, name: &str, text: &str) -> PathBuf {
        let folder = self.world.hermetic.codex_home().join("sessions/2026/11/15");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn keep_usual_rollout(&self) -> PathBuf {
        self.keep_rollout(&usual_name(), &rollout("user", &[(TURN, "fix <it>")]))
    }

    fn notify(&self) -> Command {
        let mut command = self.world.command("turnbridge");
        command.args(["notify", "--tool", "codex"]);
        command
    }

    /// Calls it like Codex: the report last, no input.
    #[track_caller]
    fn codex_reports(&self, report: &str) {
        let output = self.notify().arg(report).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    }

    fn errors(&self) -> Vec<String> {
        let errors = self.notify_log().into_iter().filter(|entry| entry["level"] == "error");
        errors.map(|entry| entry["message"].as_str().unwrap().to_owned()).collect()
    }
}

fn usual_name() -> String {
    format!("rollout-2026-11-15T18-22-08-{THREAD}.jsonl")
}

/// SLV-61: the report names other messages.
#[test]
fn slv_56_60_a_turn_of_codex_is_a_thread_with_the_prompt_of_its_rollout() {
    let bridge = Bridge::new();
    bridge.keep_usual_rollout();
    bridge.codex_reports(&report(TURN, "It is fixed.").to_string());
    let thread = bridge.only_thread(1);
    assert_eq!(thread.parent.text, "fix &lt;it&gt;");
    assert_eq!(thread.replies[0].text, "It is fixed.");
    let routes = bridge.routes();
    assert_eq!(routes[0]["tool"], "codex");
    assert_eq!(routes[0]["session_id"], THREAD);
    assert_eq!(routes[0]["turn_id"], TURN);
    assert_eq!(routes[0]["cwd"], "/home/user/project");
}

#[test]
fn slv_60_a_rollout_is_found_by_what_it_says_and_a_report_may_come_on_stdin() {
    let bridge = Bridge::new();
    bridge.keep_rollout("renamed.jsonl", &rollout("user", &[(TURN, "by content")]));
    let output = feed(bridge.notify(), report(TURN, "Found.").to_string().as_bytes());
    assert!(output.status.success(), "{output:?}");
    assert_eq!(bridge.only_thread(1).parent.text, "by content");
}

#[test]
fn one_turn_is_one_thread_however_many_roads_report_it() {
    let bridge = Bridge::new();
    bridge.keep_usual_rollout();
    let hook = |event: &str, more: Value| {
        let mut payload = json!({
            "session_id": THREAD, "turn_id": TURN, "hook_event_name": event,
            "cwd": "/home/user/project",
        });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let arguments = ["--tool", "codex", "--origin", "plugin"];
        bridge.world.hook("turnbridge-status", &arguments, payload.to_string().as_bytes());
    };
    hook("UserPromptSubmit", json!({"prompt": "fix <it>"}));
    hook("Stop", json!({"last_assistant_message": "It is fixed."}));
    bridge.codex_reports(&report(TURN, "It is fixed.").to_string());
    bridge.codex_reports(&report(TURN, "It is fixed.").to_string());
    hook("Stop", json!({"last_assistant_message": "It is fixed.", "stop_hook_active": true}));
    let thread = bridge.only_thread(1);
    assert_eq!(thread.parent.text, "fix &lt;it&gt;");
}

/// SLV-63 and X10 hold for the hooks, too: they may have been installed in the middle of a turn.
#[test]
fn hooks_that_have_not_seen_the_prompt_take_it_from_the_rollout() {
    let bridge = Bridge::new();
    let path = bridge.keep_usual_rollout();
    let stop = |turn: &str| {
        let payload = json!({
            "session_id": THREAD, "turn_id": turn, "hook_event_name": "Stop",
            "transcript_path": path, "last_assistant_message": "Done.",
        });
        let arguments = ["--tool", "codex", "--origin", "plugin"];
        bridge.world.hook("turnbridge-status", &arguments, payload.to_string().as_bytes());
    };
    stop(TURN);
    assert_eq!(bridge.only_thread(1).parent.text, "fix &lt;it&gt;");
    stop("01a1e18b-0000-7ed3-919f-471840d0e67f");
    testkit::wait_until(PATIENCE, "the missing text in the log", || {
        (bridge.errors() == ["notify.user_text_missing"]).then_some(())
    });
    bridge.wait_until_empty();
    assert_eq!(bridge.slack.threads().len(), 1);
}

#[test]
fn a_version_that_numbers_its_turns_anew_in_every_process_has_one_thread_each() {
    let bridge = Bridge::new();
    let said = |second: u32, text: &str| {
        json!({"timestamp": format!("2026-11-15T10:00:0{second}.000Z"), "type": "event_msg",
               "payload": {"type": "user_message", "message": text}})
        .to_string()
    };
    let meta = rollout("user", &[]);
    let first = format!("{meta}{}\n", said(1, "one"));
    bridge.keep_rollout(&usual_name(), &first);
    bridge.codex_reports(&report("0", "First.").to_string());
    bridge.codex_reports(&report("0", "First.").to_string());
    bridge.keep_rollout(&usual_name(), &format!("{first}{}\n", said(2, "two")));
    bridge.codex_reports(&report("0", "Second.").to_string());
    testkit::wait_until(PATIENCE, "two threads", || {
        (bridge.slack.threads().len() == 2).then_some(())
    });
    bridge.wait_until_empty();
    let mut prompts: Vec<_> = bridge.slack.threads().into_iter().map(|t| t.parent.text).collect();
    prompts.sort();
    assert_eq!(prompts, ["one", "two"]);
}

#[test]
fn slv_57_62_titles_sub_agents_reviews_and_other_types_make_no_notice() {
    let bridge = Bridge::new();
    let title = fs::read_to_string(format!("{TESTDATA}/notify/tui-spawn-title.json")).unwrap();
    bridge.codex_reports(&title);
    for kind in ["subagent", "review"] {
        bridge.keep_rollout(&usual_name(), &rollout(kind, &[(TURN, "not a user's")]));
        let mut report = report(TURN, "Seven.");
        report.as_object_mut().unwrap().remove("client");
        bridge.codex_reports(&report.to_string());
    }
    bridge.codex_reports(r#"{"type":"approval-requested"}"#);
    assert!(bridge.waiting().is_empty());
    assert!(bridge.errors().is_empty(), "{:?}", bridge.errors());
    assert!(bridge.slack.calls().is_empty());
}

#[test]
fn slv_63_x28_a_prompt_that_is_not_to_be_found_is_logged_and_nobody_is_told() {
    let bridge = Bridge::new();
    bridge.codex_reports(&report(TURN, "Lost.").to_string());
    bridge.keep_rollout(&usual_name(), &rollout("user", &[]));
    bridge.codex_reports(&report(TURN, "Lost.").to_string());
    assert_eq!(bridge.errors(), ["notify.user_text_missing"; 2]);
    assert!(bridge.waiting().is_empty());
    assert!(bridge.slack.calls().is_empty());
}

#[test]
fn slv_59_x28_what_can_be_mended_is_told_once_per_cause_and_day() {
    let bridge = Bridge::new();
    for _ in 0..3 {
        bridge.codex_reports("no report");
    }
    let thread = bridge.only_thread(0);
    let log = bridge.world.hermetic.state_dir().join("logs/notify.log");
    let expected =
        format!("ログの場所: {}\nCodex からの通知を読み取れませんでした。", log.display());
    assert!(thread.parent.text.starts_with(&expected), "{}", thread.parent.text);
    assert!(bridge.routes().is_empty(), "it leads nowhere");
    assert_eq!(bridge.errors().len(), 3);
    // An invalid id is not reported to the user.
    bridge.codex_reports(r#"{"type":"agent-turn-complete","thread-id":"../../x"}"#);
    bridge.wait_until_empty();
    assert_eq!(bridge.slack.threads().len(), 1);
}

#[cfg(unix)]
#[test]
fn x1_the_notify_program_that_was_there_before_gets_the_same_json() {
    let bridge = Bridge::new();
    bridge.keep_usual_rollout();
    let root = bridge.world.hermetic.root().to_owned();
    let (program, told) = (root.join("earlier"), root.join("told"));
    let script = "#!/bin/sh\nfor last; do :; done\nprintf '%s|%s' \"$1\" \"$last\" > \"$0.new\"\n\
                  mv \"$0.new\" \"${0%/*}/told\"\n";
    testkit::write_program(&program, script);
    let state = bridge.world.hermetic.state_dir();
    fs::create_dir_all(&state).unwrap();
    let keep = |argv: &[&str]| {
        let chain = json!({"version": 1, "argv": argv}).to_string();
        fs::write(state.join("codex-notify.json"), chain).unwrap();
    };
    keep(&[program.to_str().unwrap(), "--its own"]);
    let report = report(TURN, "Quoted \" and $(not run)").to_string();
    bridge.codex_reports(&report);
    let got =
        testkit::wait_until(PATIENCE, "the earlier program", || fs::read_to_string(&told).ok());
    assert_eq!(got, format!("--its own|{report}"));
    bridge.only_thread(1);

    // A chain of Turnbridge behind itself ends.
    keep(&[
        bridge.world.command("turnbridge").get_program().to_str().unwrap(),
        "notify",
        "--tool",
        "codex",
    ]);
    bridge.codex_reports(&report);
    assert!(bridge.errors().is_empty(), "{:?}", bridge.errors());
    // A missing program is reported; the notice arrives all the same.
    keep(&["/nowhere/at-all"]);
    bridge.codex_reports(&report);
    let problem = bridge.slack.wait_for_thread("the problem", PATIENCE, |thread| {
        thread.parent.text.contains("以前から設定されている")
    });
    assert!(problem.parent.text.starts_with("ログの場所:"));
}

#[test]
fn bad_input_ends_well_and_codex_never_hears_of_it() {
    let bridge = Bridge::new();
    for bad in ["", "{", "[]", "-x", "{\"type\":\"agent-turn-complete\"}", "\u{feff}{}"] {
        bridge.codex_reports(bad);
    }
    let output = feed(bridge.notify(), b"\xff\xfe{");
    assert!(output.status.success(), "{output:?}");
}
