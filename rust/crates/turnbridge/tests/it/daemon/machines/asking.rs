//! Tests how the daemon queries Slack for missed replies while some queries fail: all readable
//! replies run, and rate limits are respected.

use testkit::slack::SlackCall;

use super::*;

fn internal_error() -> SlackFault {
    SlackFault::Error(FaultMoment::Before, "internal_error".to_owned())
}

fn has_argument(call: &SlackCall, name: &str, value: &str) -> bool {
    call.arguments[name] == value
}

impl DaemonFixture {
    fn asked_for(&self, thread_ts: &str) -> usize {
        let calls = self.slack.calls_of("conversations.replies");
        calls.iter().filter(|call| has_argument(call, "ts", thread_ts)).count()
    }

    fn logged(&self, message: &str) -> usize {
        self.log().iter().filter(|entry| entry["message"] == message).count()
    }

    /// Makes Slack stop all queries by a rate limit.
    fn ask_to_wait_for_hours(&self) {
        self.slack.fail("conversations.history", [SlackFault::RateLimited(1_000_000)]);
        wait_until(TIMEOUT, "the wish to wait", || {
            self.status()["daemon"]["replies"]["problem"].is_string().then_some(())
        });
    }
}

#[test]
fn a_thread_that_cannot_be_read_holds_back_no_other_for_long() {
    let mut service = DaemonFixture::start();
    let broken = service.turn("broken");
    let same = service.turn("of the same session");
    let other = service.turn_of(OTHER_SESSION, "of another one");
    service.stop_daemon();
    for (thread, text) in [(&broken, "one"), (&same, "two"), (&other, "three")] {
        service.slack.post_as_user(Some(&thread.parent.ts), text);
    }
    let fault = SlackFault::Status(FaultMoment::Before, 500);
    service.slack.fail_where("conversations.replies", "ts", &broken.parent.ts, fault);
    service.start_daemon();
    assert_eq!(service.wait_for_prompts(2), ["three", "two"]);
    assert!(service.asked_for(&broken.parent.ts) >= 3, "its own session has waited for it");
    service.slack.heal();
    assert_eq!(service.wait_for_prompts(3), ["three", "two", "one"]);
}

#[test]
fn threads_are_read_to_the_last_and_in_order_although_slack_wants_pauses() {
    let mut service = DaemonFixture::start();
    let threads: Vec<_> = (0..6).map(|number| service.turn(&format!("turn {number}"))).collect();
    service.stop_daemon();
    let texts: Vec<_> = (0..6).map(|number| format!("reply {number}")).collect();
    for (thread, text) in threads.iter().rev().zip(&texts) {
        service.slack.post_as_user(Some(&thread.parent.ts), text);
    }
    let faults = || [SlackFault::Pass, SlackFault::Pass, SlackFault::RateLimited(1)];
    service.slack.fail("conversations.replies", (0..1_000).flat_map(|_| faults()));
    service.start_daemon();
    assert_eq!(service.wait_for_prompts(6), texts);
}

#[test]
fn what_is_heard_does_not_shorten_the_wait_that_slack_asks_for() {
    let service = DaemonFixture::start();
    service.turn("fix it");
    service.wait_until_caught_up();
    service.ask_to_wait_for_hours();
    let own = service.slack.say(None, "my own thread");
    service.slack.say(Some(&own), "go on");
    wait_until(TIMEOUT, "one that waits to be judged", || {
        (service.status()["daemon"]["replies"]["unjudged"] == 1).then_some(())
    });
    assert_eq!(service.asked_for(&own), 0);
}

#[test]
fn a_sweep_that_fails_is_told_once_and_the_newest_threads_are_looked_at() {
    let mut service = DaemonFixture::start();
    let thread = service.turn("fix it");
    service.stop_daemon();
    service.slack.post_as_user(Some(&thread.parent.ts), "go on");
    service.slack.fail_where("conversations.history", "limit", "100", internal_error());
    let begun = service.slack.calls_of("conversations.history").len();
    service.start_daemon();
    assert_eq!(service.wait_for_prompts(1), ["go on"]);
    wait_until(TIMEOUT, "some more sweeps and looks", || {
        let calls = service.slack.calls_of("conversations.history").split_off(begun);
        let sweeps = calls.iter().filter(|call| has_argument(call, "limit", "100")).count();
        (sweeps >= 5 && calls.len() - sweeps >= 3).then_some(())
    });
    assert_eq!(service.logged("could not ask Slack for replies"), 1);
    assert_eq!(service.logged("Slack can be asked for replies again"), 0);
    assert!(!service.is_caught_up());
    service.slack.heal();
    service.wait_until_caught_up();
}

#[test]
fn a_sweep_whose_page_slack_does_not_know_any_more_begins_again() {
    let mut service = DaemonFixture::start();
    service.turn("the oldest");
    service.stop_daemon();
    for number in 0..150 {
        service.slack.post_as_user(None, &format!("a newer message {number}"));
    }
    let fault = SlackFault::Error(FaultMoment::Before, "invalid_cursor".to_owned());
    service.slack.fail_where("conversations.history", "cursor", "*", fault);
    let begun = service.slack.calls_of("conversations.history").len();
    service.start_daemon();
    wait_until(TIMEOUT, "a first page after a page that is not known", || {
        let calls = service.slack.calls_of("conversations.history").split_off(begun);
        let sweeps = calls.into_iter().filter(|call| has_argument(call, "limit", "100"));
        let mut sweeps = sweeps.map(|call| call.arguments["cursor"].is_string());
        sweeps.find(|has_cursor| *has_cursor)?;
        sweeps.find(|has_cursor| !has_cursor)
    });
    service.slack.heal();
    service.wait_until_caught_up();
}

/// Its parent has arrived, the response was lost, and then Slack could not be queried.
#[test]
fn a_reply_to_a_notice_that_is_held_runs_in_its_session() {
    let mut service = DaemonFixture::start();
    service.turn("an earlier one");
    service.wait_until_caught_up();
    service.stop_daemon();
    service.slack.change(|setup| setup.bot_scopes.retain(|scope| scope != "im:history"));
    service.slack.fail("chat.postMessage", [SlackFault::Reset(FaultMoment::After)]);
    let cwd = service.world.hermetic.project();
    for (name, more) in [
        ("UserPromptSubmit", json!({"prompt": "held"})),
        ("Stop", json!({"last_assistant_message": "done"})),
    ] {
        let mut payload = payload(name, more);
        payload["session_id"] = json!(OTHER_SESSION);
        payload["cwd"] = json!(cwd);
        service.world.status(&payload);
    }
    let outbox = service.world.hermetic.state_dir().join("outbox");
    wait_until(TIMEOUT, "a held notice", || {
        let files = fs::read_dir(&outbox).unwrap().map(|file| file.unwrap().path());
        // The progress file for a 0.1 contains this from the beginning.
        let files = files.filter(|path| path.to_string_lossy().ends_with(".slack.progress"));
        let texts = files.filter_map(|path| fs::read_to_string(path).ok());
        texts.into_iter().any(|text| text.contains("\"held\":true")).then_some(())
    });
    let threads = service.slack.threads();
    let parent = threads.iter().find(|it| it.parent.text == "held").unwrap().parent.clone();
    let scopes = SlackSetup::default().bot_scopes;
    service.slack.change(|setup| setup.bot_scopes = scopes);
    service.start_daemon();
    service.slack.wait_for_sockets(1, TIMEOUT);
    service.slack.say(Some(&parent.ts), "go on");
    assert_eq!(service.wait_for_prompts(1), ["go on"]);
    assert!(service.calls()[0].contains(OTHER_SESSION));
    assert_eq!(told_falsely(&service.slack), Vec::<String>::new());
}

#[test]
fn a_reply_that_slack_shows_later_than_a_younger_one_runs() {
    let service = DaemonFixture::start();
    let thread = service.turn("fix it");
    service.wait_until_caught_up();
    service.slack.post_as_user(Some(&thread.parent.ts), "the younger one");
    assert_eq!(service.wait_for_prompts(1), ["the younger one"]);
    service.wait_for_words(&thread, &["the younger one", "received"]);
    let marks = service.world.hermetic.state_dir().join("slack-threads.jsonl");
    wait_until(TIMEOUT, "a thread that was read to its end", || {
        let threads = service.slack.threads();
        let seen = threads.iter().find(|seen| seen.parent.ts == thread.parent.ts)?;
        let newest = &seen.replies.last()?.ts;
        fs::read_to_string(&marks).ok()?.contains(newest.as_str()).then_some(())
    });
    service.slack.show_late(&thread.parent.ts, "the older one");
    assert_eq!(service.wait_for_prompts(2), ["the younger one", "the older one"]);
}

#[test]
fn what_waits_to_be_judged_runs_before_what_is_heard_later() {
    let service = DaemonFixture::start();
    let thread = service.turn("fix it");
    service.wait_until_caught_up();
    service.ask_to_wait_for_hours();
    let (channel, thread_ts) = (&thread.parent.channel, &thread.parent.ts);
    let ts = service.slack.post_as_user(Some(thread_ts), "first");
    let heard = json!({
        "version": 1, "received_at": "2026-01-01T00:00:00Z",
        "reported": {
            "is_message": true, "user": "U0OWNER", "channel": channel, "channel_type": "im",
            "thread_ts": thread_ts, "ts": ts, "text": "first",
        },
    });
    let folder = service.world.hermetic.state_dir().join("heard");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("slack-{channel}-{ts}.json")), heard.to_string()).unwrap();
    service.slack.say(Some(thread_ts), "second");
    assert_eq!(service.wait_for_prompts(2), ["first", "second"]);
}
