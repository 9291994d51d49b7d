//! Tests that the parts of a notice arrive once and in order in a failing Slack, while processes
//! are killed at random points. The other tests of delivery use its helpers.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use turnbridge_core::ids::{ChannelName, NamedSession, SessionKey};
use turnbridge_core::notices::notice::{Destination, Notice, ThreadPlace};
use turnbridge_core::notices::progress::{NoticeMessage, NoticeProgress};
use turnbridge_core::timestamp::Timestamp;

use crate::channels::channel::{
    Channel, ChannelError, ChannelPost, ChannelSearch, FoundTexts, OpenChannel, ThreadStart,
};
use crate::delivery::one_delivery::{DeliveryFailure, DeliveryStore, NoticeDelivery, Pace};

mod answers;
mod file_channel;
mod scripted;

/// A message that Slack has accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TakenMessage {
    id: String,
    text: String,
    parent: Option<String>,
}

/// A random generator that repeats its sequence for the same seed.
struct DeliveryRng(Cell<u64>);

impl DeliveryRng {
    fn roll(&self, sides: u64) -> u64 {
        let mut x = self.0.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.0.set(x);
        x % sides
    }
}

struct Faulty<'a> {
    taken: &'a RefCell<Vec<TakenMessage>>,
    routes: &'a RefCell<Vec<String>>,
    rng: &'a DeliveryRng,
    /// The number of failures in twelve calls.
    faults: u64,
    /// The number of calls until the process is killed.
    life: Cell<u32>,
}

struct Killed;

impl Faulty<'_> {
    fn live(&self) {
        if self.life.get() == 0 {
            resume_unwind(Box::new(Killed));
        }
        self.life.set(self.life.get() - 1);
    }

    fn fault(&self) -> Option<ChannelError> {
        let cause = || "reset".to_owned();
        let limited = |seconds| ChannelError::RateLimited {
            after: Duration::from_secs(seconds),
            cause: cause(),
        };
        match self.rng.roll(12) {
            face if face >= self.faults => None,
            0 => Some(ChannelError::NotDone { cause: cause() }),
            1 => Some(limited(2)),
            2 => Some(limited(600)),
            _ => Some(ChannelError::MayBeDone { cause: cause() }),
        }
    }
}

impl Channel for Faulty<'_> {
    fn name(&self) -> ChannelName {
        ChannelName::SLACK
    }

    fn render(&self, _: &Notice, _: FoundTexts) -> Vec<NoticeMessage> {
        messages()
    }

    fn begin(&mut self) -> Result<ThreadStart, ChannelError> {
        self.live();
        self.fault().map_or(Ok(ThreadStart { place: "D1".to_owned(), after: None }), Err)
    }

    fn post(&mut self, post: &ChannelPost<'_>) -> Result<String, ChannelError> {
        self.live();
        let fault = self.fault();
        // An ambiguous call has posted in half of the cases.
        let is_taken = match &fault {
            None => true,
            Some(ChannelError::MayBeDone { .. }) => self.rng.roll(2) == 0,
            Some(_) => false,
        };
        let mut taken = self.taken.borrow_mut();
        if is_taken {
            taken.push(TakenMessage {
                id: post.id.to_owned(),
                text: post.message.text.clone(),
                parent: post.parent.map(str::to_owned),
            });
        }
        let posted = format!("{}.000000", taken.len());
        drop(taken);
        // The process may be killed before it reads the response.
        self.live();
        fault.map_or(Ok(posted), Err)
    }

    fn update(&mut self, _: &str, _: &str, _: &NoticeMessage) -> Result<(), ChannelError> {
        unreachable!("a delivery changes nothing")
    }

    fn find(&mut self, wanted: &ChannelSearch<'_>) -> Result<Option<String>, ChannelError> {
        self.live();
        if let Some(fault) = self.fault() {
            return Err(fault);
        }
        let taken = self.taken.borrow();
        let position = taken.iter().position(|taken| taken.id == wanted.id);
        Ok(position.map(|position| format!("{}.000000", position + 1)))
    }

    fn keep_route(&mut self, _: &Notice, _: &str, parent: &str) -> std::io::Result<()> {
        let mut routes = self.routes.borrow_mut();
        if !routes.iter().any(|route| route == parent) {
            routes.push(parent.to_owned());
        }
        Ok(())
    }
}

struct NoPause;

impl Pace for NoPause {
    fn sleep(&self, _: Duration) {}
}

/// The stored state, which survives the process.
#[derive(Default)]
struct Disk {
    progress: RefCell<Option<NoticeProgress>>,
}

impl DeliveryStore for &Disk {
    fn save(&mut self, progress: &NoticeProgress) -> std::io::Result<()> {
        *self.progress.borrow_mut() = Some(progress.clone());
        Ok(())
    }
}

const NOW: Timestamp = Timestamp::from_millis(1_794_787_200_000);

fn notice() -> Notice {
    let key = SessionKey::of("claude", "s").unwrap();
    Notice::turn("claude-1".to_owned(), key, NOW)
}

fn messages() -> Vec<NoticeMessage> {
    let message = |number| NoticeMessage { text: format!("part {number}"), markdown: None };
    (0..5).map(message).collect()
}

/// Runs one process to its end. Returns `None` if it was killed.
fn attempt(
    notice: &Notice,
    disk: &Disk,
    channel: &mut Faulty<'_>,
) -> Option<Result<(), DeliveryFailure>> {
    let mut progress = disk.progress.borrow().clone().unwrap_or_default();
    progress.messages = messages();
    let mut delivery = NoticeDelivery { notice, progress: &mut progress, channel, pace: &NoPause };
    let mut keep = disk;
    let run = AssertUnwindSafe(|| delivery.run(&mut keep));
    match catch_unwind(run) {
        Ok(result) => Some(result),
        Err(cause) if cause.is::<Killed>() => None,
        Err(cause) => resume_unwind(cause),
    }
}

#[test]
fn every_part_arrives_once_and_in_order_whatever_fails_and_whoever_is_killed() {
    check_deliveries(&notice(), |number| (number > 0).then_some("1.000000"));
}

#[test]
fn a_notice_of_which_nothing_was_sent_goes_to_whom_the_config_names_now() {
    let begun = |intent| NoticeProgress {
        channel: Some("D0OLD".to_owned()),
        intent,
        ..NoticeProgress::default()
    };
    for (progress, channel) in [(begun(false), "D1"), (begun(true), "D0OLD")] {
        let (taken, routes, rng) =
            (RefCell::default(), RefCell::default(), DeliveryRng(Cell::new(1)));
        let life = Cell::new(u32::MAX);
        let mut slack = Faulty { taken: &taken, routes: &routes, rng: &rng, faults: 0, life };
        let disk = Disk { progress: RefCell::new(Some(progress)) };
        assert!(matches!(attempt(&notice(), &disk, &mut slack), Some(Ok(()))));
        assert_eq!(disk.progress.borrow().as_ref().unwrap().channel.as_deref(), Some(channel));
    }
}

#[test]
fn a_word_in_a_thread_arrives_once_in_that_thread() {
    let thread = ThreadPlace {
        channel: "D1".to_owned(),
        thread_ts: "0.000500".to_owned(),
        after_ts: "0.000900".to_owned(),
    };
    let nobody = NamedSession::nobody();
    let to = Destination { channel: ChannelName::SLACK, thread: Some(thread) };
    let word = Notice::word("claude-1".to_owned(), nobody, to, "received".to_owned(), NOW);
    check_deliveries(&word, |_| Some("0.000500"));
}

#[track_caller]
fn check_deliveries(notice: &Notice, thread_ts: impl Fn(usize) -> Option<&'static str>) {
    let mut kills = 0;
    for seed in 1..2_000_u64 {
        let rng = DeliveryRng(Cell::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1));
        let (taken, routes) = (RefCell::default(), RefCell::default());
        let disk = Disk::default();
        for round in 0.. {
            assert!(round < 500, "seed {seed}: it never arrives");
            // Faults end after some rounds.
            let faults = if round < 40 { rng.roll(9) } else { 0 };
            let life = if round < 40 { rng.roll(12) as u32 } else { 1_000 };
            let life = Cell::new(life);
            let mut slack = Faulty { taken: &taken, routes: &routes, rng: &rng, faults, life };
            match attempt(notice, &disk, &mut slack) {
                Some(Ok(())) => break,
                Some(Err(_)) => {}
                None => kills += 1,
            }
        }
        let expected: Vec<_> = messages()
            .into_iter()
            .enumerate()
            .map(|(number, message)| TakenMessage {
                id: format!("claude-1/{number}"),
                text: message.text,
                parent: thread_ts(number).map(str::to_owned),
            })
            .collect();
        assert_eq!(*taken.borrow(), expected, "seed {seed}");
        assert_eq!(*routes.borrow(), ["1.000000"], "seed {seed}");
    }
    assert!(kills > 1_000, "only {kills} kills");
}
