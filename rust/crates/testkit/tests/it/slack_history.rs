//! Tests `conversations.history` and `conversations.replies` of the loopback Slack: order, pages,
//! time limits, metadata and errors.

use serde_json::{Value, json};
use testkit::{SlackApi, SlackSetup};

use crate::support::slack_client::SlackRequest;

fn start() -> (SlackApi, String) {
    let api = SlackApi::start(SlackSetup::default());
    let channel = api.direct_message();
    (api, channel)
}

/// Posts `a`, `b`, … outside of threads. Returns their timestamps.
fn post_letters(api: &SlackApi, count: u8) -> Vec<String> {
    (0..count).map(|index| api.post_as_user(None, &letter(index))).collect()
}

fn letter(index: u8) -> String {
    char::from(b'a' + index).to_string()
}

fn texts(answer: &Value) -> String {
    assert_eq!(answer["ok"], true, "{answer}");
    let messages = answer["messages"].as_array().unwrap();
    messages.iter().map(|message| message["text"].as_str().unwrap()).collect()
}

/// Follows the cursor to the end; `|` separates pages.
fn all_pages(api: &SlackApi, method: &str, arguments: &[(&str, &str)]) -> String {
    let mut pages = Vec::new();
    let mut cursor = String::new();
    loop {
        let mut arguments = arguments.to_vec();
        arguments.push(("cursor", &cursor));
        let answer = SlackRequest::form(method, &arguments).answer(api);
        pages.push(texts(&answer));
        let next = answer["response_metadata"]["next_cursor"].as_str().unwrap_or_default();
        assert_eq!(answer["has_more"], !next.is_empty());
        if next.is_empty() {
            return pages.join("|");
        }
        cursor = next.to_owned();
    }
}

#[test]
fn history_is_newest_first_and_pages_go_back() {
    let (api, channel) = start();
    post_letters(&api, 5);
    let limited = [("channel", channel.as_str()), ("limit", "2")];
    assert_eq!(all_pages(&api, "conversations.history", &limited), "ed|cb|a");
    let exactly = [("channel", channel.as_str()), ("limit", "5")];
    assert_eq!(all_pages(&api, "conversations.history", &exactly), "edcba");
}

#[test]
fn history_since_a_time_goes_forward_page_by_page() {
    let (api, channel) = start();
    let ts = post_letters(&api, 6);
    let since = [("channel", channel.as_str()), ("oldest", ts[0].as_str()), ("limit", "2")];
    assert_eq!(all_pages(&api, "conversations.history", &since), "cb|ed|f");
    let bounded = [since[0], since[1], since[2], ("latest", ts[5].as_str())];
    assert_eq!(all_pages(&api, "conversations.history", &bounded), "ed|cb");
}

#[test]
fn the_ends_belong_to_a_span_only_when_inclusive() {
    let (api, channel) = start();
    let ts = post_letters(&api, 4);
    let span = [("channel", channel.as_str()), ("oldest", &ts[0]), ("latest", &ts[3])];
    let get = |arguments: &[(&str, &str)]| {
        texts(&SlackRequest::get("conversations.history", arguments).answer(&api))
    };
    assert_eq!(get(&span), "cb");
    assert_eq!(get(&[span[0], span[1], span[2], ("inclusive", "true")]), "dcba");
    assert_eq!(get(&[span[0], ("latest", &ts[2]), ("inclusive", "1"), ("limit", "1")]), "c");
    assert_eq!(get(&[span[0], ("oldest", "0")]), "dcba");
}

#[test]
fn replies_are_no_part_of_history_but_their_number_is() {
    let (api, channel) = start();
    let parent = api.post_as_user(None, "a");
    api.post_as_user(Some(&parent), "b");
    let reply = api.post_as_user(Some(&parent), "c");
    let answer = SlackRequest::get("conversations.history", &[("channel", &channel)]).answer(&api);
    assert_eq!(texts(&answer), "a");
    let shown = &answer["messages"][0];
    assert_eq!((&shown["reply_count"], &shown["thread_ts"]), (&json!(2), &json!(parent)));
    assert_eq!(
        (&shown["latest_reply"], &shown["reply_users"]),
        (&json!(reply), &json!(["U0OWNER"]))
    );
}

#[test]
fn replies_are_oldest_first_after_their_parent() {
    let (api, channel) = start();
    let parent = api.post_as_user(None, "a");
    let alone = api.post_as_user(None, "x");
    let replies: Vec<String> =
        (1..6).map(|index| api.post_as_user(Some(&parent), &letter(index))).collect();
    let of = |ts| [("channel", channel.as_str()), ("ts", ts)];
    let pages = |arguments: &[(&str, &str)]| all_pages(&api, "conversations.replies", arguments);
    assert_eq!(pages(&of(&parent)), "abcdef");
    assert_eq!(pages(&of(&replies[2])), "abcdef");
    assert_eq!(pages(&of(&alone)), "x");
    let [channel_argument, ts] = of(&parent);
    assert_eq!(pages(&[channel_argument, ts, ("limit", "4")]), "abcd|ef");
    // The parent is included although it is older than the requested time.
    assert_eq!(pages(&[channel_argument, ts, ("oldest", &replies[2])]), "aef");
    assert_eq!(pages(&[channel_argument, ts, ("oldest", &replies[2]), ("limit", "1")]), "a|e|f");
    assert_eq!(pages(&[channel_argument, ts, ("latest", &replies[1]), ("inclusive", "1")]), "abc");
}

#[test]
fn metadata_comes_back_only_when_asked_for() {
    let (api, channel) = start();
    let metadata = json!({"event_type": "part", "event_payload": {"id": "1"}});
    let post = json!({"channel": channel, "text": "a", "metadata": metadata});
    let ts = SlackRequest::json("chat.postMessage", &post).answer(&api)["ts"].clone();
    let plain = [("channel", channel.as_str()), ("ts", ts.as_str().unwrap())];
    let with_metadata = [plain[0], plain[1], ("include_all_metadata", "true")];
    for method in ["conversations.history", "conversations.replies"] {
        let hidden = SlackRequest::get(method, &plain).answer(&api);
        assert_eq!(hidden["messages"][0]["metadata"], Value::Null);
        let shown = SlackRequest::form(method, &with_metadata).answer(&api);
        assert_eq!(shown["messages"][0]["metadata"], metadata);
    }
}

#[test]
fn what_people_type_comes_escaped_with_blocks() {
    let (api, channel) = start();
    api.post_as_user(None, "a < b && c");
    let answer = SlackRequest::get("conversations.history", &[("channel", &channel)]).answer(&api);
    let message = &answer["messages"][0];
    assert_eq!(message["text"], "a &lt; b &amp;&amp; c");
    assert_eq!(message["blocks"][0]["elements"][0]["elements"][0]["text"], "a < b && c");
    assert_eq!((&message["user"], &message["bot_id"]), (&json!("U0OWNER"), &Value::Null));
}

#[test]
fn wrong_arguments_are_named() {
    let (api, channel) = start();
    let error = |method: &str, more: &[(&str, &str)]| {
        let mut arguments = vec![("channel", channel.as_str())];
        arguments.extend(more);
        SlackRequest::form(method, &arguments).error(&api)
    };
    assert_eq!(error("conversations.history", &[("oldest", "soon")]), "invalid_ts_oldest");
    assert_eq!(error("conversations.history", &[("latest", "1e3")]), "invalid_ts_latest");
    assert_eq!(error("conversations.history", &[("cursor", "dGVhbQ==")]), "invalid_cursor");
    assert_eq!(error("conversations.history", &[("limit", "many")]), "invalid_limit");
    assert_eq!(error("conversations.history", &[("channel", "D0NONE")]), "channel_not_found");
    assert_eq!(error("conversations.replies", &[]), "invalid_arguments");
    assert_eq!(error("conversations.replies", &[("ts", "1.000001")]), "thread_not_found");
    // Methods that read ignore JSON.
    let json = SlackRequest::json("conversations.history", &json!({"channel": channel}));
    assert_eq!(json.error(&api), "invalid_arguments");
}
