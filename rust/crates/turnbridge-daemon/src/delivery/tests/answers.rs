//! Tests how a delivery treats each response of a service: retries, pauses, and stored progress.

use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::outbox;

use super::super::drain::drain;
use super::scripted::{RecordedPauses, Scripted};
use super::*;

fn not_done() -> ChannelError {
    ChannelError::NotDone { cause: "its name was not found".to_owned() }
}

fn limited(seconds: u64) -> ChannelError {
    let cause = "asks to wait".to_owned();
    ChannelError::RateLimited { after: Duration::from_secs(seconds), cause }
}

/// Makes one attempt. Returns its result and the seconds of its sleeps.
fn attempt(channel: &mut Scripted, disk: &Disk) -> (Result<(), DeliveryFailure>, Vec<f64>) {
    let notice = notice();
    let mut progress = NoticeProgress { messages: messages(), ..NoticeProgress::default() };
    let pace = RecordedPauses::default();
    let mut delivery =
        NoticeDelivery { notice: &notice, progress: &mut progress, channel, pace: &pace };
    let mut keep = disk;
    let result = delivery.run(&mut keep);
    (result, pace.0.take().iter().map(Duration::as_secs_f64).collect())
}

#[test]
fn slv_78_x48_a_call_is_repeated_twice_in_an_attempt_and_then_left_for_later() {
    let mut channel = Scripted::refusing((0..10).map(|_| not_done()));
    let (result, slept) = attempt(&mut channel, &Disk::default());
    assert!(matches!(result, Err(DeliveryFailure::Later { after: None, .. })), "{result:?}");
    assert_eq!(channel.posts.len(), 3);
    assert_eq!(slept, [0.5, 1.0]);
}

#[test]
fn a_short_wait_that_slack_asks_for_is_slept_and_a_long_one_is_for_the_next_attempt() {
    let mut channel = Scripted::refusing([limited(30)]);
    let (result, slept) = attempt(&mut channel, &Disk::default());
    assert_eq!((result, slept), (Ok(()), vec![30.0]));
    let mut channel = Scripted::refusing([limited(31)]);
    let (result, slept) = attempt(&mut channel, &Disk::default());
    let after = Some(Duration::from_secs(31));
    assert!(
        matches!(&result, Err(DeliveryFailure::Later { after: wanted, .. }) if *wanted == after),
        "{result:?}"
    );
    assert_eq!(slept, [0.0; 0]);
    assert_eq!(channel.posts.len(), 1);
}

#[test]
fn slv_32_the_route_is_kept_when_the_parent_has_arrived_and_not_only_at_the_end() {
    let mut channel = Scripted { refuses_answers: true, ..Scripted::default() };
    assert!(attempt(&mut channel, &Disk::default()).0.is_err());
    assert_eq!(channel.routes, ["1.000000"]);
}

#[test]
fn a_wait_that_slack_asks_for_is_kept_for_the_next_attempt() {
    let folder = tempfile::tempdir().unwrap();
    let paths = StatePaths::below(&folder.path().join("state"));
    let notice = Notice { prompt: Some("go".to_owned()), ..notice() };
    outbox::queue(&paths, &notice).unwrap();
    let mut channels: [OpenChannel; 1] = [Box::new(Scripted::refusing([limited(600)]))];
    let drained = drain(&paths, &mut channels, &RecordedPauses::default()).unwrap();
    assert_eq!((drained.arrived, drained.failed), (0, 1));
    let entry = outbox::read_for(&paths, &notice.id, &ChannelName::SLACK).unwrap();
    assert_eq!((entry.progress.attempts, entry.progress.pause_seconds), (1, 600));
    // The service gets no call before that.
    let drained = drain(&paths, &mut channels, &RecordedPauses::default()).unwrap();
    assert_eq!((drained.arrived, drained.failed), (0, 0));
    let entry = outbox::read_for(&paths, &notice.id, &ChannelName::SLACK).unwrap();
    assert_eq!(entry.progress.attempts, 1);
}
