//! Tests which calls of the Web API the loopback Slack accepts, accepts with a warning, or refuses.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::slack::{CallOutcome, CallToken};
use testkit::{SlackApi, SlackSetup};

use crate::support::slack_client::{APP, BOT, FORM, SlackClient, SlackRequest};

fn start() -> (SlackApi, String) {
    let api = SlackApi::start(SlackSetup::default());
    let channel = api.direct_message();
    (api, channel)
}

fn post(channel: &str, more: Value) -> SlackRequest {
    let mut arguments = json!({"channel": channel});
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    SlackRequest::json("chat.postMessage", &arguments)
}

#[track_caller]
fn check_post_error(more: Value, expected: &str) {
    let (api, channel) = start();
    assert_eq!(post(&channel, more).error(&api), expected);
    assert_eq!(api.messages(&channel), []);
    assert_eq!(api.calls()[0].outcome, CallOutcome::Error(expected.to_owned()));
    assert!(!api.calls()[0].applied);
}

#[track_caller]
fn check_invalid_blocks(blocks: Value, explanation: &str) {
    let (api, channel) = start();
    let answer = post(&channel, json!({"text": "x", "blocks": blocks})).answer(&api);
    assert_eq!(answer["error"], "invalid_blocks", "{answer}");
    assert_eq!(answer["response_metadata"]["messages"], json!([explanation]));
}

#[test]
fn auth_test_tells_who_the_token_belongs_to() {
    let (api, _) = start();
    let bot = SlackRequest::form("auth.test", &[]).send(&api);
    assert_eq!(bot.status, 200);
    assert_eq!(bot.header("x-slack-req-id"), Some("loopback-1"));
    assert_eq!(bot.header("x-oauth-scopes"), Some("chat:write,im:write,im:history"));
    let bot = bot.json();
    for (field, value) in
        [("user_id", "U0BOT"), ("bot_id", "B0BOT"), ("team_id", "T0LOOPBACK"), ("team", "Loopback")]
    {
        assert_eq!(bot[field], value);
    }
    let app = SlackRequest::form("auth.test", &[]).with_token(APP).answer(&api);
    assert_eq!(app, json!({"ok": true, "app_id": "A0LOOPBACK", "app_name": "Turnbridge"}));
    assert_eq!(SlackRequest::get("auth.test", &[]).answer(&api)["ok"], true);
}

#[test]
fn a_token_has_to_be_there_right_and_of_the_right_kind() {
    let (api, channel) = start();
    let message = post(&channel, json!({"text": "x"}));
    assert_eq!(message.clone().without_token().error(&api), "not_authed");
    assert_eq!(message.clone().with_token("xoxb-other").error(&api), "invalid_auth");
    assert_eq!(message.clone().with_token(APP).error(&api), "not_allowed_token_type");
    let kinds: Vec<CallToken> = api.calls().iter().map(|call| call.token).collect();
    assert_eq!(kinds, [CallToken::Missing, CallToken::Unknown, CallToken::App]);
    // A token inside JSON or a query is ignored.
    let in_json = post(&channel, json!({"text": "x", "token": BOT})).without_token();
    assert_eq!(in_json.error(&api), "not_authed");
    assert_eq!(
        SlackRequest::get("auth.test", &[("token", BOT)]).without_token().error(&api),
        "not_authed"
    );
    // A token in a form counts, and is not among the arguments.
    let arguments = [("token", BOT), ("channel", channel.as_str()), ("text", "in a form")];
    let in_form = SlackRequest::form("chat.postMessage", &arguments).without_token();
    assert_eq!(in_form.answer(&api)["ok"], true);
    let call = api.calls().pop().unwrap();
    assert_eq!(call.arguments, json!({"channel": channel, "text": "in a form"}));
    assert_eq!((call.token, call.content_type.as_deref()), (CallToken::Bot, Some(FORM)));
}

#[test]
fn a_token_taken_back_is_refused_from_then_on() {
    let (api, _) = start();
    api.change(|setup| setup.bot_token = "xoxb-new".to_owned());
    assert_eq!(SlackRequest::form("auth.test", &[]).error(&api), "invalid_auth");
}

#[test]
fn a_missing_scope_is_named() {
    let setup = SlackSetup { bot_scopes: vec!["im:write".to_owned()], ..SlackSetup::default() };
    let api = SlackApi::start(setup);
    let channel = api.direct_message();
    let channel_argument = [("channel", channel.as_str())];
    let refused = [
        ("chat:write", post(&channel, json!({"text": "x"}))),
        ("chat:write", SlackRequest::json("chat.update", &json!({}))),
        ("im:history", SlackRequest::get("conversations.history", &channel_argument)),
        ("im:history", SlackRequest::get("conversations.replies", &channel_argument)),
        ("users:read", SlackRequest::get("users.info", &[])),
    ];
    for (scope, request) in refused {
        let answer = request.answer(&api);
        assert_eq!(
            answer,
            json!({"ok": false, "error": "missing_scope", "needed": scope, "provided": "im:write"})
        );
    }
    api.change(|setup| setup.bot_scopes.clear());
    let open = SlackRequest::json("conversations.open", &json!({"users": "U0OWNER"}));
    assert_eq!(open.error(&api), "missing_scope");
}

#[test]
fn a_socket_is_opened_with_the_app_token_in_the_header_only() {
    let (api, _) = start();
    let open = SlackRequest::form("apps.connections.open", &[]).with_token(APP);
    let urls: Vec<String> =
        (0..2).map(|_| open.answer(&api)["url"].as_str().unwrap().to_owned()).collect();
    let base = api.base_url().replace("http://", "ws://").replace("/api/", "/link/?ticket=");
    assert!(urls[0].starts_with(&base), "{}", urls[0]);
    assert_ne!(urls[0], urls[1]);

    assert_eq!(open.clone().with_token(BOT).error(&api), "not_allowed_token_type");
    let in_form = SlackRequest::form("apps.connections.open", &[("token", APP)]).without_token();
    assert_eq!(in_form.error(&api), "not_authed");
    let get = SlackRequest::get("apps.connections.open", &[]).with_token(APP);
    assert_eq!(get.error(&api), "insecure_request");
    api.change(|setup| setup.app_scopes.clear());
    assert_eq!(open.error(&api), "missing_scope");
}

#[test]
fn a_direct_message_keeps_its_id() {
    let api = SlackApi::start(SlackSetup::default());
    let open =
        SlackRequest::json("conversations.open", &json!({"users": "U0OWNER", "return_im": true}));
    let first = open.answer(&api);
    let channel = first["channel"]["id"].as_str().unwrap();
    assert!(channel.starts_with('D'));
    assert_eq!(
        (&first["channel"]["user"], &first["already_open"]),
        (&json!("U0OWNER"), &Value::Null)
    );
    let again = SlackRequest::form("conversations.open", &[("users", "U0OWNER")]).answer(&api);
    assert_eq!(
        again,
        json!({"ok": true, "no_op": true, "already_open": true, "channel": {"id": channel}})
    );
    let by_channel = SlackRequest::form("conversations.open", &[("channel", channel)]).answer(&api);
    assert_eq!(by_channel["channel"]["id"], channel);
    assert_eq!(api.direct_message(), channel);
}

#[test]
fn a_direct_message_needs_a_known_person() {
    let (api, _) = start();
    for (arguments, error) in [
        (json!({}), "users_list_not_supplied"),
        (json!({"users": "U0NOBODY"}), "user_not_found"),
        (json!({"users": "U0OWNER,U0STRANGER"}), "missing_scope"),
        (json!({"channel": "D0NONE"}), "channel_not_found"),
    ] {
        assert_eq!(SlackRequest::json("conversations.open", &arguments).error(&api), error);
    }
}

#[test]
fn a_post_is_kept_with_all_it_carries() {
    let (api, channel) = start();
    let blocks = json!([{"type": "markdown", "text": "**hello**"}]);
    let metadata = json!({"event_type": "part", "event_payload": {"id": "1-2"}});
    let parent = post(
        &channel,
        json!({
            "text": "hello", "blocks": blocks, "metadata": metadata, "client_msg_id": "c",
            "unfurl_links": false, "unfurl_media": false,
        }),
    )
    .answer(&api);
    let ts = parent["ts"].as_str().unwrap();
    assert_eq!(parent["channel"], *channel);
    assert_eq!(parent["message"]["bot_id"], "B0BOT");
    assert_eq!(parent["message"]["ts"], ts);
    assert_eq!(parent["warning"], Value::Null);
    // A form contains nested arguments as JSON text.
    let arguments = [
        ("channel", channel.as_str()),
        ("thread_ts", ts),
        ("text", "a & b+c é"),
        ("blocks", &blocks.to_string()),
        ("metadata", &metadata.to_string()),
    ];
    let reply = SlackRequest::form("chat.postMessage", &arguments).answer(&api);
    assert_eq!(reply["message"]["thread_ts"], ts);
    assert_eq!(reply["message"]["parent_user_id"], "U0BOT");

    let threads = api.threads();
    assert_eq!((threads.len(), threads[0].replies.len()), (1, 1));
    let parent = &threads[0].parent;
    assert_eq!((parent.text.as_str(), parent.payload_id()), ("hello", Some("1-2")));
    assert_eq!((parent.unfurl_links, parent.unfurl_media), (Some(false), Some(false)));
    assert_eq!((&parent.blocks, &parent.metadata), (&Some(blocks.clone()), &Some(metadata)));
    let reply = &threads[0].replies[0];
    assert_eq!((reply.text.as_str(), &reply.blocks), ("a & b+c é", &Some(blocks)));
    assert_eq!(reply.thread_ts.as_deref(), Some(ts));
    assert!(reply.ts.as_str() > ts);
    assert_eq!(api.wait_for_messages(&channel, 2, Duration::from_secs(5)).len(), 2);
}

#[test]
fn a_body_without_charset_is_taken_with_a_warning() {
    let (api, channel) = start();
    let request = post(&channel, json!({"text": "x"}));
    let answer = request.clone().with_content_type("application/json").answer(&api);
    assert_eq!((&answer["ok"], &answer["warning"]), (&json!(true), &json!("missing_charset")));
    assert_eq!(answer["response_metadata"], json!({"warnings": ["missing_charset"]}));
    let form =
        SlackRequest::form("auth.test", &[]).with_content_type(&format!("{FORM}; charset=utf-8"));
    assert_eq!(form.answer(&api)["warning"], "superfluous_charset");
}

#[test]
fn a_body_that_cannot_be_read_is_refused() {
    let (api, channel) = start();
    let request = post(&channel, json!({"text": "x"}));
    let with_body = |body: &str| SlackRequest { body: body.to_owned(), ..request.clone() };
    assert_eq!(with_body("{\"channel\":").error(&api), "invalid_json");
    assert_eq!(with_body("[]").error(&api), "json_not_object");
    assert_eq!(with_body("a=%zz").with_content_type(FORM).error(&api), "invalid_form_data");
    assert_eq!(request.clone().with_content_type("text/plain").error(&api), "invalid_post_type");
    assert_eq!(SlackRequest { content_type: None, ..request }.error(&api), "missing_post_type");
}

#[test]
fn a_channel_has_to_be_an_open_direct_message() {
    let (api, _) = start();
    assert_eq!(post("D0NONE", json!({"text": "x"})).error(&api), "channel_not_found");
    assert_eq!(post("U0OWNER", json!({"text": "x"})).error(&api), "channel_not_found");
    let without = SlackRequest::json("chat.postMessage", &json!({"text": "x"})).answer(&api);
    assert_eq!(without["error"], "invalid_arguments");
    let messages = &without["response_metadata"]["messages"];
    assert_eq!(*messages, json!(["[ERROR] missing required field: channel"]));

    api.change(|setup| setup.user_ids_are_channels = true);
    let answer = post("U0OWNER", json!({"text": "x"})).answer(&api);
    assert_eq!(answer["channel"], *api.direct_message());
}

#[test]
fn a_reply_needs_a_parent() {
    let (api, channel) = start();
    let parent = api.post_as_user(None, "hello");
    let reply = api.post_as_user(Some(&parent), "again");
    let in_thread = |ts: &str| post(&channel, json!({"text": "x", "thread_ts": ts}));
    assert_eq!(in_thread("1.000001").error(&api), "thread_not_found");
    assert_eq!(in_thread(&reply).error(&api), "cannot_reply_to_message");
    assert_eq!(in_thread(&parent).answer(&api)["ok"], true);
    // The stranger's direct message is another channel.
    let elsewhere = api.post_as("U0STRANGER", None, "hello");
    assert_eq!(in_thread(&elsewhere).error(&api), "thread_not_found");
}

#[test]
fn a_post_without_content_is_refused() {
    check_post_error(json!({}), "no_text");
    check_post_error(json!({"text": " ", "blocks": []}), "no_text");
    check_post_error(json!({"text": "x", "markdown_text": "y"}), "markdown_text_conflict");
    check_post_error(json!({"markdown_text": "é".repeat(12_001)}), "msg_too_long");
    check_post_error(
        json!({"text": "x", "metadata": {"event_type": "t"}}),
        "invalid_metadata_format",
    );
    check_post_error(json!({"text": "x", "blocks": "["}), "invalid_blocks_format");
}

#[test]
fn a_long_post_loses_its_end_with_a_warning() {
    let (api, channel) = start();
    let whole = post(&channel, json!({"text": "é".repeat(40_000)})).answer(&api);
    assert_eq!(whole["warning"], Value::Null);
    let cut = post(&channel, json!({"text": "é".repeat(40_001)})).answer(&api);
    assert_eq!((&cut["ok"], &cut["warning"]), (&json!(true), &json!("message_truncated")));
    assert_eq!(api.messages(&channel)[1].text, "é".repeat(40_000));
}

#[test]
fn markdown_blocks_are_limited_together() {
    let markdown = |length| json!({"type": "markdown", "text": "é".repeat(length)});
    let (api, channel) = start();
    let fits = json!({"text": "x", "blocks": [markdown(6_000), markdown(6_000)]});
    assert_eq!(post(&channel, fits).answer(&api)["ok"], true);
    check_post_error(json!({"blocks": [markdown(6_000), markdown(6_001)]}), "msg_blocks_too_long");
    let section = json!({"type": "section", "text": {"type": "mrkdwn", "text": "x".repeat(2_700)}});
    check_post_error(json!({"blocks": vec![section; 5]}), "msg_blocks_too_long");
}

#[test]
fn invalid_blocks_are_explained() {
    let plain = |length| json!({"type": "plain_text", "text": "x".repeat(length)});
    let button = json!({"type": "button", "action_id": "a", "text": plain(75)});
    check_invalid_blocks(
        json!([{"type": "divider"}, {"type": "mystery"}]),
        "[ERROR] unsupported type: mystery [json-pointer:/blocks/1/type]",
    );
    check_invalid_blocks(
        json!([{"type": "section", "text": plain(3_001)}]),
        "[ERROR] must be less than 3001 characters [json-pointer:/blocks/0/text/text]",
    );
    check_invalid_blocks(
        json!([{"type": "header", "text": {"type": "mrkdwn", "text": "x"}}]),
        "[ERROR] must be a valid text object [json-pointer:/blocks/0/text]",
    );
    check_invalid_blocks(
        json!([{"type": "markdown", "text": ""}]),
        "[ERROR] missing required field: text [json-pointer:/blocks/0]",
    );
    check_invalid_blocks(
        json!([{"type": "actions", "elements": vec![button.clone(); 26]}]),
        "[ERROR] no more than 25 items allowed [json-pointer:/blocks/0/elements]",
    );
    check_invalid_blocks(
        json!([{"type": "actions", "elements": [button, {"type": "button", "text": plain(76)}]}]),
        "[ERROR] must be less than 76 characters [json-pointer:/blocks/0/elements/1/text/text]",
    );
    check_invalid_blocks(
        json!(vec![json!({"type": "divider"}); 51]),
        "[ERROR] no more than 50 items allowed [json-pointer:/blocks]",
    );
}

#[test]
fn an_update_changes_the_apps_own_message() {
    let (api, channel) = start();
    let sent = json!({
        "text": "one", "blocks": [{"type": "markdown", "text": "one"}],
        "metadata": {"event_type": "part", "event_payload": {"id": "7"}},
    });
    let ts = post(&channel, sent).answer(&api)["ts"].as_str().unwrap().to_owned();
    let update = |ts: &str, text: &str| {
        SlackRequest::json("chat.update", &json!({"channel": channel, "ts": ts, "text": text}))
    };
    let answer = update(&ts, "two").answer(&api);
    assert_eq!((&answer["ts"], &answer["text"]), (&json!(ts), &json!("two")));
    let message = &api.messages(&channel)[0];
    assert_eq!((message.text.as_str(), &message.blocks), ("two", &None));
    assert_eq!((message.payload_id(), message.edited_ts.is_some()), (Some("7"), true));

    assert_eq!(update(&ts, &"x".repeat(4_001)).error(&api), "msg_too_long");
    assert_eq!(update(&ts, "").error(&api), "no_text");
    assert_eq!(update("1.000001", "x").error(&api), "message_not_found");
    let other = api.post_as_user(None, "mine");
    assert_eq!(update(&other, "x").error(&api), "cant_update_message");
}

#[test]
fn people_are_shown_and_other_methods_are_unknown() {
    let (api, _) = start();
    api.change(|setup| setup.bot_scopes.push("users:read".to_owned()));
    let owner = SlackRequest::get("users.info", &[("user", "U0OWNER")]).answer(&api);
    assert_eq!(
        (&owner["user"]["id"], &owner["user"]["is_bot"]),
        (&json!("U0OWNER"), &json!(false))
    );
    assert_eq!(SlackRequest::form("users.info", &[("user", "U0")]).error(&api), "user_not_found");

    let unknown = SlackRequest::form("chat.shout", &[]).answer(&api);
    assert_eq!(
        unknown,
        json!({"ok": false, "error": "unknown_method", "req_method": "chat.shout"})
    );
    assert_eq!(SlackRequest::get("chat.postMessage", &[]).error(&api), "insecure_request");
}

#[test]
fn a_channel_that_gets_too_much_says_when_to_come_again() {
    let setup = SlackSetup { burst: Some(2), ..SlackSetup::default() };
    let api = SlackApi::start(setup);
    let channel = api.direct_message();
    let request = post(&channel, json!({"text": "x"}));
    let mut client = SlackClient::connect(&api).unwrap();
    let mut answers = (0..100).map(|_| client.ask(&request).unwrap());
    let limited = answers.find(|answer| answer.status == 429).unwrap();
    assert_eq!(limited.header("retry-after"), Some("1"));
    assert_eq!(limited.json(), json!({"ok": false, "error": "ratelimited"}));
    assert!(api.messages(&channel).len() >= 2);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(client.ask(&request).unwrap().status, 200);
}

#[test]
fn slacks_clock_may_differ_from_ours() {
    let setup = SlackSetup { clock_ahead_seconds: -3_600, ..SlackSetup::default() };
    let behind = SlackApi::start(setup).post_as_user(None, "x");
    let now = SlackApi::start(SlackSetup::default()).post_as_user(None, "x");
    let seconds = |ts: &str| ts.split('.').next().unwrap().parse::<i64>().unwrap();
    assert!((3_590..3_610).contains(&(seconds(&now) - seconds(&behind))), "{behind} {now}");
}

#[test]
#[should_panic(expected = "is no parent")]
fn a_test_cannot_answer_in_a_thread_that_is_not_there() {
    SlackApi::start(SlackSetup::default()).post_as_user(Some("1.000001"), "x");
}
