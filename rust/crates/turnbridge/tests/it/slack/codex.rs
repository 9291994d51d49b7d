//! Tests `turnbridge notify --tool codex`: Codex's report of a turn becomes one notice, or none.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{SlackWorld, TIMEOUT};
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

impl SlackWorld {
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
    let slack_world = SlackWorld::new();
    slack_world.keep_usual_rollout();
    slack_world.codex_reports(&report(TURN, "It is fixed.").to_string());
    let thread = slack_world.only_thread(1);
    assert_eq!(thread.parent.text, "fix &lt;it&gt;");
    assert_eq!(thread.replies[0].text, "It is fixed.");
    let routes = slack_world.routes();
    assert_eq!(routes[0]["tool"], "codex");
    assert_eq!(routes[0]["session_id"], THREAD);
    assert_eq!(routes[0]["turn_id"], TURN);
    assert_eq!(routes[0]["cwd"], "/home/user/project");
}

#[test]
fn slv_60_a_rollout_is_found_by_what_it_says_and_a_report_may_come_on_stdin() {
    let slack_world = SlackWorld::new();
    slack_world.keep_rollout("renamed.jsonl", &rollout("user", &[(TURN, "by content")]));
    let output = feed(slack_world.notify(), report(TURN, "Found.").to_string().as_bytes());
    assert!(output.status.success(), "{output:?}");
    assert_eq!(slack_world.only_thread(1).parent.text, "by content");
}

#[test]
fn one_turn_is_one_thread_however_many_roads_report_it() {
    let slack_world = SlackWorld::new();
    slack_world.keep_usual_rollout();
    let hook = |event: &str, more: Value| {
        let mut payload = json!({
            "session_id": THREAD, "turn_id": TURN, "hook_event_name": event,
            "cwd": "/home/user/project",
        });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let arguments = ["--tool", "codex", "--origin", "plugin"];
        slack_world.world.hook("turnbridge-status", &arguments, payload.to_string().as_bytes());
    };
    hook("UserPromptSubmit", json!({"prompt": "fix <it>"}));
    hook("Stop", json!({"last_assistant_message": "It is fixed."}));
    slack_world.codex_reports(&report(TURN, "It is fixed.").to_string());
    slack_world.codex_reports(&report(TURN, "It is fixed.").to_string());
    hook("Stop", json!({"last_assistant_message": "It is fixed.", "stop_hook_active": true}));
    let thread = slack_world.only_thread(1);
    assert_eq!(thread.parent.text, "fix &lt;it&gt;");
}

/// SLV-63 and X10 hold for the hooks, too: they may have been installed in the middle of a turn.
#[test]
fn hooks_that_have_not_seen_the_prompt_take_it_from_the_rollout() {
    let slack_world = SlackWorld::new();
    let path = slack_world.keep_usual_rollout();
    let stop = |turn: &str| {
        let payload = json!({
            "session_id": THREAD, "turn_id": turn, "hook_event_name": "Stop",
            "transcript_path": path, "last_assistant_message": "Done.",
        });
        let arguments = ["--tool", "codex", "--origin", "plugin"];
        slack_world.world.hook("turnbridge-status", &arguments, payload.to_string().as_bytes());
    };
    stop(TURN);
    assert_eq!(slack_world.only_thread(1).parent.text, "fix &lt;it&gt;");
    stop("01a1e18b-0000-7ed3-919f-471840d0e67f");
    testkit::wait_until(TIMEOUT, "the missing text in the log", || {
        (slack_world.errors() == ["notify.user_text_missing"]).then_some(())
    });
    slack_world.wait_until_empty();
    assert_eq!(slack_world.slack.threads().len(), 1);
}

#[test]
fn a_version_that_numbers_its_turns_anew_in_every_process_has_one_thread_each() {
    let slack_world = SlackWorld::new();
    let said = |second: u32, text: &str| {
        json!({"timestamp": format!("2026-11-15T10:00:0{second}.000Z"), "type": "event_msg",
               "payload": {"type": "user_message", "message": text}})
        .to_string()
    };
    let meta = rollout("user", &[]);
    let first = format!("{meta}{}\n", said(1, "one"));
    slack_world.keep_rollout(&usual_name(), &first);
    slack_world.codex_reports(&report("0", "First.").to_string());
    slack_world.codex_reports(&report("0", "First.").to_string());
    slack_world.keep_rollout(&usual_name(), &format!("{first}{}\n", said(2, "two")));
    slack_world.codex_reports(&report("0", "Second.").to_string());
    testkit::wait_until(TIMEOUT, "two threads", || {
        (slack_world.slack.threads().len() == 2).then_some(())
    });
    slack_world.wait_until_empty();
    let mut prompts: Vec<_> =
        slack_world.slack.threads().into_iter().map(|t| t.parent.text).collect();
    prompts.sort();
    assert_eq!(prompts, ["one", "two"]);
}

#[test]
fn slv_57_62_titles_sub_agents_reviews_and_other_types_make_no_notice() {
    let slack_world = SlackWorld::new();
    let title = fs::read_to_string(format!("{TESTDATA}/notify/tui-spawn-title.json")).unwrap();
    slack_world.codex_reports(&title);
    for kind in ["subagent", "review"] {
        slack_world.keep_rollout(&usual_name(), &rollout(kind, &[(TURN, "not a user's")]));
        let mut report = report(TURN, "Seven.");
        report.as_object_mut().unwrap().remove("client");
        slack_world.codex_reports(&report.to_string());
    }
    slack_world.codex_reports(r#"{"type":"approval-requested"}"#);
    assert!(slack_world.waiting().is_empty());
    assert!(slack_world.errors().is_empty(), "{:?}", slack_world.errors());
    assert!(slack_world.slack.calls().is_empty());
}

#[test]
fn slv_63_x28_a_prompt_that_is_not_to_be_found_is_logged_and_nobody_is_told() {
    let slack_world = SlackWorld::new();
    slack_world.codex_reports(&report(TURN, "Lost.").to_string());
    slack_world.keep_rollout(&usual_name(), &rollout("user", &[]));
    slack_world.codex_reports(&report(TURN, "Lost.").to_string());
    assert_eq!(slack_world.errors(), ["notify.user_text_missing"; 2]);
    assert!(slack_world.waiting().is_empty());
    assert!(slack_world.slack.calls().is_empty());
}

#[test]
fn slv_59_x28_what_can_be_mended_is_told_once_per_cause_and_day() {
    let slack_world = SlackWorld::new();
    for _ in 0..3 {
        slack_world.codex_reports("no report");
    }
    let thread = slack_world.only_thread(0);
    let log = slack_world.world.hermetic.state_dir().join("logs/notify.log");
    let expected =
        format!("ログの場所: {}\nCodex からの通知を読み取れませんでした。", log.display());
    assert!(thread.parent.text.starts_with(&expected), "{}", thread.parent.text);
    assert!(slack_world.routes().is_empty(), "it leads nowhere");
    assert_eq!(slack_world.errors().len(), 3);
    // An invalid id is not reported to the user.
    slack_world.codex_reports(r#"{"type":"agent-turn-complete","thread-id":"../../x"}"#);
    slack_world.wait_until_empty();
    assert_eq!(slack_world.slack.threads().len(), 1);
}

#[cfg(unix)]
#[test]
fn x1_the_notify_program_that_was_there_before_gets_the_same_json() {
    let slack_world = SlackWorld::new();
    slack_world.keep_usual_rollout();
    let root = slack_world.world.hermetic.root().to_owned();
    let (program, told) = (root.join("earlier"), root.join("told"));
    let script = "#!/bin/sh\nfor last; do :; done\nprintf '%s|%s' \"$1\" \"$last\" > \"$0.new\"\n\
                  mv \"$0.new\" \"${0%/*}/told\"\n";
    testkit::write_program(&program, script);
    let state = slack_world.world.hermetic.state_dir();
    fs::create_dir_all(&state).unwrap();
    let keep = |argv: &[&str]| {
        let chain = json!({"version": 1, "argv": argv}).to_string();
        fs::write(state.join("codex-notify.json"), chain).unwrap();
    };
    keep(&[program.to_str().unwrap(), "--its own"]);
    let report = report(TURN, "Quoted \" and $(not run)").to_string();
    slack_world.codex_reports(&report);
    let got =
        testkit::wait_until(TIMEOUT, "the earlier program", || fs::read_to_string(&told).ok());
    assert_eq!(got, format!("--its own|{report}"));
    slack_world.only_thread(1);

    // A chain of Turnbridge behind itself ends.
    keep(&[
        slack_world.world.command("turnbridge").get_program().to_str().unwrap(),
        "notify",
        "--tool",
        "codex",
    ]);
    slack_world.codex_reports(&report);
    assert!(slack_world.errors().is_empty(), "{:?}", slack_world.errors());
    // A missing program is reported; the notice arrives all the same.
    keep(&["/nowhere/at-all"]);
    slack_world.codex_reports(&report);
    let problem = slack_world.slack.wait_for_thread("the problem", TIMEOUT, |thread| {
        thread.parent.text.contains("以前から設定されている")
    });
    assert!(problem.parent.text.starts_with("ログの場所:"));
}

#[test]
fn bad_input_ends_well_and_codex_never_hears_of_it() {
    let slack_world = SlackWorld::new();
    for bad in ["", "{", "[]", "-x", "{\"type\":\"agent-turn-complete\"}", "\u{feff}{}"] {
        slack_world.codex_reports(bad);
    }
    let output = feed(slack_world.notify(), b"\xff\xfe{");
    assert!(output.status.success(), "{output:?}");
}
