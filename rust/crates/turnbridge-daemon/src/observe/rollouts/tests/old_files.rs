//! Tests that thousands of old rollouts cost almost nothing.
//!
//! `TURNBRIDGE_TEST_SLOW=1 cargo test -p turnbridge-daemon --release -- --nocapture old_rollouts`
//! prints the figures for 10,000 files of 2 GB.

use std::sync::mpsc::channel;
use std::time::Instant;

use super::super::{RolloutChange, watch};
use super::places::set_age;
use super::*;

const MONTH: Duration = Duration::from_secs(30 * 24 * 3_600);

fn thread(number: u32) -> String {
    format!("01a1e18e-0000-7000-8000-{number:012}")
}

/// Creates old files, spread over realistic days.
fn fill(world: &RolloutWorld, files: u32, length: u64) {
    let head = {
        let start = now();
        NOW.set(start.minus(MONTH));
        let head = meta(THREAD) + &turn(1);
        NOW.set(start);
        head
    };
    for number in 0..files {
        let day =
            format!("{}/{:02}/{:02}", 2024 + number % 2, number / 2 % 12 + 1, number / 24 % 28 + 1);
        let path = world.rollout_on(&day, &thread(number));
        append(&path, &head);
        OpenOptions::new().append(true).open(&path).unwrap().set_len(length).unwrap();
        set_age(&path, MONTH);
    }
}

/// Returns the resident memory in KB, or 0 where it cannot be read.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}

#[expect(clippy::print_stderr, reason = "a test reports")]
fn check(files: u32, length: u64) {
    let world = RolloutWorld::new();
    fill(&world, files, length);
    let before = resident();
    let began = Instant::now();
    let (send, sights) = channel();
    let watch = watch(world.homes.clone(), move |sight| send.send(sight).is_ok()).unwrap();
    assert_eq!(sights.recv_timeout(Duration::from_secs(60)), Ok(RolloutChange::Rescan));
    let grown = resident().saturating_sub(before);
    eprintln!("{files} old files: watched after {:?}, {grown} KB more", began.elapsed());
    for start in ["the first", "the next"] {
        let began = Instant::now();
        let (follower, told) = world.open_telling();
        let grown = resident().saturating_sub(before);
        eprintln!("{files} old files: {start} start took {:?}, {grown} KB more", began.elapsed());
        assert_eq!(told, []);
        assert_eq!(world.sessions(), 0, "none of them is read");
        follower.close().unwrap();
        let remembered = fs::metadata(world.paths.codex_offsets()).unwrap().len();
        assert!(remembered < 1_000, "{remembered} bytes");
    }
    let mut follower = world.open();
    let path = world.rollout(THREAD);
    append(&path, meta(THREAD) + &turn(1));
    let began = Instant::now();
    assert_eq!(ids(&notices(follower.changed(&path))), [notice_id(THREAD, 1)]);
    eprintln!("{files} old files: a new turn took {:?}", began.elapsed());
    let began = Instant::now();
    assert_eq!(notices(follower.rescan()), []);
    eprintln!("{files} old files: a rescan took {:?}", began.elapsed());
    drop(watch);
}

#[test]
fn old_rollouts_are_neither_read_nor_remembered() {
    check(2_000, 4_096);
}

#[test]
fn ten_thousand_old_rollouts_of_two_gigabytes() {
    if testkit::skipped_as_slow() {
        return;
    }
    check(10_000, 200 << 10);
}
