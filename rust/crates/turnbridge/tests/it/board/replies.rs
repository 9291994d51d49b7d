//! Tests replies on the board (X36). Without Slack a reply becomes the session's next prompt. With
//! Slack, a receipt appears only where the reply came from, and a turn appears on both.

use serde_json::{Value, json};
use testkit::{SlackApi, SlackSetup, wait_until};

use super::site::{BoardSite, SESSION, TIMEOUT};
use crate::support::world::World;

const ONE: &str = "11111111-2222-4333-8444-555555555551";
const TWO: &str = "11111111-2222-4333-8444-555555555552";
const THREE: &str = "11111111-2222-4333-8444-555555555553";

#[test]
fn x36_a_reply_without_slack_is_the_next_prompt_of_its_session_once() {
    let site = BoardSite::start();
    site.turn("fix it");
    let mut events = site.events();
    events.next("snapshot").unwrap();
    let answer = site.reply(ONE, "now the tests, please").json();
    assert_eq!((&answer["accepted"], &answer["is_new"]), (&json!(true), &json!(true)));
    let told = std::iter::from_fn(|| events.next("reply"));
    let done = told.into_iter().find(|reply| reply["state"] == "done").unwrap();
    assert_eq!((&done["id"], &done["source"]), (&json!(ONE), &json!("board")));
    let cwd = site.world.hermetic.project();
    let call = format!("cwd={}|-r|{SESSION}|-p|stdin=now the tests, please", cwd.display());
    assert_eq!(site.calls(), [call]);
    // A page that got no response sends it again.
    let again = site.reply(ONE, "now the tests, please").json();
    assert_eq!(again["is_new"], false);
    assert_eq!(site.reply(&ONE.to_uppercase(), "other words").json()["is_new"], false);
    site.reply(TWO, "and go on").json();
    site.wait_for_reply(TWO, "done");
    assert_eq!(site.calls().len(), 2, "{:?}", site.calls());
}

#[test]
fn how_a_reply_stands_is_shown_until_its_end() {
    let site = BoardSite::start();
    let gate = site.world.hermetic.root().join("go");
    let wait = format!("while [ ! -e '{}' ]; do sleep 0.05; done; exit 7", gate.display());
    site.be_agent(&wait);
    site.turn("fix it");
    site.reply(ONE, "first").json();
    site.wait_for_reply(ONE, "running");
    site.reply(TWO, "second").json();
    site.wait_for_reply(TWO, "queued");
    std::fs::write(&gate, "").unwrap();
    let failed = site.wait_for_reply(ONE, "failed");
    assert_eq!((&failed["reason"], &failed["code"]), (&json!("exit_code"), &json!(7)));
    assert_eq!(failed["text"], "first");
    site.wait_for_reply(TWO, "failed");
    // The reply shows a result that no turn contains.
    site.be_agent("echo 'Total cost: 0'");
    site.reply(THREE, "/cost").json();
    let done = site.wait_for_reply(THREE, "done");
    assert_eq!(done["output"], "Total cost: 0\n");
    let id = "11111111-2222-4333-8444-555555555554";
    site.reply(id, "/clear").json();
    site.wait_for_reply(id, "refused");
    let order: Vec<Value> = site.session()["replies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reply| reply["text"].clone())
        .collect();
    assert_eq!(order, ["first", "second", "/cost", "/clear"]);
}

#[test]
fn a_run_is_stopped_from_the_board() {
    let site = BoardSite::start();
    site.be_agent("exec sleep 60");
    site.turn("fix it");
    site.reply(ONE, "think long").json();
    site.wait_for_reply(ONE, "running");
    site.reply(TWO, "stop").json();
    site.wait_for_reply(ONE, "stopped");
    site.wait_for_reply(TWO, "stop");
    // With no run it is no prompt either.
    site.reply(THREE, "/stop").json();
    site.wait_for_reply(THREE, "stop");
    // The stopped agent may have ended before it could record its call.
    assert!(site.calls().len() <= 1, "{:?}", site.calls());
}

#[test]
fn what_cannot_be_run_is_refused_and_leaves_nothing() {
    let site = BoardSite::start();
    site.turn("fix it");
    let order = |id: &str, agent: &str, session: &str, text: &str| {
        let order = json!({ "id": id, "tool": agent, "session_id": session, "text": text });
        site.post("/api/replies", &order).status
    };
    assert_eq!(order("last", "claude", SESSION, "x"), 422);
    assert_eq!(order("../../x", "claude", SESSION, "x"), 422);
    assert_eq!(order(ONE, "claude", SESSION, " \n "), 422);
    assert_eq!(order(ONE, "rm", SESSION, "x"), 404);
    assert_eq!(order(ONE, "codex", SESSION, "x"), 404);
    assert_eq!(order(ONE, "claude", "../x", "x"), 404);
    assert_eq!(order(ONE, "claude", "99999999-2222-4333-8444-555555555556", "x"), 404);
    assert_eq!(order(ONE, "claude", SESSION, &"x".repeat(40_001)), 413);
    for wrong in [json!({}), json!({ "id": 1 }), json!({ "id": ONE, "text": ["x"] })] {
        assert_eq!(site.post("/api/replies", &wrong).status, 422, "{wrong}");
    }
    assert_eq!(site.session()["replies"], json!([]));
    assert_eq!(order(ONE, "claude", SESSION, &"日".repeat(40_000)), 202);
}

/// X36.
#[test]
fn with_slack_too_a_receipt_stays_where_the_reply_came_from_and_a_turn_goes_everywhere() {
    let slack = SlackApi::start(SlackSetup::default());
    let world = World::new()
        .with("TURNBRIDGE_SLACK_API_URL", &slack.base_url())
        .with("TURNBRIDGE_SLACK_TIME_SCALE", "20");
    let site = BoardSite::with(
        world,
        "language = \"en\"\n[slack]\nbot_token = \"xoxb-loopback-bot\"\n\
         app_token = \"xapp-loopback-app\"\n[destinations.dm]\ntarget_user_id = \"U0OWNER\"\n\
         [features]\nreply_resume = true\n[gate]\nenabled = false\n",
    );
    slack.wait_for_sockets(1, TIMEOUT);
    site.turn("fix it");
    let first = slack.wait_for_thread("the first turn", TIMEOUT, |thread| {
        thread.parent.text == "fix it" && !thread.replies.is_empty()
    });
    site.reply(ONE, "from the board").json();
    site.wait_for_reply(ONE, "done");
    site.turn("from the board");
    slack.wait_for_thread("the second turn", TIMEOUT, |thread| {
        thread.parent.text == "from the board" && !thread.replies.is_empty()
    });
    slack.say(Some(&first.parent.ts), "from Slack");
    let seen = wait_until(TIMEOUT, "the reply from Slack on the board", || {
        let session = site.session();
        let replies = session["replies"].as_array().unwrap();
        let mut own = replies.iter().filter(|reply| reply["source"] == "slack");
        own.next().filter(|reply| reply["state"] == "done").cloned()
    });
    assert_eq!(seen["text"], "from Slack");
    // The thread has one receipt: that of the reply given there.
    let words: Vec<_> = slack
        .threads()
        .into_iter()
        .flat_map(|thread| thread.replies)
        .filter(|reply| reply.text.contains("Your reply was received."))
        .collect();
    assert_eq!(words.len(), 1, "{words:#?}");
    assert_eq!(site.calls().len(), 2);
}
