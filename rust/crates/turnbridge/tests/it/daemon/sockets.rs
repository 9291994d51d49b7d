//! Tests that the daemon receives every event in time, and runs every reply once, while its sockets
//! are broken and replaced under traffic. No process is killed here, in contrast to the soak.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use testkit::slack::Cut;

use super::*;

const SESSIONS: [&str; 3] =
    [SESSION, "01a1e18e-2062-79f1-b187-979e8f997b9c", "01a1e18e-2062-79f1-b187-979e8f997b9d"];
const INTERVAL: Duration = Duration::from_millis(50);
/// The timeout for all work to finish, on a busy machine.
const LONG_TIMEOUT: Duration = Duration::from_secs(240);

/// The owner writes until the end; one message in five is a reply, which must run.
fn talk(service: &DaemonFixture, threads: &[SlackThread], is_over: &AtomicBool) -> Vec<String> {
    let mut replies = Vec::new();
    for number in 0.. {
        if is_over.load(Ordering::SeqCst) {
            break;
        }
        let text = format!("reply {number}");
        let thread = &threads[number % threads.len()].parent.ts;
        let is_reply = number % 5 == 0;
        service.slack.say(is_reply.then_some(thread), &text);
        if is_reply {
            replies.push(text);
        }
        thread::sleep(INTERVAL);
    }
    replies
}

#[test]
fn sockets_are_killed_and_refreshed_under_traffic_and_every_event_is_heard_in_time() {
    let cycles = if testkit::is_slow() { 50 } else { 5 };
    // Slack's second retry comes after a minute: an event that needs it is late.
    let setup = SlackSetup {
        retry_after: [if testkit::is_slow() { 1 } else { 3 }, 60, 300].map(Duration::from_secs),
        disconnect_grace: Duration::from_secs(3),
        ..SlackSetup::default()
    };
    let mut service = DaemonFixture::with_slack(setup, CONFIG);
    service.start_daemon();
    service.slack.wait_for_sockets(1, TIMEOUT);
    let turn = |(number, id): (usize, &&str)| service.turn_of(id, &format!("turn {number}"));
    let threads: Vec<_> = SESSIONS.iter().enumerate().map(turn).collect();
    let is_over = AtomicBool::new(false);
    let mut replies = thread::scope(|scope| {
        let talking = scope.spawn(|| talk(&service, &threads, &is_over));
        for number in 0..cycles {
            service.slack.wait_for_sockets(1, TIMEOUT);
            thread::sleep(INTERVAL * 7);
            match number % 4 {
                0 => service.slack.kill(Cut::Reset),
                1 => service.slack.refresh(),
                2 => service.slack.kill(Cut::Fin),
                _ => service.slack.disconnect("warning"),
            };
            thread::sleep(INTERVAL * 7);
        }
        service.slack.wait_for_sockets(1, TIMEOUT);
        is_over.store(true, Ordering::SeqCst);
        talking.join().unwrap()
    });
    let events = service.slack.wait_for_all_acked(TIMEOUT);
    let late: Vec<_> = events.iter().filter(|event| event.acked_attempt > Some(1)).collect();
    assert!(late.is_empty(), "{late:?}");
    assert_eq!(service.slack.violations(), Vec::<String>::new());
    let ran = || -> Vec<String> {
        let is_prompt = |word: &&str| word.starts_with("reply ");
        let prompt = |call: &String| call.split(['|', '=']).find(is_prompt).unwrap().to_owned();
        service.calls().iter().map(prompt).collect()
    };
    let state = service.world.hermetic.state_dir().join("inbox");
    let is_open = |name: String| name.ends_with(".json");
    wait_until(LONG_TIMEOUT, "the end of every reply", || {
        let mut files = fs::read_dir(&state).unwrap().map(|it| it.unwrap().file_name());
        let is_settled = !files.any(|name| is_open(name.into_string().unwrap()));
        (is_settled && ran().len() >= replies.len()).then_some(())
    });
    let mut ran = ran();
    ran.sort();
    replies.sort();
    assert_eq!(ran, replies, "each ran once");
}
