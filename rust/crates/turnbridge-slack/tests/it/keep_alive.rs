//! Tests that calls and threads share connections, and that one which the server has closed causes
//! no error.

use std::thread;
use std::time::Duration;

use crate::support::server::{ScriptedServer, ServerReply};
use crate::{api, bot_token};

const OK: &str = r#"{"ok":true}"#;

#[test]
fn calls_one_after_the_other_share_a_connection() {
    let refusal = ServerReply::json(r#"{"ok":false,"error":"channel_not_found"}"#);
    let limit = ServerReply::with(429, "Retry-After: 1\r\n", "{}");
    let server =
        ScriptedServer::playing([ServerReply::json(OK), refusal, limit, ServerReply::json(OK)]);
    let api = api(&server.url());
    let results: Vec<bool> = (0..4).map(|_| api.auth_test(&bot_token()).is_ok()).collect();
    assert_eq!(results, [true, false, false, true]);
    assert_eq!((server.connections(), server.requests().len()), (1, 4));
}

#[test]
fn a_connection_that_the_server_closed_is_not_used_again() {
    let ServerReply::Raw(answer) = ServerReply::json(OK) else { unreachable!() };
    let server =
        ScriptedServer::playing([ServerReply::RawThenClose(answer), ServerReply::json(OK)]);
    let api = api(&server.url());
    api.auth_test(&bot_token()).unwrap();
    thread::sleep(Duration::from_millis(100));
    api.auth_test(&bot_token()).unwrap();
    assert_eq!(server.connections(), 2);
}

#[test]
fn threads_share_the_client() {
    let server = ScriptedServer::playing((0..40).map(|_| ServerReply::json(OK)));
    let api = api(&server.url());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..10).for_each(|_| drop(api.auth_test(&bot_token()).unwrap())));
        }
    });
    assert_eq!(server.requests().len(), 40);
    // A few more than threads: some connections that are returned at the same time are not kept.
    assert!(server.connections() <= 20, "{}", server.connections());
}
