//! Tests that the system's real file watcher reports new files, lines and folders of Codex without
//! a rescan.

use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use super::super::{RolloutChange, RolloutWatch, watch};
use super::*;

/// The timeout: far above the needed time, and far below the rescan interval.
const TIMEOUT: Duration = Duration::from_secs(20);

struct Watched {
    sights: Receiver<RolloutChange>,
    _watch: RolloutWatch,
}

impl Watched {
    /// Waits until the watch has begun.
    fn new(world: &RolloutWorld) -> Watched {
        let (send, sights) = channel();
        let watch = watch(world.homes.clone(), move |sight| send.send(sight).is_ok()).unwrap();
        assert_eq!(sights.recv_timeout(TIMEOUT), Ok(RolloutChange::Rescan));
        Watched { sights, _watch: watch }
    }

    /// Passes the reports to the follower, without any rescan, until it returns a notice.
    #[track_caller]
    fn wait_for_notice(&self, follower: &mut Follower) -> Vec<Notice> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let told = match self.sights.recv_timeout(left).expect("nothing was seen") {
                RolloutChange::Changed(path) => notices(follower.changed(&path)),
                RolloutChange::Rescan => continue,
                RolloutChange::Blind(reason) => panic!("{reason}"),
            };
            if !told.is_empty() {
                return told;
            }
        }
    }
}

#[test]
fn a_new_file_and_a_new_line_are_seen_without_a_rescan() {
    let world = RolloutWorld::new();
    let path = world.rollout(THREAD);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let watched = Watched::new(&world);
    let mut follower = world.open();
    let began = Instant::now();
    append(&path, meta(THREAD) + &turn(1));
    assert_eq!(ids(&watched.wait_for_notice(&mut follower)), [notice_id(THREAD, 1)]);
    report("a new file", began);
    let began = Instant::now();
    append(&path, turn(2));
    assert_eq!(ids(&watched.wait_for_notice(&mut follower)), [notice_id(THREAD, 2)]);
    report("a new line", began);
    let archived = world.homes[0].join("archived_sessions").join(path.file_name().unwrap());
    fs::create_dir_all(archived.parent().unwrap()).unwrap();
    fs::rename(&path, &archived).unwrap();
    append(&archived, turn(3));
    assert_eq!(ids(&watched.wait_for_notice(&mut follower)), [notice_id(THREAD, 3)]);
}

#[test]
fn the_folders_of_a_new_month_are_watched_from_the_moment_they_are_made() {
    let world = RolloutWorld::new();
    fs::create_dir_all(world.homes[0].join("sessions/2026/11/30")).unwrap();
    let watched = Watched::new(&world);
    let mut follower = world.open();
    let began = Instant::now();
    append(&world.rollout_on("2026/12/01", THREAD), meta(THREAD) + &turn(1));
    assert_eq!(ids(&watched.wait_for_notice(&mut follower)), [notice_id(THREAD, 1)]);
    report("a new folder", began);
    append(&world.rollout_on("2026/12/01", THREAD), turn(2));
    assert_eq!(ids(&watched.wait_for_notice(&mut follower)), [notice_id(THREAD, 2)]);
    append(&world.rollout_on("2027/01/01", OTHER), meta(OTHER) + &turn(3));
    assert_eq!(ids(&watched.wait_for_notice(&mut follower)), [notice_id(OTHER, 3)]);
}

/// Each time creates three folders, the inner ones while the outer one is being listed.
#[test]
fn kt_45_of_hundreds_of_new_months_none_stays_unwatched() {
    let world = RolloutWorld::new();
    fs::create_dir_all(world.homes[0].join("sessions")).unwrap();
    let watched = Watched::new(&world);
    let mut follower = world.open();
    for number in 0..300 {
        let thread = format!("01a1e18e-2062-79f1-b187-{number:012}");
        let path = world.rollout_on(&format!("{}/{:02}/01", 2100 + number, number % 12), &thread);
        append(&path, meta(&thread) + &turn(1));
        assert_eq!(ids(&watched.wait_for_notice(&mut follower)), [notice_id(&thread, 1)]);
        append(&path, turn(2));
        assert_eq!(ids(&watched.wait_for_notice(&mut follower)), [notice_id(&thread, 2)]);
    }
}

#[test]
fn a_home_that_appears_later_is_watched_then() {
    let world = RolloutWorld::new();
    let watched = Watched::new(&world);
    let mut follower = world.open();
    append(&world.rollout(THREAD), meta(THREAD) + &turn(1));
    assert_eq!(ids(&watched.wait_for_notice(&mut follower)), [notice_id(THREAD, 1)]);
    append(&world.rollout(THREAD), turn(2));
    assert_eq!(ids(&watched.wait_for_notice(&mut follower)), [notice_id(THREAD, 2)]);
}

#[cfg(target_os = "linux")]
#[test]
fn reading_a_file_is_no_change_of_it() {
    let world = RolloutWorld::new();
    let path = world.rollout(THREAD);
    append(&path, meta(THREAD));
    let watched = Watched::new(&world);
    fs::read(&path).unwrap();
    append(&world.rollout(OTHER), meta(OTHER));
    assert_eq!(
        watched.sights.recv_timeout(TIMEOUT),
        Ok(RolloutChange::Changed(world.rollout(OTHER))),
        "the file that was only read"
    );
}

/// Prints the delay with `--nocapture`. It is not asserted, since the machine may be busy.
#[expect(clippy::print_stderr, reason = "a test reports")]
fn report(what: &str, began: Instant) {
    eprintln!("{what} was told after {:?}", began.elapsed());
}
