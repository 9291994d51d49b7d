//! Tests that no event is lost if sockets are killed and refreshed while users go on writing.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use testkit::slack::{Cut, EventFate};
use testkit::{SlackApi, SlackSetup};
use turnbridge_slack::{Accept, Timing};

use crate::app_token;
use crate::socket_mode::{SocketModeClient, TIMEOUT, check_clean};

/// Runs the cycles, a kill and a refresh in turn, with an event every `interval`. Returns the
/// result of each event.
fn cycle(
    slack: &SlackApi,
    client: &SocketModeClient,
    cycles: u32,
    interval: Duration,
) -> Vec<EventFate> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                slack.say(None, "on and on");
                thread::sleep(interval);
            }
        });
        for number in 0..cycles {
            slack.wait_for_sockets(1, TIMEOUT);
            thread::sleep(interval * 7);
            match number % 4 {
                0 => slack.kill(Cut::Reset),
                1 => slack.refresh(),
                2 => slack.kill(Cut::Fin),
                _ => slack.disconnect("warning"),
            };
            thread::sleep(interval * 7);
        }
        slack.wait_for_sockets(1, TIMEOUT);
        is_over.store(true, Ordering::SeqCst);
    });
    let events = slack.wait_for_all_acked(TIMEOUT);
    let kept: BTreeSet<String> =
        client.kept().into_iter().filter_map(|kept| kept.event_id).collect();
    assert_eq!(kept, events.iter().map(|event| event.event_id.clone()).collect());
    assert_eq!(slack.sockets().len(), cycles as usize + 1);
    check_clean(slack);
    events
}

#[test]
fn ten_kills_and_refreshes_under_traffic_lose_nothing() {
    let slack = SlackApi::start(SlackSetup::default());
    let client = SocketModeClient::start(&slack);
    let events = cycle(&slack, &client, 10, Duration::from_millis(10));
    assert!(events.len() > 100, "{}", events.len());
}

#[test]
fn fifty_kills_and_refreshes_at_slacks_own_pace_make_nothing_late() {
    if testkit::skipped_as_slow() {
        return;
    }
    let setup = SlackSetup {
        retry_after: [1, 60, 300].map(Duration::from_secs),
        disconnect_grace: Duration::from_secs(3),
        ..SlackSetup::default()
    };
    let slack = SlackApi::start(setup);
    let client = SocketModeClient::with(&slack, Timing::default(), app_token(), |_| Accept::Kept);
    let events = cycle(&slack, &client, 50, Duration::from_millis(50));
    assert!(events.len() > 500, "{}", events.len());
    // The first retry comes immediately; a later one would be a minute late.
    let late: Vec<_> = events.iter().filter(|event| event.acked_attempt > Some(1)).collect();
    assert!(late.is_empty(), "{late:?}");
}
