//! Tests deliveries to Slack after a machine was off or its clock was wrong, and from an outbox
//! that is larger than the memory.

use std::process::Stdio;

use super::*;

const START: u64 = 1_800_000_000_000_000;
const MINUTE: u64 = 60 * 1_000_000;
const WEEK: u64 = 7 * 24 * 60 * MINUTE;

/// Creates a bridge with one turn of `START` in its outbox, without a deliverer.
fn with_waiting_turn() -> SlackWorld {
    let SlackWorld { slack, world } = SlackWorld::new();
    let slack_world = SlackWorld { slack, world: world.with("TURNBRIDGE_NOW", &START.to_string()) };
    let daemon = slack_world.world.hermetic.state_dir().join("daemon.lock");
    fs::create_dir_all(daemon.parent().unwrap()).unwrap();
    let held = turnbridge_store::files::file_lock::FileLock::acquire(&daemon, TIMEOUT).unwrap();
    slack_world.turn("go", "done");
    drop(held);
    assert_eq!(slack_world.waiting().len(), 1);
    slack_world
}

fn deliver_at(slack_world: &SlackWorld, now: u64) {
    let mut command = slack_world.world.command("turnbridge-notify");
    command.env("TURNBRIDGE_NOW", now.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(command.status().unwrap().success());
}

#[test]
fn a_notice_that_is_a_week_old_when_the_machine_comes_back_is_not_given_up_after_one_try() {
    let slack_world = with_waiting_turn();
    // The network comes up a moment later than Turnbridge.
    slack_world
        .slack
        .fail("conversations.open", vec![SlackFault::Status(FaultMoment::Before, 500); 3]);
    deliver_at(&slack_world, START + WEEK);
    let waiting = slack_world.waiting();
    assert_eq!((&waiting[0]["held"], &waiting[0]["attempts"]), (&json!(false), &json!(1)));
    deliver_at(&slack_world, START + WEEK + MINUTE);
    let thread = slack_world.only_thread(1);
    assert_eq!(thread.replies[0].text, "done");
}

#[test]
fn a_clock_that_was_ahead_delays_nothing_when_it_is_right_again() {
    let slack_world = with_waiting_turn();
    slack_world
        .slack
        .fail("conversations.open", vec![SlackFault::Status(FaultMoment::Before, 500); 3]);
    // In 2038.
    deliver_at(&slack_world, START + 570 * WEEK);
    assert!(slack_world.waiting()[0]["next_attempt_at"].as_str().unwrap().starts_with("2037-12"));
    deliver_at(&slack_world, START + MINUTE);
    slack_world.only_thread(1);
}

/// 128 MiB wait, and the notifier may have half of that.
#[cfg(target_os = "linux")]
#[test]
fn an_outbox_that_is_larger_than_the_memory_is_delivered_one_notice_at_a_time() {
    let slack_world = with_waiting_turn();
    let outbox = slack_world.world.hermetic.state_dir().join("outbox");
    let text = "x".repeat(4 << 20);
    for number in 0..32 {
        let notice = json!({
            "version": 1, "id": format!("claude-{number:02}"), "kind": "turn",
            "created_at": "2020-01-01T00:00:00Z", "tool": "claude", "session_id": SESSION,
            "prompt": "go", "answers": [text],
        });
        fs::write(outbox.join(format!("claude-{number:02}.json")), notice.to_string()).unwrap();
        let held = json!({"version": 1, "held": true});
        fs::write(outbox.join(format!("claude-{number:02}.progress")), held.to_string()).unwrap();
    }
    let notifier = slack_world.world.command("turnbridge-notify");
    let mut limited = slack_world.world.hermetic.command("sh");
    limited.envs(notifier.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited.args(["-c", "ulimit -v 65536 && exec \"$0\""]).arg(notifier.get_program());
    let output = limited.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    slack_world.slack.wait_for_thread("the turn's", TIMEOUT, |thread| thread.replies.len() == 1);
    assert_eq!(slack_world.slack.threads().len(), 1);
}
