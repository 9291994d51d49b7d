//! Tests that missed messages are read from the loopback Slack: parents with their metadata and the
//! time of their newest reply, and many replies page by page.

use testkit::{SlackApi, SlackSetup};
use turnbridge_slack::{MachineTag, Post, Token, TokenKind, WebApi};

use crate::api;

fn bot() -> Token {
    Token::parse(TokenKind::Bot, "xoxb-loopback-bot").unwrap()
}

/// Returns all replies after a time, from all pages.
fn replies_after(client: &WebApi, channel: &str, thread: &str, after: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut from = None;
    loop {
        let page = client.replies_after(&bot(), channel, thread, after, from.as_deref()).unwrap();
        all.extend(page.0);
        from = page.1;
        if from.is_none() {
            return all;
        }
    }
}

#[test]
fn parents_say_whose_they_are_and_when_they_were_last_replied_to() {
    let slack = SlackApi::start(SlackSetup::default());
    let client = api(&slack.base_url());
    let channel = client.open_dm(&bot(), "U0OWNER").unwrap();
    let thread = |text: &str, machine| {
        let post =
            Post { channel: &channel, thread_ts: None, text, markdown: None, id: text, machine };
        client.post_message(&bot(), &post).unwrap().ts
    };
    let desk = MachineTag { id: "m1", name: "desk" };
    let (old, new) = (thread("old", None), thread("new", Some(desk)));
    let own = slack.post_as_user(None, "the owner's own");
    let first = slack.post_as_user(Some(&new), "one");
    let last = slack.post_as_user(Some(&new), "two");
    let page = client.parents(&bot(), &channel, None, 2).unwrap();
    let seen: Vec<_> = page.parents.iter().map(|parent| parent.ts.as_str()).collect();
    assert_eq!(seen, [&own, &new]);
    assert_eq!(page.parents[0].ours, None);
    assert_eq!(page.parents[1].latest_reply.as_ref(), Some(&last));
    assert_eq!(page.parents[1].reply_users, Some(vec!["U0OWNER".to_owned()]));
    let tag = page.parents[1].ours.clone().unwrap();
    assert_eq!((tag.machine.as_deref(), tag.machine_name.as_deref()), (Some("m1"), Some("desk")));
    let rest = client.parents(&bot(), &channel, page.next.as_deref(), 2).unwrap();
    assert_eq!((rest.parents.len(), rest.next), (1, None));
    assert_eq!(rest.parents[0].ours.clone().unwrap().machine, None);
    assert_eq!(rest.parents[0].ts, old);
    assert_eq!(client.parent_of(&bot(), &channel, &new).unwrap().as_ref(), page.parents.get(1));
    assert_eq!(client.parent_of(&bot(), &channel, "1.000100").unwrap(), None);
    let replies = replies_after(&client, &channel, &new, &first);
    assert_eq!(replies.len(), 1);
    assert!(replies[0].contains("two"), "{replies:?}");
    assert!(replies_after(&client, &channel, &new, &last).is_empty());
    assert!(client.replies_after(&bot(), &channel, "x", &last, None).is_err());
}

#[test]
fn many_replies_come_page_by_page() {
    let slack = SlackApi::start(SlackSetup::default());
    let client = api(&slack.base_url());
    let channel = client.open_dm(&bot(), "U0OWNER").unwrap();
    let machine = None;
    let post =
        Post { channel: &channel, thread_ts: None, text: "t", markdown: None, id: "t", machine };
    let thread = client.post_message(&bot(), &post).unwrap().ts;
    for number in 0..450 {
        slack.post_as_user(Some(&thread), &format!("reply {number}"));
    }
    let replies = replies_after(&client, &channel, &thread, &thread);
    assert_eq!(replies.len(), 450);
    assert!(replies[449].contains("reply 449"));
}
