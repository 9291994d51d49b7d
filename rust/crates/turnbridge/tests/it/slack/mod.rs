//! Tests that a finished turn becomes a thread in Slack, once and complete, whatever faults occur.
//! Also tests the commands `outbox`, `routes` and `logs`.

mod clocks;
mod codex;

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::slack::{FaultMoment, SlackFault, SlackThread};
use testkit::{SlackApi, SlackSetup};
use turnbridge_core::ids::SessionKey;
use turnbridge_core::notices::route::Route;
use turnbridge_core::timestamp::Timestamp;

use crate::support::world::{SESSION, World, assert_silent_success, feed, payload};

const TIMEOUT: Duration = Duration::from_secs(30);

/// A world whose notices go to a loopback Slack.
struct SlackWorld {
    slack: SlackApi,
    world: World,
}

impl SlackWorld {
    fn new() -> SlackWorld {
        SlackWorld::with("")
    }

    fn with(more: &str) -> SlackWorld {
        SlackWorld::to(SlackApi::start(SlackSetup::default()), more)
    }

    fn to(slack: SlackApi, more: &str) -> SlackWorld {
        let world = World::new()
            .with("TURNBRIDGE_SLACK_API_URL", &slack.base_url())
            .with("TURNBRIDGE_SLACK_TIME_SCALE", "20");
        world.configure(&format!("{CONFIG}{more}"));
        SlackWorld { slack, world }
    }

    fn turn(&self, prompt: &str, answer: &str) {
        let prompt_id = format!("p{}", prompt.len());
        let prompt = json!({"prompt": prompt, "prompt_id": prompt_id});
        self.world.status(&payload("UserPromptSubmit", prompt));
        let stop = json!({"last_assistant_message": answer, "prompt_id": prompt_id});
        self.world.status(&payload("Stop", stop));
    }

    /// Returns the only thread when it has this many replies and the outbox is empty.
    #[track_caller]
    fn only_thread(&self, replies: usize) -> SlackThread {
        let what = format!("a thread with {replies} replies");
        let thread =
            self.slack.wait_for_thread(&what, TIMEOUT, |thread| thread.replies.len() >= replies);
        self.wait_until_empty();
        let threads = self.slack.threads();
        assert_eq!(threads.len(), 1, "{threads:#?}");
        assert_eq!(threads[0].replies.len(), replies, "{threads:#?}");
        thread
    }

    #[track_caller]
    fn wait_until_empty(&self) {
        testkit::wait_until(TIMEOUT, "an empty outbox", || self.waiting().is_empty().then_some(()));
    }

    fn waiting(&self) -> Vec<Value> {
        let list = self.world.turnbridge(&["outbox", "--json"]);
        let list: Value = serde_json::from_str(&list).unwrap();
        list["notices"].as_array().unwrap().clone()
    }

    fn routes(&self) -> Vec<Value> {
        let list = self.world.turnbridge(&["routes", "--json"]);
        let list: Value = serde_json::from_str(&list).unwrap();
        list["routes"].as_array().unwrap().clone()
    }

    fn notify_log(&self) -> Vec<Value> {
        let path = self.world.hermetic.state_dir().join("logs/notify.log");
        crate::support::world::lines_of(&fs::read_to_string(path).unwrap_or_default())
    }
}

const CONFIG: &str = "language = \"ja\"
[slack]
bot_token = \"xoxb-loopback-bot\"
[destinations.dm]
enabled = true
target_user_id = \"U0OWNER\"
[gate]
enabled = false
";

/// SLV-24, SLV-27, SLV-28, SLV-29.
#[test]
fn slv_3_slv_22_a_finished_turn_is_a_new_thread_with_its_route() {
    let slack_world = SlackWorld::new();
    slack_world.turn("fix the <bug> & go", "It is **fixed**: `Vec<T>`");
    let thread = slack_world.only_thread(1);
    assert_eq!(thread.parent.text, "fix the &lt;bug&gt; &amp; go");
    assert_eq!(thread.parent.thread_ts, None);
    assert_eq!(thread.replies[0].text, "It is **fixed**: `Vec&lt;T&gt;`");
    let block = json!([{"type": "markdown", "text": "It is **fixed**: `Vec<T>`"}]);
    assert_eq!(thread.replies[0].blocks, Some(block));
    let routes = slack_world.routes();
    assert_eq!(routes.len(), 1, "{routes:?}");
    assert_eq!(routes[0]["thread_ts"], json!(thread.parent.ts));
    assert_eq!(routes[0]["channel"], json!(thread.parent.channel));
    assert_eq!(routes[0]["tool"], "claude");
    assert_eq!(routes[0]["session_id"], SESSION);
    assert_eq!(routes[0]["cwd"], "/home/user/project");
    let log = slack_world.notify_log();
    assert_eq!(log.len(), 1, "{log:?}");
    assert_eq!(log[0]["message"], "notice delivered");
    // SLV-28: the DM is opened, the user's id is never a channel.
    assert_eq!(slack_world.slack.calls_of("conversations.open").len(), 1);
}

/// Claude Code begins a turn by itself when a background task has ended, with a note of its own
/// instead of a prompt.
#[test]
fn the_turn_after_a_background_task_has_the_task_s_summary_as_its_thread() {
    let slack_world = SlackWorld::new();
    let note = "<task-notification>\n<task-id>a782</task-id>\n<status>completed</status>\n\
                <summary>Agent \"look it up\" finished</summary>\n<result>Found.</result>\n\
                </task-notification>";
    slack_world.turn(note, "It is found.");
    let thread = slack_world.only_thread(1);
    assert_eq!(thread.parent.text, "Agent \"look it up\" finished");
    assert_eq!(thread.replies[0].text, "It is found.");
    assert_eq!(slack_world.routes().len(), 1);
}

/// SLV-33..36, SLV-75, SLV-76.
#[test]
fn slv_73_a_long_answer_comes_in_numbered_parts_and_nothing_is_missing() {
    let slack_world = SlackWorld::new();
    let prompt = "長い依頼です。".repeat(1_000);
    let paragraph = "日本語 & `Vec<T>` 🎉 and <!channel>\n\n```rust\nlet x = a < b;\n```\n\n";
    let answer = paragraph.repeat(150);
    slack_world.turn(&prompt, &answer);
    slack_world.wait_until_empty();
    let thread = slack_world.slack.threads().remove(0);
    let texts: Vec<_> = thread.replies.iter().map(|reply| reply.text.as_str()).collect();
    for text in texts.iter().chain([&thread.parent.text.as_str()]) {
        assert!(text.chars().count() <= 3_800, "{}", text.chars().count());
        assert!(!text.contains("<!"), "{text}");
    }
    // The rest of the prompt first, then the answer (SLV-34, SLV-76).
    let first = texts.iter().position(|text| text.contains("Vec")).unwrap();
    assert!(first > 0);
    let sent = thread.parent.text.matches("長い依頼です。").count();
    let rest: usize =
        texts[..first].iter().map(|text| text.matches("長い依頼です。").count()).sum();
    assert_eq!(sent + rest, 1_000);
    let parts = texts.len() - first;
    for (number, text) in texts[first..].iter().enumerate() {
        assert!(text.starts_with(&format!("({}/{parts})", number + 1)), "{text}");
    }
    let all = texts[first..].concat();
    assert_eq!(all.matches("let x = a &lt; b;").count(), 150);
    assert_eq!(all.matches("🎉").count(), 150);
    assert_eq!(slack_world.routes().len(), 1);
}

/// X10.
#[test]
fn slv_30_slv_72_x49_what_cannot_be_found_is_said_in_the_fixed_words_and_of_which_turn() {
    let slack_world = SlackWorld::new();
    slack_world.world.status(&payload("Stop", json!({"prompt_id": "p"})));
    let thread = slack_world.only_thread(1);
    assert_eq!(thread.parent.text, "（ユーザーメッセージ抽出失敗）");
    let text = &thread.replies[0].text;
    assert!(text.starts_with("本文抽出エラー\n"), "{text}");
    // X49: the text identifies the turn.
    for known in ["エージェント：`claude`", "プロジェクト：`", SESSION, "終了時刻：`20"]
    {
        assert!(text.contains(known), "{known}: {text}");
    }
}

#[test]
fn what_the_hook_was_not_told_is_read_from_the_transcript() {
    let slack_world = SlackWorld::new();
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../turnbridge-core/testdata/claude/transcripts/bang.jsonl"
    );
    let mut stop = payload("Stop", json!({"prompt_id": "f0c1655b-8bdd-4340-affb-70de9a7f562d"}));
    stop["transcript_path"] = json!(path);
    slack_world.world.status(&stop);
    let thread = slack_world.only_thread(1);
    assert_eq!(thread.parent.text, "next prompt");
    assert_eq!(thread.replies[0].text, "third answer.");
}

#[test]
fn a_turn_that_failed_says_how() {
    let slack_world = SlackWorld::new();
    slack_world
        .world
        .status(&payload("UserPromptSubmit", json!({"prompt": "go", "prompt_id": "p"})));
    let failure = json!({"error": "rate_limit", "last_assistant_message": "API Error: 429", "prompt_id": "p"});
    slack_world.world.status(&payload("StopFailure", failure));
    let thread = slack_world.only_thread(2);
    insta::assert_snapshot!(thread.replies[0].text, @"エラーで終了しました：`rate_limit`");
    assert_eq!(thread.replies[1].text, "API Error: 429");
}

#[test]
fn x8_x9_a_blocked_stop_is_no_notice_and_the_next_one_carries_both_answers() {
    let slack_world = SlackWorld::new();
    slack_world.world.configure(&CONFIG.replace("enabled = false", "enabled = true"));
    let stop = |active: bool, answer: &str| {
        let more =
            json!({"last_assistant_message": answer, "prompt_id": "p", "stop_hook_active": active});
        let mut command = slack_world.world.command("turnbridge-stop-gate");
        command.args(["--origin", "plugin"]);
        feed(command, payload("Stop", more).to_string().as_bytes())
    };
    slack_world
        .world
        .status(&payload("UserPromptSubmit", json!({"prompt": "go", "prompt_id": "p"})));
    assert_eq!(stop(false, "The real answer.").status.code(), Some(2));
    assert!(slack_world.waiting().is_empty());
    assert_silent_success(&stop(true, "I have spoken."));
    let thread = slack_world.only_thread(2);
    let texts: Vec<_> = thread.replies.iter().map(|reply| reply.text.as_str()).collect();
    assert_eq!(texts, ["The real answer.", "I have spoken."]);
}

#[test]
fn slv_68_a_turn_that_another_hook_continued_is_told_once() {
    let slack_world = SlackWorld::new();
    slack_world.turn("go", "First.");
    let more =
        json!({"last_assistant_message": "Second.", "prompt_id": "p2", "stop_hook_active": true});
    slack_world.world.status(&payload("Stop", more));
    let thread = slack_world.only_thread(1);
    assert_eq!(thread.replies[0].text, "First.");
}

#[test]
fn one_event_reported_by_three_roads_is_one_notice() {
    let slack_world = SlackWorld::new();
    let prompt = payload("UserPromptSubmit", json!({"prompt": "go", "prompt_id": "p"}));
    let stop = payload("Stop", json!({"last_assistant_message": "Done.", "prompt_id": "p"}));
    for origin in ["plugin", "settings"] {
        slack_world.world.hook(
            "turnbridge-status",
            &["--origin", origin],
            prompt.to_string().as_bytes(),
        );
    }
    let stop = stop.to_string();
    for origin in ["settings", "plugin"] {
        slack_world.world.hook("turnbridge-stop-gate", &["--origin", origin], stop.as_bytes());
    }
    slack_world.world.hook("turnbridge", &["notify", "--tool", "claude"], stop.as_bytes());
    slack_world.only_thread(1);
    slack_world.world.hook("turnbridge", &["notify", "--tool", "claude"], stop.as_bytes());
    slack_world.only_thread(1);
}

/// SLV-7, SLV-66.
#[test]
fn slv_65_a_hook_made_by_hand_is_enough() {
    let slack_world = SlackWorld::new();
    // The gate is not registered, so it holds no turn.
    slack_world.world.configure(&CONFIG.replace("enabled = false", "enabled = true"));
    let notify = |payload: &Value| {
        let input = payload.to_string();
        slack_world.world.hook("turnbridge", &["notify", "--tool", "claude"], input.as_bytes());
    };
    let stop = json!({"last_assistant_message": "Done.", "prompt_id": "x"});
    notify(&payload("Stop", stop));
    let thread = slack_world.only_thread(1);
    assert_eq!(thread.replies[0].text, "Done.");
    // SLV-66, SLV-68: only Stop counts, and not when another hook has continued the turn.
    notify(&payload("SessionEnd", json!({"reason": "other"})));
    let continued =
        json!({"last_assistant_message": "More.", "prompt_id": "x", "stop_hook_active": true});
    notify(&payload("Stop", continued));
    assert!(slack_world.waiting().is_empty());
    slack_world.only_thread(1);
}

#[test]
fn x8_a_hook_made_by_hand_keeps_silent_about_a_stop_that_the_gate_blocks() {
    for order in [["gate", "notify"], ["notify", "gate"]] {
        let slack_world = SlackWorld::new();
        slack_world.world.configure(&CONFIG.replace("enabled = false", "enabled = true"));
        slack_world
            .world
            .status(&payload("UserPromptSubmit", json!({"prompt": "go", "prompt_id": "p"})));
        let stop = |active: bool, answer: &str| {
            let more = json!({"last_assistant_message": answer, "prompt_id": "p", "stop_hook_active": active});
            let input = payload("Stop", more).to_string();
            for who in order {
                let mut command = match who {
                    "gate" => slack_world.world.command("turnbridge-stop-gate"),
                    _ => slack_world.world.command("turnbridge"),
                };
                if who == "notify" {
                    command.args(["notify", "--tool", "claude"]);
                }
                feed(command, input.as_bytes());
            }
        };
        stop(false, "The real answer.");
        assert!(slack_world.waiting().is_empty(), "{order:?}");
        stop(true, "Spoken.");
        let thread = slack_world.only_thread(2);
        assert_eq!(thread.replies[0].text, "The real answer.");
    }
}

#[test]
fn that_an_agent_waits_is_told_only_to_who_wants_it() {
    let request = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "prompt_id": "p"});
    let request = payload("PermissionRequest", request).to_string();
    let slack_world = SlackWorld::new();
    let hook = ["--hook", "--origin", "plugin"];
    slack_world.world.hook("turnbridge-notify", &hook, request.as_bytes());
    assert!(slack_world.waiting().is_empty());
    let slack_world = SlackWorld::with("[notify]\nwaiting = true\n");
    slack_world
        .world
        .status(&payload("UserPromptSubmit", json!({"prompt": "go", "prompt_id": "p"})));
    slack_world.world.hook("turnbridge-notify", &hook, request.as_bytes());
    let thread = slack_world.only_thread(1);
    assert_eq!(thread.parent.text, "go");
    insta::assert_snapshot!(thread.replies[0].text, @"確認待ち：`Bash`");
}

#[test]
fn slack_down_for_the_whole_turn_costs_the_notice_nothing() {
    let slack_world = SlackWorld::new();
    slack_world.slack.down();
    slack_world.turn("go", "Done.");
    testkit::wait_until(TIMEOUT, "a failed attempt", || {
        slack_world.waiting().first().filter(|notice| notice["attempts"] == 1).map(|_| ())
    });
    slack_world.slack.up();
    slack_world.world.turnbridge(&["outbox", "retry"]);
    slack_world.only_thread(1);
}

#[test]
fn an_answer_that_was_lost_makes_no_second_message() {
    let slack_world = SlackWorld::new();
    let faults = [
        SlackFault::Reset(FaultMoment::After),
        SlackFault::Pass,
        SlackFault::Status(FaultMoment::After, 500),
        SlackFault::CutBody,
    ];
    slack_world.slack.fail("chat.postMessage", faults);
    slack_world.turn("go", &"A paragraph of some length.\n\n".repeat(300));
    slack_world.wait_until_empty();
    let threads = slack_world.slack.threads();
    assert_eq!(threads.len(), 1, "{threads:#?}");
    let ids: Vec<_> = threads[0].replies.iter().filter_map(|reply| reply.payload_id()).collect();
    let mut once = ids.clone();
    once.dedup();
    assert_eq!(ids, once);
    assert_eq!(slack_world.routes().len(), 1);
}

#[test]
fn slv_77_what_only_the_user_can_mend_is_told_once_and_kept() {
    let slack_world = SlackWorld::new();
    slack_world.slack.change(|setup| setup.bot_token = "xoxb-another".to_owned());
    slack_world.turn("go", "Done.");
    testkit::wait_until(TIMEOUT, "a notice that is held", || {
        slack_world.waiting().first().filter(|notice| notice["held"] == true).map(|_| ())
    });
    let log = slack_world.notify_log();
    assert_eq!(log.len(), 1, "{log:?}");
    assert_eq!(log[0]["level"], "error");
    assert!(log[0]["hint"].is_string(), "{log:?}");
    // Another turn does not retry it; the user does.
    slack_world.slack.change(|setup| setup.bot_token = "xoxb-loopback-bot".to_owned());
    slack_world.world.turnbridge(&["outbox", "retry"]);
    slack_world.only_thread(1);
}

#[test]
fn slv_31_a_token_and_nobody_to_write_to_is_an_error_in_the_log() {
    let slack_world = SlackWorld::new();
    slack_world.world.configure("[slack]\nbot_token = 'xoxb-1'\n[gate]\nenabled = false\n");
    slack_world.turn("go", "Done.");
    let log = testkit::wait_until(TIMEOUT, "an entry in the log", || {
        Some(slack_world.notify_log()).filter(|log| !log.is_empty())
    });
    assert_eq!(log[0]["error"], "no destination is configured");
    assert_eq!(slack_world.waiting().len(), 1);
}

#[test]
fn slack_is_spoken_to_over_tls_and_only_with_a_certificate_that_is_trusted() {
    let SlackWorld { slack, world } =
        SlackWorld::to(SlackApi::start_tls(SlackSetup::default()), "");
    let trusted = world.hermetic.root().join("ca.pem");
    slack.ca_file(&trusted);
    let slack_world = SlackWorld { slack, world };
    slack_world.turn("go", "Done.");
    testkit::wait_until(TIMEOUT, "a refusal", || {
        let error = slack_world.waiting().first()?["last_error"].as_str()?.to_owned();
        error.contains("certificate").then_some(())
    });
    assert!(slack_world.slack.threads().is_empty());
    let SlackWorld { slack, world } = slack_world;
    let slack_world =
        SlackWorld { slack, world: world.with("SSL_CERT_FILE", trusted.to_str().unwrap()) };
    slack_world.world.turnbridge(&["outbox", "retry"]);
    slack_world.only_thread(1);
}

#[cfg(unix)]
#[test]
fn tokens_that_others_can_read_are_told_of() {
    use std::os::unix::fs::PermissionsExt;
    let slack_world = SlackWorld::new();
    let path = slack_world.world.hermetic.config_dir().join("config.toml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let output = slack_world.world.command("turnbridge").arg("voice").output().unwrap();
    let notes = slack_world.world.without_paths(&String::from_utf8_lossy(&output.stderr));
    insta::assert_snapshot!(notes, @"note: others can read the tokens in `CONFIG/config.toml`; run `chmod 600 CONFIG/config.toml`");
    slack_world.turn("go", "Done.");
    slack_world.only_thread(1);
    let warnings = slack_world.notify_log().into_iter().filter(|entry| entry["level"] == "warn");
    assert_eq!(warnings.count(), 1);
}

#[test]
fn a_config_that_cannot_be_read_loses_no_notice() {
    let slack_world = SlackWorld::new();
    slack_world.slack.down();
    let path = slack_world.world.hermetic.config_dir().join("config.toml");
    fs::remove_file(&path).unwrap();
    // A folder in place of the file; a missing permission would not stop root.
    fs::create_dir(&path).unwrap();
    slack_world.turn("go", "Done.");
    testkit::wait_until(TIMEOUT, "an error in the log", || {
        let log = slack_world.notify_log();
        log.iter().any(|entry| entry["message"] == "could not deliver notices").then_some(())
    });
    assert_eq!(slack_world.waiting().len(), 1);
    fs::remove_dir(&path).unwrap();
    slack_world.world.configure(CONFIG);
    slack_world.slack.up();
    slack_world.world.turnbridge(&["outbox", "retry"]);
    slack_world.only_thread(1);
}

#[test]
fn x36_without_slack_nothing_is_queued() {
    let world = World::new();
    world.status(&payload("UserPromptSubmit", json!({"prompt": "go"})));
    world.status(&payload("Stop", json!({"last_assistant_message": "x"})));
    assert!(!world.hermetic.state_dir().join("outbox").exists());
    assert_eq!(world.turnbridge(&["outbox"]), "nothing waits to be delivered\n");
    assert_eq!(world.turnbridge(&["routes"]), "no thread yet\n");
}

#[test]
fn slv_82_every_attempt_is_a_line_with_who_it_was_for_and_what_came_of_it() {
    let slack_world = SlackWorld::new();
    slack_world.slack.fail(
        "chat.postMessage",
        [SlackFault::Error(FaultMoment::Before, "is_archived".to_owned())],
    );
    slack_world.turn("go", "Done.");
    testkit::wait_until(TIMEOUT, "a failed attempt", || slack_world.notify_log().pop());
    slack_world.world.turnbridge(&["outbox", "retry"]);
    slack_world.wait_until_empty();
    let log = slack_world.notify_log();
    let fields = ["level", "message", "tool", "session_id", "destinations", "posted", "parts"];
    let seen: Vec<_> = log.iter().map(|line| fields.map(|field| line[field].clone())).collect();
    let expected = |level: &str, message: &str, posted: u32| {
        [
            json!(level),
            json!(message),
            json!("claude"),
            json!(SESSION),
            json!(1),
            json!(posted),
            json!(2),
        ]
    };
    let [failed, arrived] =
        ["notice not delivered: a person has to fix the cause", "notice delivered"];
    assert_eq!(seen, [expected("error", failed, 0), expected("info", arrived, 2)]);
    assert!(log[0]["error"].as_str().unwrap().contains("is_archived"), "{}", log[0]);
    assert!(log.iter().all(|line| line["notice"].is_string() && line["micros"].is_u64()));
}

#[test]
fn slv_82_no_log_holds_a_token_or_a_word_of_what_was_said() {
    let slack_world = SlackWorld::new();
    slack_world.slack.fail(
        "chat.postMessage",
        [SlackFault::Error(FaultMoment::Before, "invalid_blocks".to_owned())],
    );
    slack_world.turn("MARKER in the prompt", "MARKER in the answer");
    slack_world.wait_until_empty();
    let state = slack_world.world.hermetic.state_dir();
    let mut folders = vec![state.clone()];
    let mut looked_at = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                if !["turns", "outbox", "sessions"].contains(&name.as_str()) {
                    folders.push(path);
                }
                continue;
            }
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            assert!(!text.contains("MARKER") && !text.contains("xoxb-"), "{name}: {text}");
            looked_at += 1;
        }
    }
    assert!(looked_at >= 3, "only {looked_at} files");
}

#[test]
fn two_thousand_routes_of_ten_processes_are_all_whole() {
    let world = World::new();
    let this = std::env::current_exe().unwrap();
    let spawn = |process: u32| {
        let mut command = world.hermetic.command(&this);
        command.args(["--exact", "slack::one_process_of_ten", "--ignored"]);
        command.env("ROUTES_OF", process.to_string()).stdout(std::process::Stdio::null());
        command.spawn().unwrap()
    };
    let processes: Vec<_> = (0..10).map(spawn).collect();
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    let listed: Value = serde_json::from_str(&world.turnbridge(&["routes", "--json"])).unwrap();
    let routes = listed["routes"].as_array().unwrap();
    let mut threads: Vec<_> = routes.iter().map(|route| route["thread_ts"].to_string()).collect();
    threads.sort();
    threads.dedup();
    assert_eq!((routes.len(), threads.len()), (2_000, 2_000));
    let file = world.hermetic.state_dir().join("routes.jsonl");
    // A writer that finds an old half-written line puts a line break before its own: this makes an
    // empty line if the other writer was only slow.
    let text = fs::read_to_string(file).unwrap();
    assert_eq!(text.lines().filter(|line| !line.is_empty()).count(), 2_000);
    let kept = world.turnbridge(&["routes", "prune", "--days", "1"]);
    assert_eq!(kept, "2000 forgotten\n");
    assert_eq!(world.turnbridge(&["routes"]), "no thread yet\n");
}

#[test]
#[ignore = "a process of the test above"]
fn one_process_of_ten() {
    let process = std::env::var("ROUTES_OF").unwrap();
    let paths = turnbridge_store::paths::StatePaths::from_env().unwrap();
    let key = SessionKey::of("claude", SESSION).unwrap();
    let written_at = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
    for number in 0..200 {
        let route = Route {
            cwd: Some("/home/user/".repeat(20)),
            ..Route::new("D1", &format!("{process}.{number:06}"), key.clone(), written_at)
        };
        turnbridge_store::state::routes::append(&paths, &route).unwrap();
    }
}

#[test]
fn a_notice_that_waits_can_be_shown_and_dropped() {
    let slack_world = SlackWorld::new();
    slack_world.slack.down();
    slack_world.turn("go", "Done.");
    let id = testkit::wait_until(TIMEOUT, "a failed attempt", || {
        let waiting = slack_world.waiting();
        let notice = waiting.first().filter(|notice| notice["attempts"] == 1)?;
        Some(notice["id"].as_str().unwrap().to_owned())
    });
    let list = slack_world.world.turnbridge(&["outbox"]);
    assert!(list.contains(&id) && list.contains("Slack could not be reached"), "{list}");
    let shown = slack_world.world.turnbridge(&["outbox", "show", &id[..12], "--json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["messages"][1]["text"], "Done.");
    slack_world.world.turnbridge(&["outbox", "drop", &id]);
    assert!(slack_world.waiting().is_empty());
    let output =
        slack_world.world.command("turnbridge").args(["outbox", "show", "x"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    slack_world.slack.up();
    slack_world.world.turnbridge(&["outbox", "retry"]);
    assert!(slack_world.slack.threads().is_empty());
}

#[test]
fn logs_are_shown_for_people_and_for_programs() {
    let slack_world = SlackWorld::new();
    slack_world.turn("go", "Done.");
    slack_world.only_thread(1);
    let shown = slack_world.world.turnbridge(&["logs", "notify"]);
    assert!(shown.contains("notify info  notice delivered"), "{shown}");
    let json: Value =
        serde_json::from_str(&slack_world.world.turnbridge(&["logs", "notify", "--json"])).unwrap();
    assert_eq!(json["parts"], 2);
}
