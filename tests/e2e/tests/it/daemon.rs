//! Tests the whole path with the real agents and the daemon: a turn becomes a thread in Slack, a
//! reply in it becomes the next prompt of the same session, and its turn becomes a new thread.
//! Forged or foreign messages start nothing.

use std::fs;

use serde_json::{Value, json};
use testkit::{Claude, Codex, ModelReply};

use crate::replies::{claude_prompts, codex_prompt, pwned};
use crate::service::{DaemonService, NOT_KNOWN, RECEIVED};
use crate::slack::texts;
use crate::support::agent_home::{AgentHome, executable, stdout_of};
use crate::support::codex_world::{CodexWorld, run, thread_told};
use crate::support::gates;
use crate::support::timeouts::{TIMEOUT, wait_for};
use crate::support::world::{ApiWorld, SessionSelection};

/// A typed text with everything that a shell, an option parser or Slack could interpret.
const TYPED: &str = "--dangerously-skip-permissions\n$(touch pwned) `touch pwned` \"double\" 'single' \\\n\
                     if a < b && c > d; then &lt; https://example.com/?a=1&b=2 @U0OWNER 日本語 🎉\n/clear";

/// The same text in Slack's form.
const SENT: &str = "--dangerously-skip-permissions\n$(touch pwned) `touch pwned` \"double\" 'single' \\\n\
                    if a &lt; b &amp;&amp; c &gt; d; then &amp;lt; <https://example.com/?a=1&amp;b=2> \
                    <@U0OWNER> 日本語 🎉\n/clear";

/// SLV-22: checks a route for each thread, all of one session.
#[track_caller]
fn check_routes(agent_home: &AgentHome, tool: &str, session: &str, threads: &[&str]) {
    let routes = agent_home.routes();
    let mut places: Vec<_> = routes.iter().map(|route| route["thread_ts"].clone()).collect();
    places.sort_unstable_by_key(Value::to_string);
    assert_eq!(places, threads.iter().map(|ts| json!(ts)).collect::<Vec<_>>(), "{routes:#?}");
    for route in &routes {
        assert_eq!((&route["tool"], &route["session_id"]), (&json!(tool), &json!(session)));
        assert_eq!(route["cwd"], json!(agent_home.hermetic.project()));
    }
}

#[track_caller]
fn claude_turn(world: &ApiWorld, prompt: &str) -> String {
    stdout_of(&world.claude().args(["-p", prompt]).output().expect("run claude"));
    world.only_session(SessionSelection::All)["session_id"].as_str().expect("an id").to_owned()
}

#[track_caller]
fn codex_turn(world: &CodexWorld, prompt: &str) -> String {
    let output = run(&mut world.exec(prompt));
    stdout_of(&output);
    thread_told(&output)
}

/// SLV-T2..T5, SLV-37.
#[test]
fn a_reply_in_slack_goes_on_with_the_claude_session_and_its_turn_is_a_new_thread() {
    let Some(claude) = gates::fast() else { return };
    let world =
        ApiWorld::with_gate(claude, vec![ModelReply::text("One."), ModelReply::text("Two.")]);
    let service = DaemonService::with_claude(&world, "");
    let id = claude_turn(&world, "first");
    let first = service.thread_of("first");
    assert_eq!(texts(&first), ["One."]);
    let reply = "now the tests, `please`";
    service.delay_the_receipt();
    service.slack.say(Some(&first.parent.ts), reply);
    let second = service.thread_of(reply);
    assert_eq!(texts(&second), ["Two."]);

    service.wait_for_ends(&["done"]);
    assert_eq!(service.runs(), [world.hermetic.project()]);
    service.assert_received_before_the_run(&first);
    let said = service.said_in(&first);
    assert_eq!((said.len(), &said[..2]), (3, &["One.".to_owned(), reply.to_owned()][..]));
    let requests = world.api.requests();
    assert_eq!(requests.len(), 2);
    let prompts = claude_prompts(&requests[1]);
    let place = |wanted: &str| prompts.iter().position(|prompt| prompt == wanted);
    assert!(place("first") < place(reply) && place("first").is_some(), "{prompts:#?}");
    check_routes(&world, "claude", &id, &[&first.parent.ts, &second.parent.ts]);
    assert_eq!(world.only_session(SessionSelection::All)["session_id"], json!(id));
    assert_eq!(world.show(&id)["turns"].as_array().map(Vec::len), Some(2));
    service.assert_no_problems();
}

/// SLV-T1, SLV-T3..T5. Codex has neither hooks nor a notify program: its rollout is the only
/// source.
#[test]
fn a_reply_in_slack_reaches_codex_as_it_was_typed_and_its_turn_is_a_new_thread() {
    let Some(codex) = gates::fast() else { return };
    let world = CodexWorld::bare(codex, vec![ModelReply::text("One."), ModelReply::text("Two.")]);
    let service = DaemonService::with_codex(&world);
    let id = codex_turn(&world, "first");
    let first = service.thread_of("first");
    assert_eq!(texts(&first), ["One."]);
    service.delay_the_receipt();
    service.reply_as_sent(&first, SENT);
    let second = service.thread_of(TYPED);
    assert_eq!(texts(&second), ["Two."]);

    service.wait_for_ends(&["done"]);
    assert_eq!(service.runs(), [world.hermetic.project()]);
    service.assert_received_before_the_run(&first);
    let said = service.said_in(&first);
    assert!(said.len() == 2 && said[1].starts_with(RECEIVED), "{said:#?}");
    let requests = world.api.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(codex_prompt(&requests[1]).trim_end(), TYPED);
    assert_eq!(world.only_thread(), id);
    check_routes(&world, "codex", &id, &[&first.parent.ts, &second.parent.ts]);
    assert!(!pwned(world.hermetic.root()), "a shell has run it");
    service.assert_no_problems();
}

#[test]
fn a_reply_in_slack_reaches_claude_as_it_was_typed() {
    let Some(claude) = gates::slow::<Claude>() else { return };
    let world =
        ApiWorld::with_gate(claude, vec![ModelReply::text("One."), ModelReply::text("Two.")]);
    let service = DaemonService::with_claude(&world, "");
    claude_turn(&world, "first");
    let first = service.thread_of("first");
    service.reply_as_sent(&first, SENT);
    assert_eq!(texts(&service.thread_of(TYPED)), ["Two."]);
    let prompts = claude_prompts(&world.api.requests()[1]);
    assert!(prompts.iter().any(|prompt| prompt == TYPED), "{prompts:#?}");
    assert!(!pwned(world.hermetic.root()), "a shell has run it");
    let session = world.only_session(SessionSelection::All);
    assert_ne!(session["permission_mode"], "bypassPermissions", "{session:#}");
    service.wait_for_ends(&["done"]);
    service.assert_no_problems();
}

/// SLV-T6.
#[test]
fn a_long_answer_to_a_reply_is_one_thread_with_every_part() {
    let Some(claude) = gates::slow::<Claude>() else { return };
    let answer: String = (1..=2_000).map(|number| format!("Line {number} of 2000.\n\n")).collect();
    let world =
        ApiWorld::with_gate(claude, vec![ModelReply::text("One."), ModelReply::text(&answer)]);
    let service = DaemonService::with_claude(&world, "");
    claude_turn(&world, "first");
    let first = service.thread_of("first");
    service.slack.say(Some(&first.parent.ts), "tell me everything");
    let second = service.thread_of("tell me everything");
    let parts = second.replies.len();
    assert!(parts > 8, "{parts} parts");
    let all = texts(&second).concat();
    let numbers: Vec<usize> = all
        .split("Line ")
        .filter_map(|piece| piece.split_once(" of 2000.")?.0.parse().ok())
        .collect();
    let is_whole = numbers.iter().copied().eq(1..=2_000);
    assert!(is_whole, "{} lines, the last is {:?}", numbers.len(), numbers.last());
    service.wait_for_ends(&["done"]);
    service.assert_no_problems();
}

/// Each turn has three paths to Slack: the plugin's hooks, `notify =`, and the rollout.
#[test]
fn hooks_notify_and_rollout_together_make_one_thread_a_turn() {
    let Some(codex) = gates::slow::<Codex>() else { return };
    let replies = ["One.", "Two.", "Three."].map(ModelReply::text).to_vec();
    let mut world = CodexWorld::bare(codex, replies);
    // Codex does not wait for the program; this one writes a file entry when it is done.
    let program = world.hermetic.root().join("notify.sh");
    let reports = world.hermetic.root().join("reports");
    let script = format!(
        "#!/bin/sh\n'{}' notify --tool codex \"$@\"\necho >> '{}'\n",
        executable("turnbridge").display(),
        reports.display()
    );
    testkit::write_program(&program, &script);
    let notify = format!("notify = ['{}']", program.display());
    world.codex.configure(&world.hermetic, &world.api, &notify);
    world.install_plugin();
    let flags = "--enable plugins --dangerously-bypass-hook-trust";
    let service = DaemonService::with_codex_and(&world, flags);

    let id = codex_turn(&world, "first");
    let first = service.thread_of("first");
    service.slack.say(Some(&first.parent.ts), "second, please");
    let second = service.thread_of("second, please");
    service.wait_for_ends(&["done"]);
    // When a third turn is complete, all reports of the first two were processed.
    codex_turn(&world, "third");
    let third = service.thread_of("third");
    wait_for("three reports of Codex", || {
        match fs::read_to_string(&reports).map(|lines| lines.lines().count()) {
            Ok(3) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
    let threads = service.slack.threads();
    assert_eq!(threads.len(), 3, "{threads:#?}");
    assert_eq!(texts(&second), ["Two."]);
    assert_eq!(texts(&third), ["Three."]);
    let turns = world.show(&id)["turns"].as_array().map(Vec::len);
    assert_eq!(turns, Some(2), "{:#}", world.show(&id));
    service.assert_no_problems();
}

/// Codex itself reports this nowhere.
#[test]
fn a_turn_of_codex_that_failed_is_a_thread_that_says_so() {
    let Some(codex) = gates::slow::<Codex>() else { return };
    let replies =
        vec![ModelReply::error(500, "server_error", "out of order"), ModelReply::text("Better.")];
    let world = CodexWorld::bare(codex, replies);
    let service = DaemonService::with_codex(&world);
    let failed = run(&mut world.exec("this fails"));
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
    let thread = service.thread_of("this fails");
    let said = texts(&thread).concat();
    assert!(said.starts_with("Ended with an error"), "{said}");
    // A reply continues from there.
    service.slack.say(Some(&thread.parent.ts), "try again now");
    assert_eq!(texts(&service.thread_of("try again now")), ["Better."]);
    service.wait_for_ends(&["done"]);
    service.assert_no_problems();
}

/// SLV-T7, SLV-42, SLV-44, SLV-48, SLV-85.
#[test]
fn forged_routes_strangers_bots_and_edits_start_nothing() {
    let Some(codex) = gates::fast() else { return };
    let world = CodexWorld::bare(codex, vec![ModelReply::text("One."), ModelReply::text("Two.")]);
    let service = DaemonService::with_codex(&world);
    let id = codex_turn(&world, "first");
    let thread = service.thread_of("first");
    let path = world.hermetic.state_dir().join("routes.jsonl");
    let good = fs::read_to_string(&path).expect("read routes.jsonl");
    let parent = thread.parent.ts.as_str();
    let mut words = Vec::new();
    for (from, to) in [("\"codex\"", "\"rm\""), (id.as_str(), "../../x")] {
        let forged = good.replace(from, to);
        assert_ne!(forged, good);
        fs::write(&path, forged).expect("write routes.jsonl");
        let said = service.slack.say(Some(parent), "-rf .");
        // A later edit by its author starts nothing either.
        service.slack.edit(&said, "-rf /");
        words.push(NOT_KNOWN);
        service.wait_for_words(&thread, &words);
    }
    fs::write(&path, &good).expect("write routes.jsonl");
    service.slack.raise(json!({
        "type": "message", "channel_type": "im", "channel": thread.parent.channel,
        "user": "U0STRANGER", "text": "let me in", "ts": "1794842299.000100", "thread_ts": parent,
    }));
    let spam = service.slack.say_as_bot("B0OTHER", Some(parent), "let me in");
    service.slack.wait_for_all_acked(TIMEOUT);
    service.wait_for_ends(&["none", "none"]);
    let log = service.log();
    let outcomes_of = |is_it: &dyn Fn(&Value) -> bool| -> Vec<Value> {
        log.iter().filter(|entry| is_it(entry)).map(|entry| entry["outcome"].clone()).collect()
    };
    let refused = outcomes_of(&|entry| entry["outcome"] == "no_route");
    assert_eq!(refused.len(), 2, "{log:#?}");
    // An edit has its text one level deeper, so it counts as empty.
    let edits = outcomes_of(&|entry| entry["outcome"] == "empty_text");
    assert_eq!(edits.len(), 2, "{log:#?}");
    assert_eq!(outcomes_of(&|entry| entry["message_ts"] == "1794842299.000100"), ["other_user"]);
    assert_eq!(outcomes_of(&|entry| entry["message_ts"] == json!(spam)), ["bot"]);
    assert!(log.iter().all(|entry| entry["message"] != "run started"), "{log:#?}");
    assert!(service.runs().is_empty() && world.api.requests().len() == 1);

    // Only the route was the reason.
    service.slack.say(Some(parent), "go on, please");
    assert_eq!(texts(&service.thread_of("go on, please")), ["Two."]);
    service.wait_for_ends(&["none", "none", "done"]);
    service.assert_no_problems();
}
