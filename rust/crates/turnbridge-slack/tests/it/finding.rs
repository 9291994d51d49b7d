//! Tests that a message whose answer was lost is found, and counts as absent only if everything
//! could be read.

use serde_json::{Value, json};
use turnbridge_slack::CallError;

use crate::support::server::{ScriptedServer, ServerReply};
use crate::{api, bot_token};

fn identity() -> ServerReply {
    ServerReply::json(r#"{"ok":true,"user_id":"U1","bot_id":"B1"}"#)
}

fn message(ts: &str, bot: &str, id: &str) -> Value {
    let metadata = json!({"event_type": "turnbridge_message", "event_payload": {"id": id}});
    json!({"type": "message", "ts": ts, "bot_id": bot, "text": "x", "metadata": metadata})
}

fn page(messages: &[Value], cursor: &str) -> ServerReply {
    let metadata = json!({"next_cursor": cursor});
    ServerReply::json(
        &json!({"ok": true, "messages": messages, "response_metadata": metadata}).to_string(),
    )
}

fn line_and_body(request: &str) -> String {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    format!("{} {body}", head.lines().next().unwrap())
}

#[test]
fn a_part_is_found_in_its_thread_on_a_later_page() {
    let plain = json!({"type": "message", "ts": "1.000100", "user": "U9", "text": "b"});
    let server = ScriptedServer::playing([
        identity(),
        page(&[plain, message("1.000200", "B1", "a"), message("1.000250", "B9", "b")], "next="),
        page(&[message("1.000300", "B1", "b")], ""),
    ]);
    let found = api(&server.url())
        .find_message(&bot_token(), "D1", Some("1.000100"), Some("1.000150"), "b")
        .unwrap();
    assert_eq!(found.as_deref(), Some("1.000300"));
    let requests = server.requests();
    insta::assert_snapshot!(line_and_body(&requests[1]), @"POST /api/conversations.replies HTTP/1.1 channel=D1&include_all_metadata=true&inclusive=true&limit=200&oldest=1.000150&ts=1.000100");
    insta::assert_snapshot!(line_and_body(&requests[2]), @"POST /api/conversations.replies HTTP/1.1 channel=D1&cursor=next%3D&include_all_metadata=true&inclusive=true&limit=200&oldest=1.000150&ts=1.000100");
}

#[test]
fn a_parent_is_found_in_the_history_and_the_identity_is_asked_for_once() {
    let server = ScriptedServer::playing([
        identity(),
        page(&[message("1.2", "B1", "b")], ""),
        page(&[], ""),
    ]);
    let api = api(&server.url());
    let found = api.find_message(&bot_token(), "D1", None, None, "b").unwrap();
    assert_eq!(found.as_deref(), Some("1.2"));
    assert_eq!(api.find_message(&bot_token(), "D1", None, None, "b").unwrap(), None);
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    insta::assert_snapshot!(line_and_body(&requests[1]), @"POST /api/conversations.history HTTP/1.1 channel=D1&include_all_metadata=true&inclusive=true&limit=200");
}

#[test]
fn what_could_not_be_read_is_not_taken_for_absent() {
    let server = ScriptedServer::playing([
        identity(),
        ServerReply::json(r#"{"ok":true}"#),
        page(&[], "same"),
        page(&[], "same"),
        page(&[], "next"),
        ServerReply::with(429, "Retry-After: 2\r\n", ""),
    ]);
    let api = api(&server.url());
    let error = || api.find_message(&bot_token(), "D1", None, None, "b").unwrap_err();
    insta::assert_snapshot!(error(), @"Slack gave no clear answer: the message could not be looked for: no `messages`");
    insta::assert_snapshot!(error(), @"Slack gave no clear answer: the message could not be looked for: the same page again");
    assert!(matches!(error(), CallError::RateLimited { .. }));
}

#[test]
fn the_newest_message_of_a_channel_says_what_time_it_is_in_slack() {
    let server = ScriptedServer::playing([
        page(&[message("17.000300", "B1", "a")], ""),
        page(&[], ""),
        page(&[json!({"ts": "yesterday"})], ""),
    ]);
    let api = api(&server.url());
    let latest = || api.latest_ts(&bot_token(), "D1");
    assert_eq!(latest().unwrap().as_deref(), Some("17.000300"));
    assert_eq!(latest().unwrap(), None);
    assert!(matches!(latest().unwrap_err(), CallError::Ambiguous { .. }));
    assert!(matches!(api.latest_ts(&bot_token(), "U1"), Err(CallError::Invalid { .. })));
    let request = line_and_body(&server.requests()[0]);
    insta::assert_snapshot!(request, @"POST /api/conversations.history HTTP/1.1 channel=D1&limit=1");
}
