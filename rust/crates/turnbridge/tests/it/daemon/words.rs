//! Tests the exact messages of the daemon in a reply's thread, and the log entries about them.

use std::fs;

use serde_json::{Value, json};
use testkit::slack::{FaultMix, FaultMoment, SlackFault, SlackMessage, SlackThread};
use testkit::wait_until;

use super::{CONFIG, DaemonFixture, SESSION, TIMEOUT};
use crate::support::world::{feed, payload};

const THREAD: &str = "01a1e18b-7630-76a2-a6c7-e01be454fe87";
const TURN: &str = "01a1e18b-769c-7ed3-919f-471840d0e67f";

const RECEIVED: &str = "返信を受領しました。これを `resume` として実行します。\n\
    **注意：家でCLIを続ける場合は、いま開いている対話CLIをいったん終了し、改めて `resume` で入り直してください。**\n\
    （Slack側の `resume` は別プロセスで進むため、同時操作すると順序逆転・二重実行が起き得ます。）";

fn start_in(language: &str) -> DaemonFixture {
    let config = CONFIG.replace("\"en\"", &format!("\"{language}\""));
    let mut service = DaemonFixture::without_daemon(&config);
    service.start_daemon();
    service.slack.wait_for_sockets(1, TIMEOUT);
    service
}

impl DaemonFixture {
    /// Returns the app's messages in the thread after the answer of its turn.
    #[track_caller]
    fn words(&self, thread: &SlackThread) -> Vec<String> {
        let threads = self.slack.threads();
        let seen = threads.iter().find(|seen| seen.parent.ts == thread.parent.ts).unwrap();
        let own = seen.replies.iter().filter(|reply| reply.bot_id.is_some()).skip(1);
        own.inspect(|reply| check_block(reply)).map(|reply| reply.text.clone()).collect()
    }

    fn log_of(&self, message: &str) -> Vec<Value> {
        self.log().into_iter().filter(|entry| entry["message"] == message).collect()
    }

    fn wait_for_end(&self) {
        wait_until(TIMEOUT, "the end of the reply", || {
            (!self.log_of("reply finished").is_empty()).then_some(())
        });
    }

    /// Creates a thread of Codex in the middle of a turn that `trigger` began, with its notice in
    /// Slack.
    fn codex_turn(&self, trigger: &str) -> SlackThread {
        let home = self.world.hermetic.codex_home();
        let folder = home.join("sessions/2026/11/15");
        fs::create_dir_all(&folder).unwrap();
        let cwd = self.world.hermetic.project();
        let event = |payload: Value| json!({"type": "event_msg", "payload": payload});
        let lines = [
            json!({"type": "session_meta", "payload": {
                "id": THREAD, "session_id": THREAD, "cwd": cwd, "cli_version": "0.169.0",
                "source": "cli", "thread_source": "user", "history_mode": "paginated",
            }}),
            event(json!({"type": "task_started", "turn_id": TURN,
                "turn_attribution": {"turn_id": TURN, "turn_trigger": trigger}})),
            event(json!({"type": "item_completed", "turn_id": TURN,
                "item": {"type": "UserMessage", "content": [{"type": "text", "text": "fix it"}]}})),
        ];
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let name = format!("rollout-2026-11-15T18-22-08-{THREAD}.jsonl");
        fs::write(folder.join(name), text).unwrap();
        let report = json!({
            "type": "agent-turn-complete", "thread-id": THREAD, "turn-id": TURN, "cwd": cwd,
            "input-messages": ["fix it"], "last-assistant-message": "Fixed.",
        });
        let mut notify = self.world.command("turnbridge");
        notify.args(["notify", "--tool", "codex", &report.to_string()]);
        assert!(notify.stdin(std::process::Stdio::null()).status().unwrap().success());
        self.slack.wait_for_thread("the turn of Codex", TIMEOUT, |thread| {
            thread.parent.text == "fix it" && !thread.replies.is_empty()
        })
    }

    /// Holds the lock as a Codex with the open thread.
    fn hold_thread(&self) -> fs::File {
        let locks = self.world.hermetic.codex_home().join("thread-writer-locks");
        fs::create_dir_all(&locks).unwrap();
        let lock = fs::File::create(locks.join(format!("{THREAD}.lock"))).unwrap();
        lock.try_lock().unwrap();
        lock
    }
}

/// X23: the Markdown block contains the same text as the plain message.
#[track_caller]
fn check_block(reply: &SlackMessage) {
    assert_eq!(reply.blocks, Some(json!([{"type": "markdown", "text": reply.text}])));
}

/// SLV-5, SLV-38, SLV-T4.
#[test]
fn slv_84_x23_in_japanese_a_run_is_announced_to_the_letter() {
    let service = start_in("ja");
    let thread = service.turn("直して");
    service.slack.say(Some(&thread.parent.ts), "次はテストを");
    wait_until(TIMEOUT, "the agent", || service.calls().pop());
    service.wait_for_end();
    assert_eq!(service.words(&thread), [RECEIVED]);
}

/// SLV-1.
#[test]
fn slv_85_x23_in_japanese_a_thread_that_is_not_known_is_told_so_to_the_letter() {
    let service = start_in("ja");
    let own = service.slack.say(None, "自分のスレッド");
    service.slack.say(Some(&own), "続けて");
    let answered = service.slack.wait_for_thread("the answer", TIMEOUT, |thread| {
        thread.parent.ts == own && thread.replies.iter().any(|reply| reply.bot_id.is_some())
    });
    let said = answered.replies.iter().find(|reply| reply.bot_id.is_some()).unwrap();
    check_block(said);
    assert_eq!(
        said.text,
        "この返信は `Turnbridge` の通知スレッドとして認識できませんでした（route 情報が見つからない/不正）。\n\
         **通知（親）メッセージ**に対してスレッド返信してください。\n\
         （補足：このスレッドでは `resume` は実行しません）"
    );
    assert!(service.calls().is_empty());
}

#[test]
fn slv_86_x23_in_japanese_a_failed_run_is_told_to_the_letter_with_its_reason() {
    let service = start_in("ja");
    service.be_agent("claude", "exit 7");
    let thread = service.turn("直して");
    service.slack.say(Some(&thread.parent.ts), "続けて");
    service.wait_for_end();
    let failed = "`resume` の実行に失敗しました。\n詳細はCLIログをご確認ください。\n（理由：終了コード：`7`）";
    assert_eq!(service.words(&thread), [RECEIVED, failed]);
}

#[test]
fn x37_cvi_18_in_japanese_the_gate_speaks_to_the_agent_alone_and_is_not_translated() {
    let config = CONFIG.replace("\"en\"", "\"ja\"").replace("enabled = false", "enabled = true");
    let mut service = DaemonFixture::without_daemon(&config);
    service.start_daemon();
    let call = |name: &str, more: Value| {
        let mut payload = payload(name, more);
        payload["session_id"] = json!(SESSION);
        payload["cwd"] = json!(service.world.hermetic.project());
        let program = if name == "Stop" { "turnbridge-stop-gate" } else { "turnbridge-status" };
        let mut command = service.world.command(program);
        command.env("LANG", "ja_JP.UTF-8").args(["--origin", "plugin"]);
        feed(command, payload.to_string().as_bytes())
    };
    call("UserPromptSubmit", json!({"prompt": "直して"}));
    let held = call("Stop", json!({"last_assistant_message": "直しました。"}));
    assert_eq!(held.status.code(), Some(2));
    let reason = String::from_utf8(held.stderr).unwrap();
    assert!(reason.starts_with("CVI check failed: /cvi:speak not called\n"), "{reason}");
    let more = json!({"stop_hook_active": true, "last_assistant_message": "話しました。"});
    assert_eq!(call("Stop", more).status.code(), Some(0));
    let thread = service.slack.wait_for_thread("the turn", TIMEOUT, |thread| {
        thread.parent.text == "直して" && thread.replies.len() == 2
    });
    let said: Vec<_> = thread.replies.iter().map(|reply| reply.text.as_str()).collect();
    assert_eq!(said, ["直しました。", "話しました。"]);
    assert_eq!(service.slack.threads().len(), 1, "a turn that is held is not told");
}

#[test]
fn x40_a_reply_for_an_open_terminal_of_codex_is_not_told_that_a_process_is_started_for_it() {
    for (language, words) in [
        ("en", "This session is open in a terminal: the reply will be the next prompt there."),
        ("ja", "そのターミナルの次のプロンプトとして渡します。"),
    ] {
        let service = start_in(language);
        service.be_agent("codex", "exit 0");
        let thread = service.codex_turn("user");
        let _terminal = service.hold_thread();
        service.slack.say(Some(&thread.parent.ts), "go on");
        let call = wait_until(TIMEOUT, "the agent", || service.calls().pop());
        assert!(call.contains("|queue|"), "{call}");
        let said = service.words(&thread);
        assert!(said.len() == 1 && said[0].contains(words), "{said:?}");
        let told = &service.log_of("posted to the thread")[0];
        assert_eq!((&told["word"], &told["resume"]), (&json!("terminal_receipt"), &json!("no")));
    }
}

#[test]
fn x40_slv_84_a_codex_exec_is_no_terminal() {
    let service = start_in("ja");
    service.be_agent("codex", "exit 0");
    let thread = service.codex_turn("exec");
    let _exec = service.hold_thread();
    service.slack.say(Some(&thread.parent.ts), "続けて");
    wait_until(TIMEOUT, "the receipt", || (!service.words(&thread).is_empty()).then_some(()));
    assert_eq!(service.words(&thread)[0], RECEIVED);
}

#[test]
fn slv_83_a_thread_is_logged_as_told_when_slack_has_the_words_and_not_before() {
    let service = start_in("en");
    let thread = service.turn("fix it");
    let fails = FaultMix::seeded(1).with(1.0, SlackFault::Status(FaultMoment::Before, 500));
    service.slack.fail_by_chance("chat.postMessage", fails);
    let posts = service.slack.calls_of("chat.postMessage").len();
    let ts = service.slack.say(Some(&thread.parent.ts), "secret words");
    let id = format!("slack-{}-{ts}", thread.parent.channel);
    service.slack.wait_for_calls("chat.postMessage", posts + 1, TIMEOUT);
    wait_until(TIMEOUT, "the words in the outbox", || {
        service.log_of("message for the thread queued").pop()
    });
    assert!(service.log_of("posted to the thread").is_empty());
    service.slack.heal();
    service.wait_for_end();
    let told = service.log_of("posted to the thread");
    assert_eq!(told.len(), 1, "{told:?}");
    let entry = &told[0];
    for (field, expected) in [
        ("reply", id.as_str()),
        ("event", "message"),
        ("word", "receipt"),
        ("resume", "yes"),
        ("fixed_text_sent", "yes"),
        ("channel", thread.parent.channel.as_str()),
        ("thread_ts", thread.parent.ts.as_str()),
    ] {
        assert_eq!(entry[field], expected, "{entry}");
    }
    assert!(entry["duration_ms"].as_u64().is_some(), "{entry}");
    let log = service.world.hermetic.state_dir().join("logs/daemon.log");
    let log = fs::read_to_string(log).unwrap();
    assert!(!log.contains("secret words") && !log.contains("Your reply"), "{log}");
}

/// X48: the run goes on.
#[test]
fn slv_81_83_words_that_slack_refuses_for_good_are_logged_as_not_told() {
    let service = start_in("en");
    let thread = service.turn("fix it");
    service.slack.fail(
        "chat.postMessage",
        [SlackFault::Error(FaultMoment::Before, "msg_too_long".to_owned())],
    );
    service.slack.say(Some(&thread.parent.ts), "go on");
    service.wait_for_end();
    let failed = service.log_of("could not post to the thread");
    assert_eq!(failed.len(), 1, "{failed:?}");
    let entry = &failed[0];
    assert_eq!((&entry["level"], &entry["word"]), (&json!("error"), &json!("receipt")), "{entry}");
    assert_eq!(entry["fixed_text_sent"], "no", "{entry}");
    assert_eq!(entry["thread_ts"], thread.parent.ts, "{entry}");
    assert!(entry["duration_ms"].is_u64(), "{entry}");
    assert!(service.log_of("posted to the thread").is_empty());
}
