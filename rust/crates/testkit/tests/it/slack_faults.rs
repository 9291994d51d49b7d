//! Tests the effect of each deliberate fault on a client of the loopback Slack, and whether the
//! call was executed. Also tests the port while it is down.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::slack::{CallOutcome, FaultMix, FaultMoment, SlackFault};
use testkit::{SlackApi, SlackSetup};

use crate::support::slack_client::{SlackClient, SlackRequest, SlackResponse, address};

const POST: &str = "chat.postMessage";
const TIMEOUT: Duration = Duration::from_secs(20);

struct FaultsWorld {
    api: SlackApi,
    channel: String,
}

impl FaultsWorld {
    fn new() -> FaultsWorld {
        let api = SlackApi::start(SlackSetup::default());
        let channel = api.direct_message();
        FaultsWorld { api, channel }
    }

    fn request(&self) -> SlackRequest {
        SlackRequest::json(POST, &json!({"channel": self.channel, "text": "hello, é"}))
    }

    fn try_post(&self) -> io::Result<SlackResponse> {
        SlackClient::connect(&self.api)?.ask(&self.request())
    }

    fn posts(&self) -> usize {
        self.api.messages(&self.channel).len()
    }

    /// Posts once into the fault, checks what was executed, and that the next post succeeds.
    #[track_caller]
    fn strike(&self, fault: SlackFault, applied: FaultMoment) -> io::Result<SlackResponse> {
        self.api.fail(POST, [fault.clone()]);
        let seen = self.try_post();
        let call = self.api.calls().pop().unwrap();
        assert_eq!((call.fault, call.applied), (fault, applied == FaultMoment::After));
        let posts = usize::from(applied == FaultMoment::After);
        assert_eq!(self.posts(), posts);
        assert_eq!(self.try_post().unwrap().json()["ok"], true);
        assert_eq!(self.posts(), posts + 1);
        seen
    }
}

#[test]
fn a_reset_comes_before_or_after_the_post() {
    for when in [FaultMoment::Before, FaultMoment::After] {
        let world = FaultsWorld::new();
        let error = world.strike(SlackFault::Reset(when), when).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        assert_eq!(world.api.calls()[0].outcome, CallOutcome::Reset);
    }
}

#[test]
fn a_status_comes_before_or_after_the_post() {
    for (when, status) in [(FaultMoment::Before, 500), (FaultMoment::After, 503)] {
        let response = FaultsWorld::new().strike(SlackFault::Status(when, status), when).unwrap();
        assert_eq!(response.status, status);
        assert!(response.body.starts_with("<!DOCTYPE html>"));
    }
}

#[test]
fn an_error_comes_before_or_after_the_post() {
    for when in [FaultMoment::Before, FaultMoment::After] {
        let fault = SlackFault::Error(when, "fatal_error".to_owned());
        let response = FaultsWorld::new().strike(fault, when).unwrap();
        assert_eq!(response.status, 200);
        assert_eq!(response.json(), json!({"ok": false, "error": "fatal_error"}));
    }
}

#[test]
fn a_rate_limit_says_how_long() {
    let response =
        FaultsWorld::new().strike(SlackFault::RateLimited(7), FaultMoment::Before).unwrap();
    assert_eq!((response.status, response.header("retry-after")), (429, Some("7")));
    assert_eq!(response.json(), json!({"ok": false, "error": "ratelimited"}));
}

#[test]
fn a_cut_body_ends_early_and_broken_json_does_not() {
    let error = FaultsWorld::new().strike(SlackFault::CutBody, FaultMoment::After).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    let response = FaultsWorld::new().strike(SlackFault::BrokenJson, FaultMoment::After).unwrap();
    assert_eq!(response.status, 200);
    assert!(serde_json::from_str::<serde_json::Value>(&response.body).is_err());
}

#[test]
fn a_page_for_people_comes_with_status_200() {
    let response = FaultsWorld::new().strike(SlackFault::Html, FaultMoment::Before).unwrap();
    assert_eq!(
        (response.status, response.header("content-type")),
        (200, Some("text/html; charset=utf-8"))
    );
}

#[test]
fn a_delay_comes_before_or_after_the_post() {
    for when in [FaultMoment::Before, FaultMoment::After] {
        let world = FaultsWorld::new();
        let pause = Duration::from_millis(400);
        world.api.fail(POST, [SlackFault::Delay(when, pause)]);
        let started = Instant::now();
        thread::scope(|scope| {
            let posting = scope.spawn(|| world.try_post().unwrap());
            match when {
                FaultMoment::Before => thread::sleep(pause / 2),
                FaultMoment::After => {
                    world.api.wait_for_messages(&world.channel, 1, TIMEOUT);
                }
            }
            // On a slow machine only observations before the end of the pause count.
            let (posts, is_answered) = (world.posts(), posting.is_finished());
            if started.elapsed() < pause {
                assert_eq!((posts, is_answered), (usize::from(when == FaultMoment::After), false));
            }
            assert_eq!(posting.join().unwrap().json()["ok"], true);
        });
        assert!(started.elapsed() >= pause);
        assert_eq!(world.posts(), 1);
    }
}

#[test]
fn a_hang_lasts_until_the_client_gives_up() {
    for when in [FaultMoment::Before, FaultMoment::After] {
        let world = FaultsWorld::new();
        world.api.fail(POST, [SlackFault::Hang(when)]);
        let mut client = SlackClient::connect(&world.api).unwrap();
        client.set_timeout(Duration::from_millis(200));
        let error = client.ask(&world.request()).unwrap_err();
        assert!([ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind()), "{error}");
        let calls = world.api.wait_for_calls(POST, 1, TIMEOUT);
        assert_eq!(calls[0].outcome, CallOutcome::Hung);
        assert_eq!(world.posts(), usize::from(when == FaultMoment::After));
        drop(client);
        assert_eq!(world.try_post().unwrap().status, 200);
    }
}

#[test]
fn a_refused_connection_is_reset_before_a_request_is_read() {
    let world = FaultsWorld::new();
    world.api.fail("*", [SlackFault::Refuse, SlackFault::Refuse]);
    for _ in 0..2 {
        // The system may report the reset at the write or at the read, or refuse the connection.
        world.try_post().unwrap_err();
    }
    assert_eq!(world.api.calls().len(), 0);
    assert_eq!(world.try_post().unwrap().status, 200);
}

#[test]
fn a_queue_is_for_one_method_or_for_all() {
    let world = FaultsWorld::new();
    world.api.fail(POST, [SlackFault::Pass, SlackFault::Html]);
    world.api.fail("*", [SlackFault::RateLimited(1)]);
    let auth = SlackRequest::form("auth.test", &[]);
    let statuses = [world.try_post().unwrap(), auth.send(&world.api), auth.send(&world.api)];
    assert_eq!(statuses.map(|response| response.status), [200, 429, 200]);
    assert!(world.try_post().unwrap().body.starts_with("<!DOCTYPE html>"));
    assert_eq!(world.api.calls_of("auth.test").len(), 2);
}

#[test]
fn chance_strikes_until_it_is_healed() {
    let world = FaultsWorld::new();
    let mix = FaultMix::seeded(1)
        .with(0.3, SlackFault::Reset(FaultMoment::After))
        .with(0.2, SlackFault::Status(FaultMoment::Before, 503))
        .with(0.2, SlackFault::Refuse);
    world.api.fail_by_chance("*", mix);
    let answered = (0..60).filter(|_| world.try_post().is_ok()).count();
    let calls = world.api.calls();
    let count = |outcome| calls.iter().filter(|call| call.outcome == outcome).count();
    assert!(
        calls.len() < 60 && count(CallOutcome::Reset) > 0 && count(CallOutcome::Status(503)) > 0
    );
    assert_eq!(answered, calls.len() - count(CallOutcome::Reset));
    assert_eq!(world.posts(), calls.iter().filter(|call| call.applied).count());
    world.api.heal();
    assert!((0..20).all(|_| world.try_post().unwrap().status == 200));
}

#[test]
fn while_down_the_port_refuses_and_afterwards_it_remembers() {
    let world = FaultsWorld::new();
    let mut kept = SlackClient::connect(&world.api).unwrap();
    assert_eq!(kept.ask(&world.request()).unwrap().status, 200);
    for _ in 0..3 {
        world.api.down();
        let error = TcpStream::connect(address(&world.api)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        kept.ask(&world.request()).unwrap_err();
        world.api.up();
        kept = SlackClient::connect(&world.api).unwrap();
        kept.ask(&world.request()).unwrap();
    }
    assert_eq!(world.posts(), 4);
}

#[test]
fn down_and_up_twice_are_once() {
    let world = FaultsWorld::new();
    world.api.up();
    world.api.down();
    world.api.down();
    world.api.up();
    world.api.up();
    assert_eq!(world.try_post().unwrap().status, 200);
}

#[test]
fn every_answered_post_is_kept_while_the_port_goes_up_and_down() {
    let world = FaultsWorld::new();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let post_until_stopped = || {
            let mut answered = 0;
            while !stop.load(Ordering::Relaxed) {
                answered += usize::from(world.try_post().is_ok());
            }
            answered
        };
        let clients: Vec<_> = (0..4).map(|_| scope.spawn(post_until_stopped)).collect();
        for _ in 0..25 {
            world.api.down();
            let posts = world.posts();
            thread::sleep(Duration::from_millis(2));
            assert_eq!(world.posts(), posts);
            world.api.up();
            thread::sleep(Duration::from_millis(5));
        }
        stop.store(true, Ordering::Relaxed);
        let answered: usize = clients.into_iter().map(|client| client.join().unwrap()).sum();
        assert!(answered > 0 && world.posts() >= answered, "{answered} {}", world.posts());
    });
    assert_eq!(world.posts(), world.api.calls().iter().filter(|call| call.applied).count());
}

#[test]
fn dropping_the_server_waits_for_nobody() {
    let started = Instant::now();
    for fault in [
        SlackFault::Hang(FaultMoment::Before),
        SlackFault::Delay(FaultMoment::Before, Duration::from_secs(60)),
    ] {
        let FaultsWorld { api, channel } = FaultsWorld::new();
        api.fail(POST, [fault]);
        let request = SlackRequest::json(POST, &json!({"channel": channel, "text": "x"}));
        let mut client = SlackClient::connect(&api).unwrap();
        let asking = thread::spawn(move || client.ask(&request));
        thread::sleep(Duration::from_millis(100));
        drop(api);
        assert!(asking.join().unwrap().is_err());
    }
    let world = FaultsWorld::new();
    world.api.down();
    drop(world);
    assert!(started.elapsed() < TIMEOUT);
}
