//! Tests that no printed value contains a token, a ticket or a password, not even if a server sends
//! the token back.

use serde_json::json;
use turnbridge_slack::{ApiConnection, Encoding, Post, Token, TokenKind, WebApi};

use crate::support::server::{ScriptedServer, ServerReply};
use crate::{SECRET, api, bot_token};

#[track_caller]
fn assert_silent(text: &str) {
    for secret in ["veryverysecret", "what was said", "TICKET", "pass%20word"] {
        assert!(!text.contains(secret), "{text}");
    }
}

#[test]
fn no_error_repeats_the_token() {
    let echo = |error: &str| {
        let messages = json!({"messages": [format!("[ERROR] {SECRET}")]});
        let body = json!({"ok": false, "error": error, "needed": SECRET, "provided": SECRET, "response_metadata": messages});
        ServerReply::json(&body.to_string())
    };
    let server = ScriptedServer::playing([
        echo(SECRET),
        echo("invalid_auth"),
        echo("internal_error"),
        ServerReply::with(500, "", SECRET),
        ServerReply::with(429, &format!("Retry-After: {SECRET}\r\n"), SECRET),
        ServerReply::Raw(format!("HTTP/1.1 {SECRET}\r\n\r\n")),
        ServerReply::Raw(format!("{SECRET}\r\n\r\n")),
        ServerReply::Raw(format!("HTTP/1.1 200 OK\r\n{SECRET}\r\n\r\n")),
        ServerReply::CloseAfterReading,
        ServerReply::ResetBeforeReading,
    ]);
    let api = api(&server.url());
    let post = Post {
        channel: "D1",
        thread_ts: None,
        text: "what was said",
        markdown: Some("what was said"),
        id: "a",
        machine: None,
    };
    assert_silent(&format!("{post:?}"));
    for _ in 0..10 {
        let error = api.post_message(&bot_token(), &post).unwrap_err();
        assert_silent(&format!("{error} {error:?} {error:#?} {:?}", error.hint()));
    }
    assert_eq!(server.requests().len(), 9);
    for request in server.requests() {
        assert_eq!(request.matches(SECRET).count(), 1, "in the one header");
    }
    assert_silent(&format!("{api:?} {api:#?} {:?}", bot_token()));
}

#[test]
fn the_client_does_not_print_whom_it_knows() {
    let server = ScriptedServer::playing([ServerReply::json(r#"{"ok":true,"user_id":"U1"}"#)]);
    let api = api(&server.url());
    api.auth_test(&bot_token()).unwrap();
    assert_silent(&format!("{api:?}"));
}

#[test]
fn a_ticket_and_a_password_are_not_printed() {
    let body = r#"{"ok":true,"url":"wss://slack.example/?ticket=TICKET"}"#;
    let server = ScriptedServer::playing([ServerReply::json(body)]);
    let token = Token::parse(TokenKind::App, "xapp-1-veryverysecret").unwrap();
    assert_silent(&format!("{:?}", api(&server.url()).open_socket(&token).unwrap()));
    let api_url = Some("https://me:pass%20word@slack.example/".to_owned());
    let error = WebApi::new(ApiConnection { api_url, ..ApiConnection::default() }).unwrap_err();
    assert_silent(&format!("{error} {error:?}"));
}

#[test]
fn a_method_or_an_argument_of_the_wrong_shape_is_not_repeated() {
    let api = api("http://127.0.0.1:1/");
    for (method, arguments) in [(SECRET, json!({})), ("api.test", json!([SECRET]))] {
        let error = api.call(&bot_token(), method, arguments, Encoding::Form).unwrap_err();
        assert_silent(&format!("{error} {error:?}"));
    }
}
