//! Tests Socket Mode of the loopback Slack with a WebSocket client: events, acks, retries,
//! refreshes, broken sockets and violations.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::slack::{Cut, EnvelopeShape, Greeting, SlackFault, SocketState};
use testkit::{SlackApi, SlackSetup, wait_until};
use tungstenite::{Message, WebSocket};

use crate::support::slack_client::{APP, SlackRequest, address};

const TIMEOUT: Duration = Duration::from_secs(20);

struct SocketClient(WebSocket<TcpStream>);

impl SocketClient {
    /// Connects, without reading `hello`.
    fn connect(api: &SlackApi) -> SocketClient {
        SocketClient::with_url(api, &open(api)).unwrap()
    }

    fn with_url(api: &SlackApi, url: &str) -> Result<SocketClient, String> {
        let stream = TcpStream::connect(address(api)).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        match tungstenite::client(url, stream) {
            Ok((web_socket, _)) => Ok(SocketClient(web_socket)),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Reads the next text, and answers pings meanwhile.
    fn read(&mut self) -> Result<Value, tungstenite::Error> {
        loop {
            match self.0.read()? {
                Message::Text(text) => return Ok(serde_json::from_str(&text).unwrap()),
                Message::Close(_) => return Err(tungstenite::Error::ConnectionClosed),
                _ => {}
            }
        }
    }

    fn next(&mut self) -> Value {
        self.read().unwrap()
    }

    fn send(&mut self, value: &Value) {
        self.0.send(Message::text(value.to_string())).unwrap();
    }

    fn ack(&mut self, envelope: &Value) {
        self.send(&json!({"envelope_id": envelope["envelope_id"]}));
    }
}

fn open(api: &SlackApi) -> String {
    let answer = SlackRequest::form("apps.connections.open", &[]).with_token(APP).answer(api);
    answer["url"].as_str().unwrap().to_owned()
}

fn start() -> SlackApi {
    SlackApi::start(SlackSetup::default())
}

#[test]
fn a_socket_says_hello_and_carries_an_event_until_its_ack() {
    let api = start();
    let mut client = SocketClient::connect(&api);
    let hello = client.next();
    assert_eq!(hello["type"], "hello");
    assert_eq!(hello["num_connections"], 1);
    assert_eq!(hello["connection_info"]["app_id"], "A0LOOPBACK");
    assert!(hello["debug_info"]["approximate_connection_time"].is_number());

    let root = api.post_as_user(None, "root");
    let ts = api.say(Some(&root), "a < b");
    let envelope = client.next();
    assert_eq!(envelope["type"], "events_api");
    assert_eq!(envelope["accepts_response_payload"], false);
    assert_eq!(envelope["retry_attempt"], 0);
    let payload = &envelope["payload"];
    for (name, wanted) in [
        ("type", json!("event_callback")),
        ("team_id", json!("T0LOOPBACK")),
        ("api_app_id", json!("A0LOOPBACK")),
        ("is_ext_shared_channel", json!(false)),
    ] {
        assert_eq!(payload[name], wanted, "{name}");
    }
    let event = &payload["event"];
    for (name, wanted) in [
        ("type", "message"),
        ("user", "U0OWNER"),
        ("ts", &ts),
        ("thread_ts", &root),
        ("parent_user_id", "U0OWNER"),
        ("text", "a &lt; b"),
        ("team", "T0LOOPBACK"),
        ("channel", &api.direct_message()),
        ("event_ts", &ts),
        ("channel_type", "im"),
    ] {
        assert_eq!(event[name], wanted, "{name}");
    }
    assert_eq!(event["blocks"][0]["type"], "rich_text");
    assert_eq!(event["bot_id"], Value::Null);

    client.ack(&envelope);
    let events = api.wait_for_all_acked(TIMEOUT);
    assert_eq!(events.len(), 1);
    assert_eq!((events[0].acked_attempt, events[0].deliveries), (Some(0), 1));
    assert_eq!(api.acks()[0].event_id, payload["event_id"]);
    assert_eq!(api.messages(&api.direct_message()).len(), 2);
    assert_eq!(api.violations(), Vec::<String>::new());
}

#[test]
fn a_ticket_is_good_for_one_socket() {
    let api = start();
    let url = open(&api);
    assert!(SocketClient::with_url(&api, &url).is_ok());
    assert_eq!(SocketClient::with_url(&api, &url).err().unwrap(), "HTTP error: 401 Unauthorized");
    assert_eq!(api.violations(), ["came with a ticket that was used or never given"]);
}

#[test]
fn each_event_goes_to_one_of_the_sockets() {
    // No event is delivered again while a busy machine takes its time.
    let api = SlackApi::start(SlackSetup { ack_within: TIMEOUT, ..SlackSetup::default() });
    let mut first = SocketClient::connect(&api);
    // A client is connected before its socket has its number.
    api.wait_for_sockets(1, TIMEOUT);
    let mut second = SocketClient::connect(&api);
    let counts = [&mut first, &mut second].map(|client| client.next()["num_connections"].clone());
    assert_eq!(counts, [json!(1), json!(2)]);
    api.wait_for_sockets(2, TIMEOUT);
    for number in 0..20 {
        api.say(None, &number.to_string());
    }
    wait_until(TIMEOUT, "20 deliveries", || (api.deliveries().len() == 20).then_some(()));
    let shares = api.sockets().iter().map(|socket| socket.envelopes).collect::<Vec<_>>();
    assert_eq!(shares.iter().sum::<usize>(), 20);
    assert!(shares.iter().all(|share| *share > 0), "{shares:?}");
    let ids = api.sockets().iter().map(|socket| socket.id).collect::<Vec<_>>();
    for (client, share) in [(&mut first, shares[0]), (&mut second, shares[1])] {
        for _ in 0..share {
            let envelope = client.next();
            client.ack(&envelope);
        }
    }
    api.wait_for_all_acked(TIMEOUT);
    assert_eq!(ids, [1, 2]);
    assert_eq!(api.violations(), Vec::<String>::new());
}

#[test]
fn what_nobody_heard_comes_as_a_retry() {
    let api = start();
    api.say(None, "into the void");
    // The first attempt found no socket.
    wait_until(TIMEOUT, "the first attempt", || (!api.deliveries().is_empty()).then_some(()));
    let mut client = SocketClient::connect(&api);
    assert_eq!(client.next()["type"], "hello");
    let envelope = client.next();
    assert_eq!(envelope["payload"]["event"]["text"], "into the void");
    assert!(envelope["retry_attempt"].as_u64() > Some(0), "{envelope}");
    assert_eq!(envelope["retry_reason"], "timeout");
    client.ack(&envelope);
    api.wait_for_all_acked(TIMEOUT);
}

#[test]
fn what_is_not_acked_comes_again() {
    let ack_within = Duration::from_millis(50);
    let api = SlackApi::start(SlackSetup { ack_within, ..SlackSetup::default() });
    let mut client = SocketClient::connect(&api);
    client.next();
    api.say(None, "hello?");
    let first = client.next();
    let second = client.next();
    assert_eq!(second["retry_attempt"], 1);
    assert_eq!(second["payload"], first["payload"]);
    client.ack(&second);
    assert_eq!(api.wait_for_all_acked(TIMEOUT)[0].acked_attempt, Some(1));
}

#[test]
fn what_the_app_says_itself_it_hears_too() {
    let api = start();
    let channel = api.direct_message();
    let mut client = SocketClient::connect(&api);
    client.next();
    let post = json!({"channel": channel, "text": "by the bot"});
    let posted = SlackRequest::json("chat.postMessage", &post).answer(&api);
    let event = client.next()["payload"]["event"].clone();
    assert_eq!((&event["text"], &event["bot_id"]), (&json!("by the bot"), &json!("B0BOT")));
    let update = json!({"channel": channel, "ts": posted["ts"], "text": "changed"});
    SlackRequest::json("chat.update", &update).answer(&api);
    let event = client.next()["payload"]["event"].clone();
    assert_eq!(event["subtype"], "message_changed");
    assert_eq!((&event["message"]["text"], &event["text"]), (&json!("changed"), &Value::Null));
}

#[test]
fn people_edit_delete_and_send_files_and_other_bots_talk() {
    let api = start();
    let mut client = SocketClient::connect(&api);
    client.next();
    let ts = api.say(None, "frist");
    api.edit(&ts, "first");
    api.say_with_file(Some(&ts), "", "plan.txt");
    api.broadcast_reply(&ts, "to all");
    api.say_as_bot("B0OTHER", None, "beep");
    api.say_as("U0STRANGER", None, "who are you?");
    api.delete(&ts);
    api.raise(json!({"type": "app_home_opened", "user": "U0OWNER"}));
    let seen: Vec<String> = (0..8)
        .map(|_| {
            let event = client.next()["payload"]["event"].clone();
            let text = |name: &str| event[name].as_str().unwrap_or("-").to_owned();
            let names = ["type", "subtype", "user", "bot_id", "text"];
            names.map(text).join(" ")
        })
        .collect();
    assert_eq!(
        seen,
        [
            "message - U0OWNER - frist",
            "message message_changed - - -",
            "message file_share U0OWNER - ",
            "message thread_broadcast U0OWNER - to all",
            "message - U0OWNER B0OTHER beep",
            "message - U0STRANGER - who are you?",
            "message message_deleted - - -",
            "app_home_opened - U0OWNER - -",
        ]
    );
}

#[test]
fn a_click_is_not_retried_and_a_command_takes_an_answer() {
    let ack_within = Duration::from_millis(20);
    let api = SlackApi::start(SlackSetup { ack_within, ..SlackSetup::default() });
    let mut client = SocketClient::connect(&api);
    client.next();
    api.raise_other("interactive", json!({"type": "block_actions"}));
    let click = client.next();
    assert_eq!((&click["type"], &click["retry_attempt"]), (&json!("interactive"), &Value::Null));
    api.raise_other("slash_commands", json!({"command": "/x"}));
    let command = client.next();
    assert_eq!(command["accepts_response_payload"], true);
    let answer = json!({"envelope_id": command["envelope_id"], "payload": {"text": "done"}});
    client.send(&answer);
    client.send(&json!({"envelope_id": click["envelope_id"], "payload": {"text": "no"}}));
    wait_until(TIMEOUT, "the answers", || (api.sockets()[0].acks == 2).then_some(()));
    assert_eq!(api.violations(), ["socket 1: answered an envelope that takes no answer"]);
    assert_eq!(api.deliveries().len(), 2);
}

#[test]
fn a_refresh_is_told_and_events_go_on_over_the_old_socket_until_there_is_a_new_one() {
    let disconnect_grace = Duration::from_millis(300);
    let api = SlackApi::start(SlackSetup { disconnect_grace, ..SlackSetup::default() });
    let mut old = SocketClient::connect(&api);
    old.next();
    api.wait_for_sockets(1, TIMEOUT);
    assert_eq!(api.refresh(), 1);
    let told = old.next();
    assert_eq!(
        (&told["type"], &told["reason"]),
        (&json!("disconnect"), &json!("refresh_requested"))
    );
    api.say(None, "one");
    let envelope = old.next();
    old.ack(&envelope);
    let mut new = SocketClient::connect(&api);
    assert_eq!(new.next()["type"], "hello");
    api.wait_for_sockets(1, TIMEOUT);
    api.say(None, "two");
    let envelope = new.next();
    assert_eq!(envelope["payload"]["event"]["text"], "two");
    new.ack(&envelope);
    assert!(old.read().is_err());
    api.wait_for_all_acked(TIMEOUT);
    wait_until(TIMEOUT, "the old one's end", || {
        (api.sockets()[0].state == SocketState::Cut).then_some(())
    });
    assert_eq!(api.violations(), Vec::<String>::new());
}

#[test]
fn every_cut_looks_as_it_should() {
    for cut in [Cut::Reset, Cut::Fin, Cut::Close(1011)] {
        let api = start();
        let mut client = SocketClient::connect(&api);
        client.next();
        assert_eq!(api.kill(cut), 1);
        let seen = match (cut, client.0.read()) {
            (Cut::Reset, Err(tungstenite::Error::Io(error))) => {
                error.kind() == io::ErrorKind::ConnectionReset
            }
            (Cut::Fin, Err(tungstenite::Error::Protocol(_))) => true,
            (Cut::Close(code), Ok(Message::Close(Some(frame)))) => u16::from(frame.code) == code,
            (_, other) => panic!("{cut:?}: {other:?}"),
        };
        assert!(seen, "{cut:?}");
        assert_eq!(api.sockets()[0].state, SocketState::Cut);
        drop(client);
        api.wait_for_sockets(0, TIMEOUT);
        assert_eq!(api.violations(), Vec::<String>::new());
    }
}

#[test]
fn a_half_open_socket_is_silent_and_counted_as_open() {
    let setup = SlackSetup { ack_within: Duration::from_millis(50), ..SlackSetup::default() };
    let api = SlackApi::start(setup);
    let mut deaf = SocketClient::connect(&api);
    deaf.next();
    api.kill(Cut::HalfOpen);
    deaf.0.get_ref().set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let _ = deaf.0.send(Message::Ping("are you there?".into()));
    api.say(None, "anyone?");
    let error = deaf.read().unwrap_err();
    assert!(matches!(error, tungstenite::Error::Io(_)), "{error}");
    let mut other = SocketClient::connect(&api);
    assert_eq!(other.next()["num_connections"], 2);
    assert!(other.next()["retry_attempt"].as_u64() > Some(0));
    assert_eq!(api.sockets()[0].state, SocketState::HalfOpen);
}

#[test]
fn a_socket_may_begin_badly() {
    let api = start();
    api.greet([
        Greeting::Late(Duration::from_millis(20)),
        Greeting::Never,
        Greeting::End,
        Greeting::Status(503),
    ]);
    assert_eq!(SocketClient::connect(&api).next()["type"], "hello");
    let mut silent = SocketClient::connect(&api);
    silent.0.get_ref().set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    assert!(silent.read().is_err());
    assert!(SocketClient::connect(&api).read().is_err());
    let error = SocketClient::with_url(&api, &open(&api)).err().unwrap();
    assert_eq!(error, "HTTP error: 503 Service Unavailable");
    api.fail("apps.connections.open", [SlackFault::RateLimited(30)]);
    let refused = SlackRequest::form("apps.connections.open", &[]).with_token(APP).send(&api);
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("30")));
}

#[test]
fn the_eleventh_socket_is_one_too_many() {
    let api = start();
    let mut clients: Vec<SocketClient> = (0..10).map(|_| SocketClient::connect(&api)).collect();
    for client in &mut clients {
        assert_eq!(client.next()["type"], "hello");
    }
    let mut last = SocketClient::connect(&api);
    assert_eq!(last.next()["reason"], "too_many_websockets");
    assert!(last.read().is_err());
}

#[test]
fn envelopes_come_in_fragments_or_twice_and_junk_between_them() {
    let api = start();
    let mut client = SocketClient::connect(&api);
    client.next();
    api.shape([EnvelopeShape::Fragments(5), EnvelopeShape::Twice]);
    api.say(None, "日本語");
    let envelope = client.next();
    assert_eq!(envelope["payload"]["event"]["text"], "日本語");
    client.ack(&envelope);
    api.say(None, "again and again");
    let (first, second) = (client.next(), client.next());
    assert_eq!(first, second);
    client.ack(&first);
    client.ack(&second);
    api.wait_for_all_acked(TIMEOUT);
    api.wait_for_sockets(1, TIMEOUT);
    assert_eq!(api.send_text("not JSON"), 1);
    assert_eq!(api.send_binary(&[0, 1]), 1);
    let mut junk = Vec::new();
    while junk.len() < 2 {
        match client.0.read().unwrap() {
            Message::Ping(_) | Message::Pong(_) => {}
            other => junk.push(other),
        }
    }
    assert_eq!(junk, [Message::text("not JSON"), Message::binary(vec![0, 1])]);
    assert_eq!(api.violations(), Vec::<String>::new());
}

#[test]
fn what_a_client_must_not_do_is_written_down() {
    let setup = SlackSetup {
        ping_every: Duration::from_millis(20),
        pong_within: Duration::from_millis(60),
        ..SlackSetup::default()
    };
    let api = SlackApi::start(setup);
    let mut client = SocketClient::connect(&api);
    client.next();
    api.say(None, "x");
    let envelope = client.next();
    client.ack(&envelope);
    client.ack(&envelope);
    client.send(&json!({"envelope_id": "nobody's"}));
    client.send(&json!({}));
    client.0.send(Message::text("no JSON")).unwrap();
    client.0.send(Message::binary(vec![1])).unwrap();
    let wanted = [
        "socket 1: acked an envelope again",
        "socket 1: acked an envelope that nobody sent",
        "socket 1: sent a text without an envelope id",
        "socket 1: sent a text that is no JSON",
        "socket 1: sent a binary message",
        // The client no longer reads, so it sends no pong.
        "socket 1: answered no ping",
    ];
    let seen = wait_until(TIMEOUT, "six violations", || {
        Some(api.violations()).filter(|violations| violations.len() >= 6)
    });
    for problem in wanted {
        assert!(seen.iter().any(|seen| seen == problem), "{problem}: {seen:?}");
    }
}

#[test]
fn a_frame_without_a_mask_is_a_violation() {
    let api = start();
    let mut client = SocketClient::connect(&api);
    client.next();
    client.0.get_mut().write_all(&[0x81, 2, b'h', b'i']).unwrap();
    let seen = wait_until(TIMEOUT, "the violation", || api.violations().pop());
    assert_eq!(seen, "socket 1: Received an unmasked frame from client");
    let mut rest = Vec::new();
    let _ = client.0.get_mut().read_to_end(&mut rest);
}
