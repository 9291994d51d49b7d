//! Tests executables of an older version and of this one on the same state folder: a daemon of one
//! beside hooks of the other, and a notice that one version begins and the other finishes. No
//! notice is lost or duplicated. `TURNBRIDGE_TEST_OLDER` names the folder of the older executables;
//! without it the tests are skipped.

use testkit::skipped;

use super::*;
use crate::support::world::PROGRAMS;

fn older() -> Option<PathBuf> {
    let folder = std::env::var_os("TURNBRIDGE_TEST_OLDER").map(PathBuf::from);
    if folder.is_none() {
        skipped("TURNBRIDGE_TEST_OLDER names no folder with the executables of an older version");
    }
    folder
}

/// Creates a service with these programs of the older version.
fn service(older: &std::path::Path, programs: &[&'static str], config: &str) -> DaemonFixture {
    let mut service = DaemonFixture::without_daemon(config);
    service.world.take_from(older, programs);
    // Its name in 0.1.0.
    service.world.set("TURNBRIDGE_SLACK_HASTE", "20");
    service
}

/// Checks that every turn has one thread, with its prompt once and its answer once.
#[track_caller]
fn check_threads(service: &DaemonFixture, prompts: &[String]) {
    let threads = service.slack.threads();
    for prompt in prompts {
        let own: Vec<_> = threads.iter().filter(|it| it.parent.text == *prompt).collect();
        assert_eq!(own.len(), 1, "{prompt}: {threads:#?}");
        let answer = format!("done: {prompt}");
        let answers = own[0].replies.iter().filter(|reply| reply.text == answer).count();
        assert_eq!(answers, 1, "{prompt}: {threads:#?}");
    }
}

fn check_both_ways(service: &DaemonFixture) {
    service.slack.wait_for_sockets(1, TIMEOUT);
    let prompts: Vec<String> = (0..6).map(|number| format!("turn {number}")).collect();
    for prompt in &prompts {
        service.turn(prompt);
    }
    let threads = service.slack.threads();
    for number in [1, 4] {
        let thread = threads.iter().find(|it| it.parent.text == prompts[number]).unwrap();
        service.slack.say(Some(&thread.parent.ts), &format!("reply {number}"));
    }
    wait_until(TIMEOUT, "two runs", || (service.calls().len() == 2).then_some(()));
    check_threads(service, &prompts);
    let calls = service.calls().concat();
    assert!(calls.contains("reply 1") && calls.contains("reply 4"), "{calls}");
}

#[test]
fn an_older_daemon_beside_these_hooks_loses_nothing() {
    let Some(older) = older() else { return };
    let mut service = service(&older, &["turnbridge"], CONFIG);
    service.spawn_daemon();
    service.world.take_from(&older, &[]);
    check_both_ways(&service);
}

#[test]
fn this_daemon_beside_older_hooks_loses_nothing() {
    let Some(older) = older() else { return };
    let hooks = ["turnbridge-status", "turnbridge-stop-gate", "turnbridge-notify"];
    let mut service = service(&older, &hooks, CONFIG);
    service.start_daemon();
    check_both_ways(&service);
}

/// The parent arrives, its response is lost, and the deliverer postpones the rest. The other
/// version delivers next, and then the first one again.
#[test]
fn a_notice_that_one_version_has_begun_arrives_once_whoever_comes_next() {
    let Some(older) = older() else { return };
    for is_begun_by_older in [true, false] {
        let programs = if is_begun_by_older { &PROGRAMS[..] } else { &[] };
        let mut service = service(&older, programs, CONFIG);
        service.slack.fail("chat.postMessage", [SlackFault::Reset(FaultMoment::After)]);
        // Slack returns the channel's newest message, and then fails.
        let nothing_more = std::iter::once(SlackFault::Pass).chain((0..9).map(|_| down()));
        service.slack.fail("conversations.history", nothing_more);
        let event = |name: &str, more: Value| service.world.status(&payload(name, more));
        event("UserPromptSubmit", json!({"prompt": "go"}));
        event("Stop", json!({"last_assistant_message": "done: go"}));
        service.slack.wait_for_calls("chat.postMessage", 1, TIMEOUT);
        let outbox = service.world.hermetic.state_dir().join("outbox");
        wait_until(TIMEOUT, "an attempt that has ended", || {
            let files = fs::read_dir(&outbox).unwrap().map(|file| file.unwrap().path());
            let texts = files.filter_map(|path| fs::read_to_string(path).ok());
            texts.into_iter().any(|text| text.contains("next_attempt_at\":\"")).then_some(())
        });
        service.slack.heal();
        // The other version follows, and either finishes the notice or does nothing.
        service.world.take_from(&older, if is_begun_by_older { &[] } else { &PROGRAMS[..] });
        service.world.hook("turnbridge-notify", &["--deliver"], b"");
        let other = service.slack.threads();
        assert_eq!(other.len(), 1, "{other:#?}");
        service.world.take_from(&older, &[]);
        service.world.turnbridge(&["outbox", "retry"]);
        check_threads(&service, &["go".to_owned()]);
        assert_eq!(service.slack.threads().len(), 1);
    }
}

fn down() -> SlackFault {
    SlackFault::Error(FaultMoment::Before, "internal_error".to_owned())
}
