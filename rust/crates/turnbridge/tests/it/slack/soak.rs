//! Whoever delivers is killed at any moment, and Slack fails in every way it can.
#![cfg(unix)]

use super::*;
use std::process::Stdio;
use testkit::slack::FaultMix;

const START: u64 = 1_800_000_000_000_000;
const MINUTE: u64 = 60 * 1_000_000;

#[test]
fn ten_kills_under_faults_lose_and_double_nothing() {
    soak(10, 1);
}

#[test]
fn forty_kills_under_faults_lose_and_double_nothing() {
    if std::env::var("TURNBRIDGE_TEST_SLOW").as_deref() != Ok("1") {
        return testkit::skipped("it is slow; set TURNBRIDGE_TEST_SLOW=1 to run it");
    }
    for seed in 2..6 {
        soak(40, seed);
    }
}

fn soak(kills: u64, seed: u64) {
    let Bridge { slack, world } = Bridge::new();
    let bridge = Bridge { slack, world: world.with("TURNBRIDGE_NOW", &START.to_string()) };
    // Hooks believe that a daemon lives, and start nobody.
    let daemon = bridge.world.hermetic.state_dir().join("daemon.lock");
    fs::create_dir_all(daemon.parent().unwrap()).unwrap();
    let held = turnbridge_store::file_lock::FileLock::acquire(&daemon, PATIENCE).unwrap();
    let turns = 4;
    for turn in 0..turns {
        let paragraph = format!("Paragraph of turn {turn}, {}\n\n", "on and on ".repeat(9));
        bridge.turn(&format!("prompt{}", "!".repeat(turn)), &paragraph.repeat(120));
    }
    drop(held);
    let faults = FaultMix::seeded(seed)
        .with(0.08, Fault::Reset(When::Before))
        .with(0.12, Fault::Reset(When::After))
        .with(0.05, Fault::Status(When::Before, 500))
        .with(0.08, Fault::Status(When::After, 503))
        .with(0.05, Fault::RateLimited(1))
        .with(0.06, Fault::CutBody)
        .with(0.04, Fault::Html)
        .with(0.04, Fault::Refuse)
        .with(0.02, Fault::Hang(When::Before))
        .with(0.02, Fault::Hang(When::After))
        .with(0.10, Fault::Delay(When::After, Duration::from_millis(30)));
    bridge.slack.fail_by_chance("*", faults);
    let mut killed = 0;
    let mut dice = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for run in 0..kills {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        let mut notifier = notifier(&bridge, START + run * 10 * MINUTE);
        std::thread::sleep(Duration::from_millis(dice % 250));
        killed += u64::from(notifier.try_wait().unwrap().is_none());
        notifier.kill().unwrap();
        notifier.wait().unwrap();
    }
    // Many end by themselves, because Slack sends them away; some must have been at work.
    assert!(killed > 0, "nobody was killed");
    bridge.slack.heal();
    for run in 0..20 {
        let now = START + (kills * 10 + run * 31) * MINUTE;
        notifier(&bridge, now).wait().unwrap();
        if bridge.waiting().is_empty() {
            break;
        }
    }
    assert_all_arrived(&bridge, turns);
}

fn notifier(bridge: &Bridge, now: u64) -> std::process::Child {
    let mut command = bridge.world.command("turnbridge-notify");
    command.env("TURNBRIDGE_NOW", now.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

#[track_caller]
fn assert_all_arrived(bridge: &Bridge, turns: usize) {
    assert_eq!(bridge.waiting(), Vec::<Value>::new());
    let mut threads = bridge.slack.threads();
    threads.sort_by_key(|thread| thread.parent.text.len());
    let parents: Vec<_> = threads.iter().map(|thread| thread.parent.text.clone()).collect();
    let expected: Vec<_> = (0..turns).map(|turn| format!("prompt{}", "!".repeat(turn))).collect();
    assert_eq!(parents, expected);
    for (turn, thread) in threads.iter().enumerate() {
        let parts = thread.replies.len();
        let texts: Vec<_> = thread.replies.iter().map(|reply| reply.text.as_str()).collect();
        for (number, text) in texts.iter().enumerate() {
            assert!(text.starts_with(&format!("({}/{parts})", number + 1)), "{turn}: {text}");
        }
        let said = texts.concat().matches(&format!("Paragraph of turn {turn},")).count();
        assert_eq!(said, 120, "turn {turn}");
    }
    assert_eq!(bridge.routes().len(), turns);
}
