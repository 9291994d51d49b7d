//! Tests the bytes that each method sends, except for port and version, and the values that it
//! reads from the answer.

use serde_json::json;
use turnbridge_slack::{Encoding, Post, Token, TokenKind};

use crate::support::server::{ScriptedServer, ServerReply};
use crate::{api, bot_token};

fn sent(server: &ScriptedServer) -> String {
    let request = server.requests().concat();
    request
        .replace(&server.port.to_string(), "PORT")
        .replace(concat!("turnbridge/", env!("CARGO_PKG_VERSION")), "turnbridge/VERSION")
        .replace('\r', "")
}

#[test]
fn a_message_is_json_with_blocks_metadata_and_no_unfurling() {
    let server = ScriptedServer::playing([ServerReply::json(
        r#"{"ok":true,"channel":"D1","ts":"1.000200","warning":"message_truncated"}"#,
    )]);
    let post = Post {
        channel: "D1",
        thread_ts: Some("1.000100"),
        text: "a &lt; b",
        markdown: Some("**a** < b \u{1f600}"),
        id: "turn-1/2",
        machine: None,
    };
    let posted = api(&server.url()).post_message(&bot_token(), &post).unwrap();
    assert_eq!(posted.ts, "1.000200");
    assert_eq!(posted.warning.as_deref(), Some("message_truncated"));
    insta::assert_snapshot!(sent(&server), @r#"
    POST /api/chat.postMessage HTTP/1.1
    accept-encoding: gzip
    content-length: 235
    user-agent: turnbridge/VERSION
    accept: application/json
    host: 127.0.0.1:PORT
    authorization: Bearer xoxb-12-veryverysecret
    content-type: application/json; charset=utf-8

    {"blocks":[{"text":"**a** < b 😀","type":"markdown"}],"channel":"D1","metadata":{"event_payload":{"id":"turn-1/2"},"event_type":"turnbridge_message"},"text":"a &lt; b","thread_ts":"1.000100","unfurl_links":false,"unfurl_media":false}
    "#);
}

#[test]
fn a_parent_without_markdown_is_text_alone() {
    let server = ScriptedServer::playing([ServerReply::json(r#"{"ok":true,"ts":"1.000200"}"#)]);
    let post = Post {
        channel: "D1",
        thread_ts: None,
        text: "hello",
        markdown: None,
        id: "a",
        machine: None,
    };
    api(&server.url()).post_message(&bot_token(), &post).unwrap();
    let request = sent(&server);
    insta::assert_snapshot!(request.split_once("\n\n").unwrap().1, @r#"{"channel":"D1","metadata":{"event_payload":{"id":"a"},"event_type":"turnbridge_message"},"text":"hello","unfurl_links":false,"unfurl_media":false}"#);
}

#[test]
fn a_direct_message_is_opened_with_a_form() {
    let server =
        ScriptedServer::playing([ServerReply::json(r#"{"ok":true,"channel":{"id":"D024BE91L"}}"#)]);
    assert_eq!(api(&server.url()).open_dm(&bot_token(), "W1").unwrap(), "D024BE91L");
    insta::assert_snapshot!(sent(&server), @r"
    POST /api/conversations.open HTTP/1.1
    accept-encoding: gzip
    content-length: 8
    user-agent: turnbridge/VERSION
    accept: application/json
    host: 127.0.0.1:PORT
    authorization: Bearer xoxb-12-veryverysecret
    content-type: application/x-www-form-urlencoded

    users=W1
    ");
}

#[test]
fn a_socket_is_asked_for_with_an_empty_body() {
    let url = "wss://wss-primary.slack.com/link/?ticket=1&app_id=A1";
    let server =
        ScriptedServer::playing([ServerReply::json(&json!({"ok": true, "url": url}).to_string())]);
    let token = Token::parse(TokenKind::App, "xapp-1-a").unwrap();
    assert_eq!(api(&server.url()).open_socket(&token).unwrap().expose(), url);
    insta::assert_snapshot!(sent(&server), @r"
    POST /api/apps.connections.open HTTP/1.1
    accept-encoding: gzip
    content-length: 0
    user-agent: turnbridge/VERSION
    accept: application/json
    host: 127.0.0.1:PORT
    authorization: Bearer xapp-1-a
    content-type: application/x-www-form-urlencoded
    ");
}

#[test]
fn a_socket_that_is_not_encrypted_is_not_taken() {
    let body = r#"{"ok":true,"url":"ws://slack.example/link"}"#;
    let server = ScriptedServer::playing([ServerReply::json(body)]);
    let error = api(&server.url()).open_socket(&bot_token()).unwrap_err();
    insta::assert_snapshot!(error, @"Slack gave no clear answer: it says `ok`, but its `url` is no `wss://` address");
}

#[test]
fn an_identity_is_what_the_token_has() {
    let server = ScriptedServer::playing([
        ServerReply::json(
            r#"{"ok":true,"url":"https://w.slack.com/","team":"W","user":"bot","team_id":"T1","user_id":"U1","bot_id":"B1"}"#,
        ),
        ServerReply::json(r#"{"ok":true,"app_name":"Turnbridge","app_id":"A1"}"#),
    ]);
    let api = api(&server.url());
    insta::assert_compact_debug_snapshot!(api.auth_test(&bot_token()).unwrap(), @r#"TokenIdentity { user_id: Some("U1"), user: Some("bot"), bot_id: Some("B1"), team_id: Some("T1"), team: Some("W"), enterprise_id: None, url: Some("https://w.slack.com/"), app_id: None, app_name: None, scopes: None }"#);
    insta::assert_compact_debug_snapshot!(api.auth_test(&bot_token()).unwrap(), @r#"TokenIdentity { user_id: None, user: None, bot_id: None, team_id: None, team: None, enterprise_id: None, url: None, app_id: Some("A1"), app_name: Some("Turnbridge"), scopes: None }"#);
}

#[test]
fn the_scopes_of_a_token_come_in_a_header_and_nothing_else_passes_for_one() {
    let header = |value: &str| format!("X-OAuth-Scopes: {value}\r\n");
    let server = ScriptedServer::playing(
        ["chat:write, im:write,im:history", "", "xoxb-1-a,chat:write,<b>"]
            .map(|scopes| ServerReply::with(200, &header(scopes), r#"{"ok":true}"#)),
    );
    let api = api(&server.url());
    let scopes = || api.auth_test(&bot_token()).unwrap().scopes.unwrap().join(" ");
    assert_eq!(scopes(), "chat:write im:write im:history");
    assert_eq!(scopes(), "");
    assert_eq!(scopes(), "chat:write");
}

#[test]
fn a_path_and_a_missing_slash_are_kept_and_added() {
    let server = ScriptedServer::playing([ServerReply::json(r#"{"ok":true}"#)]);
    let url = format!("http://localhost:{}/a/b", server.port);
    api(&url).call(&bot_token(), "api.test", json!({"x": [1]}), Encoding::Form).unwrap();
    let request = sent(&server);
    assert_eq!(request.lines().next(), Some("POST /a/b/api.test HTTP/1.1"));
    assert!(request.ends_with("\n\nx=%5B1%5D"), "{request}");
}

#[test]
fn a_large_message_arrives_whole() {
    let server = ScriptedServer::playing([ServerReply::json(r#"{"ok":true,"ts":"1.2"}"#)]);
    let text = "line\n".repeat(20_000);
    let post = Post {
        channel: "D1",
        thread_ts: None,
        text: &text,
        markdown: None,
        id: "a",
        machine: None,
    };
    api(&server.url()).post_message(&bot_token(), &post).unwrap();
    assert!(server.requests()[0].contains(&text.replace('\n', "\\n")));
}
