//! Tests Socket Mode against the loopback Slack: every message arrives, whatever happens to the
//! sockets. Other modules use its client too.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::slack::{Cut, EnvelopeShape, FaultMoment, Greeting, SlackFault, SocketState};
use testkit::{SlackApi, SlackSetup, wait_until};
use turnbridge_slack::{
    Accept, Envelope, SocketEvent, SocketLoss, SocketMode, SocketWarning, Timing, Token, TokenKind,
};

use crate::{api, app_token};

pub const TIMEOUT: Duration = Duration::from_secs(30);

/// An envelope as the callback got it.
#[derive(Clone, Debug)]
pub struct HandledEnvelope {
    pub envelope_id: String,
    pub event_id: Option<String>,
    pub kind: String,
    pub retry_attempt: u32,
    pub payload: Value,
}

/// A client with all events that it reported.
pub struct SocketModeClient {
    mode: Option<SocketMode>,
    events: Receiver<SocketEvent>,
    kept: Arc<Mutex<Vec<HandledEnvelope>>>,
}

impl SocketModeClient {
    pub fn start(slack: &SlackApi) -> SocketModeClient {
        SocketModeClient::with(slack, Timing::scaled(10), app_token(), |_| Accept::Kept)
    }

    pub fn with(
        slack: &SlackApi,
        timing: Timing,
        token: Token,
        mut decide: impl FnMut(&Envelope<'_>) -> Accept + Send + 'static,
    ) -> SocketModeClient {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let keep = {
            let kept = Arc::clone(&kept);
            move |envelope: &Envelope<'_>| {
                let accept = decide(envelope);
                kept.lock().unwrap().push(HandledEnvelope {
                    envelope_id: envelope.id.clone(),
                    event_id: envelope.event_id.clone(),
                    kind: envelope.kind.clone(),
                    retry_attempt: envelope.retry_attempt,
                    payload: serde_json::from_str(envelope.payload).unwrap(),
                });
                accept
            }
        };
        let api = Arc::new(api(&slack.base_url()));
        let (mode, events) = SocketMode::start(api, token, timing, keep).unwrap();
        SocketModeClient { mode: Some(mode), events, kept }
    }

    /// Returns the next event for the caller.
    #[track_caller]
    fn next(&self) -> SocketEvent {
        self.events.recv_timeout(TIMEOUT).unwrap()
    }

    #[track_caller]
    fn expect_connected(&self) -> Option<Duration> {
        match self.next() {
            SocketEvent::Connected { gap, .. } => gap,
            other => panic!("{other:?}"),
        }
    }

    pub fn kept(&self) -> Vec<HandledEnvelope> {
        self.kept.lock().unwrap().clone()
    }

    pub fn stop(&mut self) {
        self.mode.take().unwrap().stop();
    }
}

pub fn start() -> SlackApi {
    SlackApi::start(SlackSetup::default())
}

#[track_caller]
pub fn check_clean(slack: &SlackApi) {
    assert_eq!(slack.violations(), Vec::<String>::new());
}

#[test]
fn a_hello_is_told_and_pings_go_both_ways() {
    let slack = start();
    let client = SocketModeClient::start(&slack);
    let app_id = Some("A0LOOPBACK".to_owned());
    assert_eq!(client.next(), SocketEvent::Connected { num_connections: 1, app_id, gap: None });
    wait_until(TIMEOUT, "pings and pongs", || {
        let socket = slack.sockets().pop()?;
        (socket.pings >= 2 && socket.pongs >= 2).then_some(())
    });
    assert_eq!(slack.calls_of("apps.connections.open").len(), 1);
    check_clean(&slack);
}

#[test]
fn an_event_is_handed_over_and_acked() {
    let slack = start();
    let client = SocketModeClient::start(&slack);
    client.expect_connected();
    let root = slack.post_as_user(None, "root");
    let ts = slack.say(Some(&root), "a < b");
    slack.raise_other("interactive", serde_json::json!({"type": "block_actions"}));
    let events = slack.wait_for_all_acked(TIMEOUT);
    assert_eq!((events.len(), events[0].acked_attempt), (1, Some(0)));
    wait_until(TIMEOUT, "two acks", || (slack.acks().len() == 2).then_some(()));
    let kept = client.kept();
    assert_eq!(kept[0].event_id.as_ref(), Some(&events[0].event_id));
    assert_eq!(kept[0].payload["event"]["ts"], ts);
    assert_eq!(kept[0].payload["event"]["text"], "a &lt; b");
    let kinds: Vec<&str> = kept.iter().map(|kept| kept.kind.as_str()).collect();
    assert_eq!(kinds, ["events_api", "interactive"]);
    check_clean(&slack);
}

#[test]
fn what_could_not_be_kept_is_not_acked_and_comes_again() {
    let setup = SlackSetup { ack_within: Duration::from_millis(50), ..SlackSetup::default() };
    let slack = SlackApi::start(setup);
    let mut is_full = true;
    let client = SocketModeClient::with(&slack, Timing::scaled(10), app_token(), move |_| {
        if std::mem::take(&mut is_full) { Accept::NotKept } else { Accept::Kept }
    });
    client.expect_connected();
    slack.say(None, "keep me");
    let events = slack.wait_for_all_acked(TIMEOUT);
    assert_eq!((events[0].acked_attempt, events[0].deliveries), (Some(1), 2));
    let kept = client.kept();
    assert_eq!(kept.iter().map(|kept| kept.retry_attempt).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(kept[0].event_id, kept[1].event_id);
    assert_eq!(slack.acks().len(), 1);
    check_clean(&slack);
}

#[test]
fn the_ack_waits_for_the_keeping() {
    let slack = start();
    let (entered, is_in) = std::sync::mpsc::channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let client = SocketModeClient::with(&slack, Timing::scaled(10), app_token(), move |_| {
        entered.send(()).unwrap();
        released.recv().unwrap();
        Accept::Kept
    });
    client.expect_connected();
    slack.say(None, "slowly");
    is_in.recv_timeout(TIMEOUT).unwrap();
    assert_eq!(slack.acks().len(), 0);
    release.send(()).unwrap();
    slack.wait_for_all_acked(TIMEOUT);
}

#[test]
fn a_refresh_loses_nothing_and_opens_one_socket() {
    let slack = start();
    let client = SocketModeClient::start(&slack);
    client.expect_connected();
    for reason in ["warning", "refresh_requested"] {
        let before = slack.sockets().len();
        for number in 0..10 {
            slack.say(None, &number.to_string());
            if number == 5 {
                assert_eq!(slack.disconnect(reason), 1);
            }
            thread::sleep(Duration::from_millis(3));
        }
        assert_eq!(client.expect_connected(), Some(Duration::ZERO));
        slack.say(None, "by the new one");
        wait_until(TIMEOUT, "the old socket's end", || {
            (slack.sockets()[before - 1].state == SocketState::Closed).then_some(())
        });
        assert_eq!(slack.sockets().len(), before + 1);
    }
    let events = slack.wait_for_all_acked(TIMEOUT);
    assert!(events.iter().all(|event| event.acked_attempt == Some(0)), "{events:?}");
    check_clean(&slack);
}

#[test]
fn a_socket_that_is_told_twice_has_one_successor() {
    let slack = start();
    slack.greet([Greeting::Hello, Greeting::Late(Duration::from_millis(200))]);
    let client = SocketModeClient::start(&slack);
    client.expect_connected();
    slack.wait_for_sockets(1, TIMEOUT);
    slack.disconnect("warning");
    slack.send_text(r#"{"type":"disconnect","reason":"refresh_requested"}"#);
    // The old socket still works meanwhile.
    slack.say(None, "still here?");
    assert_eq!(slack.wait_for_all_acked(TIMEOUT)[0].acked_attempt, Some(0));
    assert_eq!(client.expect_connected(), Some(Duration::ZERO));
    wait_until(TIMEOUT, "the old socket's end", || {
        (slack.sockets()[0].state == SocketState::Closed).then_some(())
    });
    assert_eq!(slack.sockets().len(), 2);
    check_clean(&slack);
}

#[test]
fn a_socket_that_breaks_is_replaced() {
    for cut in [Cut::Reset, Cut::Fin, Cut::Close(1000), Cut::Close(1011), Cut::HalfOpen] {
        let setup = SlackSetup { ack_within: Duration::from_millis(500), ..SlackSetup::default() };
        let slack = SlackApi::start(setup);
        let client = SocketModeClient::start(&slack);
        client.expect_connected();
        slack.wait_for_sockets(1, TIMEOUT);
        assert_eq!(slack.kill(cut), 1);
        slack.say(None, "into the gap");
        let SocketEvent::Lost { reason } = client.next() else { panic!("{cut:?}") };
        let as_cut = match cut {
            Cut::Reset | Cut::Fin => matches!(reason, SocketLoss::Broken { .. }),
            Cut::Close(code) => reason == SocketLoss::Closed { code: Some(code) },
            Cut::HalfOpen => reason == SocketLoss::Silent,
        };
        assert!(as_cut, "{cut:?}: {reason:?}");
        assert!(client.expect_connected().is_some());
        slack.say(None, "and after it");
        slack.wait_for_all_acked(TIMEOUT);
        assert_eq!(slack.sockets().len(), 2, "{cut:?}");
        check_clean(&slack);
    }
}

#[test]
fn a_slack_that_is_away_for_a_while_is_found_again() {
    let slack = start();
    let client = SocketModeClient::start(&slack);
    client.expect_connected();
    slack.down();
    assert!(matches!(client.next(), SocketEvent::Lost { .. }));
    for _ in 0..3 {
        let event = client.next();
        assert!(matches!(event, SocketEvent::Retrying { .. }), "{event:?}");
    }
    slack.say(None, "is anybody there?");
    slack.up();
    let gap = loop {
        match client.next() {
            SocketEvent::Retrying { .. } => {}
            SocketEvent::Connected { gap, .. } => break gap,
            other => panic!("{other:?}"),
        }
    };
    assert!(gap > Some(Duration::ZERO), "{gap:?}");
    let events = slack.wait_for_all_acked(TIMEOUT);
    assert!(events[0].acked_attempt > Some(0), "{events:?}");
    assert_eq!(client.kept()[0].retry_attempt, events[0].acked_attempt.unwrap());
    check_clean(&slack);
}

#[test]
fn an_envelope_that_comes_twice_is_handed_over_and_acked_twice() {
    let slack = start();
    let client = SocketModeClient::start(&slack);
    client.expect_connected();
    slack.shape([EnvelopeShape::Twice]);
    slack.say(None, "twice");
    wait_until(TIMEOUT, "two acks", || (slack.acks().len() == 2).then_some(()));
    let kept = client.kept();
    assert_eq!(kept[0].envelope_id, kept[1].envelope_id);
    check_clean(&slack);
}

/// No message is unpacked, because the client offers no extension of WebSocket.
#[test]
fn a_message_that_is_larger_than_the_limit_ends_its_socket() {
    let slack = start();
    let client = SocketModeClient::start(&slack);
    client.expect_connected();
    slack.wait_for_sockets(1, TIMEOUT);
    slack.send_text(&" ".repeat((16 << 20) + 1));
    let SocketEvent::Lost { reason: SocketLoss::Broken { cause } } = client.next() else {
        panic!("not broken")
    };
    assert!(cause.starts_with("Space limit exceeded: Message too long"), "{cause}");
    client.expect_connected();
    assert_eq!(client.kept().len(), 0);
}

#[test]
fn junk_big_and_fragmented_messages_are_no_reason_to_reconnect() {
    let slack = start();
    let client = SocketModeClient::start(&slack);
    client.expect_connected();
    slack.wait_for_sockets(1, TIMEOUT);
    for junk in ["not JSON", "[]", r#"{"type":"mystery"}"#, r#"{"type":"#, "\u{0}", "{}"] {
        assert_eq!(slack.send_text(junk), 1);
    }
    slack.send_binary(&[0xff; 300]);
    slack.send_binary(b"{\"envelope_id\":\"no text\"}");
    slack.raise_other("from_the_future", Value::Null);
    let big = "é".repeat(3 << 19);
    slack.say(None, &big);
    slack.shape([EnvelopeShape::Whole, EnvelopeShape::Whole, EnvelopeShape::Fragments(7)]);
    slack.say(None, "日本語");
    slack.wait_for_all_acked(TIMEOUT);
    let kept = client.kept();
    let texts: Vec<&str> =
        kept.iter().filter_map(|kept| kept.payload["event"]["text"].as_str()).collect();
    assert_eq!(texts, [big.as_str(), "日本語"]);
    assert_eq!((kept.len(), slack.acks().len(), slack.sockets().len()), (3, 3, 1));
    check_clean(&slack);
}

#[test]
fn a_refused_token_is_told_once_with_a_hint_and_nothing_is_tried_until_asked() {
    let slack = start();
    let wrong = Token::parse(TokenKind::App, "xapp-wrong").unwrap();
    let client = SocketModeClient::with(&slack, Timing::scaled(1_000), wrong, |_| Accept::Kept);
    let SocketEvent::Fatal { error, hint } = client.next() else { panic!() };
    insta::assert_snapshot!(error, @"Slack refused the call (`invalid_auth`)");
    insta::assert_snapshot!(hint.unwrap(), @"copy the token anew from the app's page at api.slack.com/apps: `xoxb-` is under OAuth & Permissions, `xapp-` under Basic Information");
    thread::sleep(Duration::from_millis(200));
    assert_eq!(slack.calls().len(), 1);
    slack.change(|setup| setup.app_token = "xapp-wrong".to_owned());
    client.mode.as_ref().unwrap().retry();
    assert_eq!(client.expect_connected(), None);
    check_clean(&slack);
}

#[test]
fn slacks_wish_to_wait_is_obeyed() {
    let slack = start();
    slack.fail("apps.connections.open", [SlackFault::RateLimited(1)]);
    let client = SocketModeClient::start(&slack);
    let SocketEvent::Retrying { after, error } = client.next() else { panic!() };
    assert!(after >= Duration::from_secs(1), "{after:?}");
    assert_eq!(error.to_string(), "Slack asks to wait 1 s");
    client.expect_connected();
    let calls = slack.calls_of("apps.connections.open");
    // The retry is not earlier than Slack asked for; how much later depends on the machine.
    assert!(calls[1].at.duration_since(calls[0].at).unwrap() >= Duration::from_millis(950));
}

#[test]
fn what_may_pass_by_itself_is_tried_again_for_ever() {
    let slack = start();
    let faults = [
        SlackFault::Status(FaultMoment::Before, 500),
        SlackFault::Status(FaultMoment::Before, 408),
        SlackFault::Html,
        SlackFault::BrokenJson,
        SlackFault::CutBody,
        SlackFault::Reset(FaultMoment::Before),
        SlackFault::Refuse,
        SlackFault::Error(FaultMoment::Before, "internal_error".to_owned()),
        SlackFault::Error(FaultMoment::Before, "team_added_to_org".to_owned()),
        SlackFault::Error(FaultMoment::Before, "something_new".to_owned()),
    ];
    let count = faults.len();
    slack.fail("apps.connections.open", faults);
    let client = SocketModeClient::with(&slack, Timing::scaled(100), app_token(), |_| Accept::Kept);
    for number in 0..count {
        let event = client.next();
        assert!(matches!(event, SocketEvent::Retrying { .. }), "{number}: {event:?}");
    }
    client.expect_connected();
    check_clean(&slack);
}

#[test]
fn a_socket_without_hello_is_a_failure() {
    let slack = start();
    slack.greet([
        Greeting::Never,
        Greeting::End,
        Greeting::Status(503),
        Greeting::Late(Duration::from_millis(50)),
    ]);
    let client = SocketModeClient::start(&slack);
    let errors: Vec<String> = (0..3)
        .map(|_| match client.next() {
            SocketEvent::Retrying { error, .. } => error.to_string(),
            other => panic!("{other:?}"),
        })
        .collect();
    insta::assert_snapshot!(errors.join("\n"), @r"
    Slack could not be reached: Slack accepted the connection and said nothing
    Slack could not be reached: the connection broke: it ended
    Slack could not be reached: it gave no WebSocket: HTTP 503
    ");
    assert_eq!(client.expect_connected(), None);
    assert_eq!(slack.calls_of("apps.connections.open").len(), 4);
    check_clean(&slack);
}

#[test]
fn too_many_sockets_and_a_switched_off_socket_mode_are_told() {
    for (reason, warning) in [
        ("too_many_websockets", SocketWarning::TooManyConnections),
        ("link_disabled", SocketWarning::SocketModeOff),
    ] {
        let slack = start();
        let client =
            SocketModeClient::with(&slack, Timing::scaled(50), app_token(), |_| Accept::Kept);
        client.expect_connected();
        slack.wait_for_sockets(1, TIMEOUT);
        slack.disconnect(reason);
        assert_eq!(client.next(), SocketEvent::Warning(warning));
        assert!(client.expect_connected().is_some());
        let sockets = slack.sockets();
        assert_eq!((sockets.len(), sockets[0].state), (2, SocketState::Closed));
        // It waited, and meanwhile no socket was open.
        assert!(sockets[1].opened_at > sockets[0].ended_at.unwrap());
        check_clean(&slack);
    }
}

#[test]
fn another_program_with_the_same_token_is_warned_of() {
    let slack = start();
    let first = SocketModeClient::start(&slack);
    first.expect_connected();
    let second = SocketModeClient::start(&slack);
    second.expect_connected();
    let warning = SocketWarning::OtherConnections { num_connections: 2, ours: 1 };
    assert_eq!(second.next(), SocketEvent::Warning(warning));
}

#[test]
fn a_stop_closes_the_socket_and_nothing_is_handed_over_after_it() {
    let slack = start();
    let mut client = SocketModeClient::start(&slack);
    client.expect_connected();
    slack.say(None, "before");
    slack.wait_for_all_acked(TIMEOUT);
    client.stop();
    wait_until(TIMEOUT, "a closed socket", || {
        (slack.sockets()[0].state == SocketState::Closed).then_some(())
    });
    slack.say(None, "after");
    thread::sleep(Duration::from_millis(100));
    assert_eq!(client.kept().len(), 1);
    assert_eq!(slack.sockets().len(), 1);
    assert_eq!(client.events.recv(), Err(std::sync::mpsc::RecvError));
    check_clean(&slack);
}

#[test]
fn a_stop_waits_for_nobody() {
    // An answer that never comes, a server that never sends hello, and one that is down.
    for place in ["address", "hello", "back-off"] {
        let slack = start();
        match place {
            "address" => {
                slack.fail("apps.connections.open", [SlackFault::Hang(FaultMoment::Before)])
            }
            "hello" => slack.greet([Greeting::Never]),
            _ => slack.down(),
        }
        let mut client =
            SocketModeClient::with(&slack, Timing::default(), app_token(), |_| Accept::Kept);
        match place {
            "back-off" => {
                for _ in 0..3 {
                    client.next();
                }
            }
            _ => drop(slack.wait_for_calls("apps.connections.open", 1, TIMEOUT)),
        }
        let started = Instant::now();
        client.stop();
        // The timeout of the answer is 30 s, that of hello 10 s.
        assert!(started.elapsed() < Duration::from_secs(8), "{place}: {:?}", started.elapsed());
    }
}
