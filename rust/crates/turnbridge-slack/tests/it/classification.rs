//! Tests the error of each way in which a call fails: whether it means that Slack can have acted.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use turnbridge_slack::{ApiConnection, CallError, ConnectObstacle, ConnectionError, Post, WebApi};

use crate::support::server::{ScriptedServer, ServerReply};
use crate::{api, auth_test, bot_token, impatient_api};

const POST: Post<'_> = Post {
    channel: "D1",
    thread_ts: None,
    text: "hello",
    markdown: None,
    id: "id-1",
    machine: None,
};

fn post_error(reply: ServerReply) -> CallError {
    let server = ScriptedServer::playing([reply]);
    impatient_api(&server.url(), Duration::from_secs(5))
        .post_message(&bot_token(), &POST)
        .unwrap_err()
}

#[track_caller]
fn assert_ambiguous(error: CallError) {
    assert!(matches!(error, CallError::Ambiguous { .. }), "{error:?}");
    assert!(!error.is_permanent());
}

#[test]
fn a_refused_connection_has_sent_nothing() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error = auth_test(&format!("http://127.0.0.1:{port}/")).unwrap_err();
    let CallError::NotSent { cause: ConnectObstacle::Connection(_) } = &error else {
        panic!("{error:?}")
    };
    assert!(error.to_string().starts_with("Slack could not be reached: "), "{error}");
    assert!(!error.is_permanent());
}

#[test]
fn a_reset_once_bytes_have_left_is_ambiguous() {
    assert_ambiguous(post_error(ServerReply::ResetBeforeReading));
    assert_ambiguous(post_error(ServerReply::ResetAfterReading));
}

#[test]
fn a_close_without_an_answer_is_ambiguous() {
    let error = post_error(ServerReply::CloseAfterReading);
    insta::assert_snapshot!(error, @"Slack gave no clear answer: Peer disconnected");
    assert_ambiguous(error);
}

#[test]
fn an_answer_that_breaks_off_is_ambiguous() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n";
    assert_ambiguous(post_error(ServerReply::RawThenClose(head.to_owned())));
    let error = post_error(ServerReply::RawThenClose(format!("{head}\r\n{{\"ok\":true")));
    insta::assert_snapshot!(error, @"Slack gave no clear answer: the answer broke off: Peer disconnected");
    // Without a length only the JSON shows the end.
    let unframed = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"ok\":true";
    assert_ambiguous(post_error(ServerReply::RawThenClose(unframed.to_owned())));
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n{\"ok\":true}\r\n";
    assert_ambiguous(post_error(ServerReply::RawThenClose(chunked.to_owned())));
    let gzip = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd";
    assert_ambiguous(post_error(ServerReply::Raw(gzip.to_owned())));
}

#[test]
fn an_answer_that_is_not_slacks_is_ambiguous() {
    assert_ambiguous(post_error(ServerReply::with(200, "", "<html>log in</html>")));
    assert_ambiguous(post_error(ServerReply::with(500, "", "")));
    assert_ambiguous(post_error(ServerReply::with(503, "Retry-After: 3\r\n", "<html>")));
    assert_ambiguous(post_error(ServerReply::Raw("nonsense\r\n\r\n".to_owned())));
    assert_ambiguous(post_error(ServerReply::json(r#"{"ok":false,"error":"internal_error"}"#)));
    assert_ambiguous(post_error(ServerReply::json(r#"{"ok":true}"#)));
}

#[test]
fn a_redirect_is_not_followed() {
    let elsewhere = ScriptedServer::playing([]);
    let location = format!("Location: {}\r\n", elsewhere.url());
    assert_ambiguous(post_error(ServerReply::with(302, &location, "")));
    assert_ambiguous(post_error(ServerReply::with(307, &location, "")));
    assert_eq!(elsewhere.connections(), 0);
}

#[test]
fn silence_is_ambiguous_after_the_time_limit() {
    let server = ScriptedServer::playing([ServerReply::Silence(Duration::from_secs(20))]);
    let api = impatient_api(&server.url(), Duration::from_millis(200));
    let start = Instant::now();
    let error = api.post_message(&bot_token(), &POST).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(10));
    insta::assert_snapshot!(error, @"Slack gave no clear answer: no answer in time");
    assert_ambiguous(error);
}

#[test]
fn an_answer_that_does_not_end_is_ambiguous_after_the_time_limit() {
    let endless = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"ok\":true";
    let server = ScriptedServer::playing([ServerReply::Raw(endless.to_owned())]);
    let api = impatient_api(&server.url(), Duration::from_millis(200));
    let error = api.post_message(&bot_token(), &POST).unwrap_err();
    insta::assert_snapshot!(error, @"Slack gave no clear answer: the answer broke off: no answer in time");
}

#[test]
fn slack_may_ask_to_wait() {
    let body = r#"{"ok":false,"error":"ratelimited"}"#;
    let after = |seconds| CallError::RateLimited { after: Duration::from_secs(seconds) };
    assert_eq!(post_error(ServerReply::with(429, "Retry-After: 7\r\n", body)), after(7));
    assert_eq!(post_error(ServerReply::with(429, "", "")), after(30));
    assert_eq!(post_error(ServerReply::json(body)), after(30));
}

#[test]
fn a_refusal_says_what_to_do() {
    let say = |error: &str| {
        let error = post_error(ServerReply::json(&format!(r#"{{"ok":false,{error}}}"#)));
        let kind = if error.is_permanent() { "permanent" } else { "may pass" };
        format!("{error}, {kind}\n{}", error.hint().unwrap_or("-"))
    };
    insta::assert_snapshot!(say(r#""error":"invalid_auth""#), @r"
    Slack refused the call (`invalid_auth`), permanent
    copy the token anew from the app's page at api.slack.com/apps: `xoxb-` is under OAuth & Permissions, `xapp-` under Basic Information
    ");
    insta::assert_snapshot!(say(r#""error":"missing_scope","needed":"chat:write","provided":"im:write""#), @r"
    Slack refused the call (`missing_scope`: needs `chat:write`), permanent
    add the missing scope under OAuth & Permissions, Bot Token Scopes, and install the app again
    ");
    insta::assert_snapshot!(say(r#""error":"missing_scope","needed":"connections:write""#), @r"
    Slack refused the call (`missing_scope`: needs `connections:write`), permanent
    make an app-level token with the scope `connections:write` under Basic Information, App-Level Tokens
    ");
    insta::assert_snapshot!(say(r#""error":"messages_tab_disabled""#), @r#"
    Slack refused the call (`messages_tab_disabled`), permanent
    switch on App Home, Messages Tab, and there "Allow users to send messages", on the app's page
    "#);
    insta::assert_snapshot!(say(r#""error":"channel_not_found""#), @r"
    Slack refused the call (`channel_not_found`), permanent
    this direct message is not the app's: check that the token and the user are of the same workspace
    ");
    insta::assert_snapshot!(say(r#""error":"team_added_to_org""#), @r"
    Slack refused the call (`team_added_to_org`), may pass
    -
    ");
}

#[test]
fn a_wrong_id_does_not_go_out() {
    let server = ScriptedServer::playing([]);
    let api = api(&server.url());
    let token = bot_token();
    let errors = [
        api.post_message(&token, &Post { channel: "C1", ..POST }).unwrap_err(),
        api.post_message(&token, &Post { thread_ts: Some("1"), ..POST }).unwrap_err(),
        api.open_dm(&token, "D1").unwrap_err(),
        api.find_message(&token, "U1", None, None, "x").unwrap_err(),
        api.find_message(&token, "D1", Some("x"), None, "x").unwrap_err(),
        api.find_message(&token, "D1", None, Some("x"), "x").unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, CallError::Invalid { .. }), "{error:?}");
        assert!(error.is_permanent());
    }
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_direct_message_that_is_none_is_not_taken() {
    let server =
        ScriptedServer::playing([ServerReply::json(r#"{"ok":true,"channel":{"id":"C1"}}"#)]);
    let error = api(&server.url()).open_dm(&bot_token(), "U1").unwrap_err();
    insta::assert_snapshot!(error, @"Slack gave no clear answer: it says `ok`, but its channel is no direct message");
}

#[test]
fn another_machine_is_not_reached_without_encryption() {
    let api_url = Some("http://slack.example/api/".to_owned());
    let error = WebApi::new(ApiConnection { api_url, ..ApiConnection::default() }).unwrap_err();
    assert!(matches!(error, ConnectionError::NotEncrypted { .. }));
}
