//! What was said while nobody listened, against the loopback Slack.

use testkit::{SlackApi, SlackSetup};
use turnbridge_slack::{Post, Token, TokenKind};

use crate::api;

fn bot() -> Token {
    Token::parse(TokenKind::Bot, "xoxb-loopback-bot").unwrap()
}

#[test]
fn threads_with_newer_replies_are_found_and_nothing_older() {
    let slack = SlackApi::start(SlackSetup::default());
    let client = api(&slack.base_url());
    let channel = client.open_dm(&bot(), "U0OWNER").unwrap();
    let thread = |text: &str| {
        let post = Post { channel: &channel, thread_ts: None, text, markdown: None, id: text };
        client.post_message(&bot(), &post).unwrap().ts
    };
    let (quiet, old, new) = (thread("quiet"), thread("old"), thread("new"));
    let seen = slack.post_as_user(Some(&old), "already read");
    slack.post_as_user(Some(&new), "one");
    let last = slack.post_as_user(Some(&new), "two");
    let found = client.threads_replied_to(&bot(), &channel, &quiet, &seen).unwrap();
    assert_eq!(found, std::slice::from_ref(&new));
    let replies = client.replies_after(&bot(), &channel, &new, &seen).unwrap();
    let texts: Vec<String> = replies
        .iter()
        .map(|reply| serde_json::from_str::<serde_json::Value>(reply).unwrap()["text"].to_string())
        .collect();
    assert_eq!(texts, ["\"one\"", "\"two\""]);
    assert!(client.threads_replied_to(&bot(), &channel, &quiet, &last).unwrap().is_empty());
    assert!(client.replies_after(&bot(), &channel, &new, &last).unwrap().is_empty());
    assert!(client.replies_after(&bot(), &channel, "x", &last).is_err());
}

#[test]
fn many_replies_come_page_by_page() {
    let slack = SlackApi::start(SlackSetup::default());
    let client = api(&slack.base_url());
    let channel = client.open_dm(&bot(), "U0OWNER").unwrap();
    let post = Post { channel: &channel, thread_ts: None, text: "t", markdown: None, id: "t" };
    let thread = client.post_message(&bot(), &post).unwrap().ts;
    for number in 0..450 {
        slack.post_as_user(Some(&thread), &format!("reply {number}"));
    }
    let replies = client.replies_after(&bot(), &channel, &thread, &thread).unwrap();
    assert_eq!(replies.len(), 450);
    assert!(replies[449].contains("reply 449"));
}
