//! What follows from each answer of Slack: how often a call is repeated, what is waited for, what is kept.

use std::collections::VecDeque;

use turnbridge_core::text::texts::Language;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::outbox;

use super::super::drain::drain;
use super::*;
use crate::channels::slack::plan::Settings;

/// Refuses posts as it is told, and takes them afterwards.
#[derive(Default)]
struct Scripted {
    refusals: RefCell<VecDeque<CallError>>,
    /// Whether each post had a block.
    posts: RefCell<Vec<bool>>,
}

impl Scripted {
    fn refusing(refusals: impl IntoIterator<Item = CallError>) -> Scripted {
        let refusals = RefCell::new(refusals.into_iter().collect());
        Scripted { refusals, ..Scripted::default() }
    }
}

impl Slack for Scripted {
    fn open_dm(&self, _: &str) -> Result<String, CallError> {
        Ok("D1".to_owned())
    }

    fn latest_ts(&self, _: &str) -> Result<Option<String>, CallError> {
        Ok(None)
    }

    fn post(&self, post: &Post<'_>) -> Result<String, CallError> {
        let mut posts = self.posts.borrow_mut();
        posts.push(post.markdown.is_some());
        let refusal = self.refusals.borrow_mut().pop_front();
        refusal.map_or_else(|| Ok(format!("{}.000000", posts.len())), Err)
    }

    fn find(&self, _: &Wanted<'_>) -> Result<Option<String>, CallError> {
        Ok(None)
    }
}

/// Writes down what would have been slept.
#[derive(Default)]
struct Clockwork(RefCell<Vec<Duration>>);

impl Pace for Clockwork {
    fn sleep(&self, time: Duration) {
        self.0.borrow_mut().push(time);
    }

    fn before_post(&mut self) {}
}

fn not_sent() -> CallError {
    CallError::NotSent { cause: Obstacle::HostNotFound }
}

fn refused(error: &str) -> CallError {
    CallError::Refused {
        error: error.to_owned(),
        needed: None,
        provided: None,
        messages: Vec::new(),
    }
}

fn limited(seconds: u64) -> CallError {
    CallError::RateLimited { after: Duration::from_secs(seconds) }
}

/// One attempt: what came of it, and the seconds that were slept.
fn attempt(
    slack: &Scripted,
    messages: Vec<Message>,
    disk: &Disk,
) -> (Result<(), Trouble>, Vec<f64>) {
    let notice = notice();
    let mut progress = Progress { messages, ..Progress::default() };
    let mut pace = Clockwork::default();
    let mut delivery =
        Delivery { notice: &notice, progress: &mut progress, slack, pace: &mut pace };
    let mut keep = disk;
    let result = delivery.run("U1", &mut keep);
    (result, pace.0.take().iter().map(Duration::as_secs_f64).collect())
}

#[test]
fn slv_78_x48_a_call_is_repeated_twice_in_an_attempt_and_then_left_for_later() {
    let slack = Scripted::refusing((0..10).map(|_| not_sent()));
    let (result, slept) = attempt(&slack, messages(), &Disk::default());
    assert!(matches!(result, Err(Trouble::Later { after: None, .. })), "{result:?}");
    assert_eq!(slack.posts.borrow().len(), 3);
    assert_eq!(slept, [0.5, 1.0]);
}

#[test]
fn a_short_wait_that_slack_asks_for_is_slept_and_a_long_one_is_for_the_next_attempt() {
    let slack = Scripted::refusing([limited(30)]);
    let (result, slept) = attempt(&slack, messages(), &Disk::default());
    assert_eq!((result, slept), (Ok(()), vec![30.0]));
    let slack = Scripted::refusing([limited(31)]);
    let (result, slept) = attempt(&slack, messages(), &Disk::default());
    let after = Some(Duration::from_secs(31));
    assert!(
        matches!(&result, Err(Trouble::Later { after: wanted, .. }) if *wanted == after),
        "{result:?}"
    );
    assert_eq!(slept, [0.0; 0]);
    assert_eq!(slack.posts.borrow().len(), 1);
}

#[test]
fn slv_32_the_route_is_kept_when_the_parent_has_arrived_and_not_only_at_the_end() {
    // The parent is taken, and then nothing more.
    struct ParentOnly(Scripted);
    impl Slack for ParentOnly {
        fn open_dm(&self, user: &str) -> Result<String, CallError> {
            self.0.open_dm(user)
        }
        fn latest_ts(&self, channel: &str) -> Result<Option<String>, CallError> {
            self.0.latest_ts(channel)
        }
        fn post(&self, post: &Post<'_>) -> Result<String, CallError> {
            match post.thread_ts {
                Some(_) => Err(refused("is_archived")),
                None => self.0.post(post),
            }
        }
        fn find(&self, wanted: &Wanted<'_>) -> Result<Option<String>, CallError> {
            self.0.find(wanted)
        }
    }
    let (notice, disk) = (notice(), Disk::default());
    let mut progress = Progress { messages: messages(), ..Progress::default() };
    let mut delivery = Delivery {
        notice: &notice,
        progress: &mut progress,
        slack: &ParentOnly(Scripted::default()),
        pace: &mut Hurry,
    };
    assert!(delivery.run("U1", &mut &disk).is_err());
    assert_eq!(*disk.routes.borrow(), ["1.000000"]);
}

#[test]
fn a_block_that_slack_refuses_is_left_out_and_the_words_arrive() {
    let message = Message { text: "words".to_owned(), markdown: Some("**words**".to_owned()) };
    for error in ["invalid_blocks", "invalid_blocks_format"] {
        let slack = Scripted::refusing([refused(error)]);
        let (result, _) = attempt(&slack, vec![message.clone()], &Disk::default());
        assert_eq!(result, Ok(()), "{error}");
        assert_eq!(*slack.posts.borrow(), [true, false], "{error}");
    }
    // Without a block it is no reason to post the same again.
    let plain = Message { markdown: None, ..message };
    let slack = Scripted::refusing([refused("invalid_blocks")]);
    assert!(attempt(&slack, vec![plain], &Disk::default()).0.is_err());
    assert_eq!(*slack.posts.borrow(), [false]);
}

#[test]
fn a_wait_that_slack_asks_for_is_kept_for_the_next_attempt() {
    let folder = tempfile::tempdir().unwrap();
    let paths = StatePaths::below(&folder.path().join("state"));
    let notice = Notice { prompt: Some("go".to_owned()), ..notice() };
    outbox::queue(&paths, &notice).unwrap();
    let settings = Settings {
        target_user_id: "U1".to_owned(),
        language: Language::English,
        log: "log".to_owned(),
    };
    let slack = Scripted::refusing([limited(600)]);
    let drained = drain(&paths, &settings, &slack, &mut Clockwork::default()).unwrap();
    assert_eq!((drained.arrived, drained.failed), (0, 1));
    let progress = outbox::read(&paths, &notice.id).unwrap().progress;
    assert_eq!((progress.attempts, progress.pause_seconds), (1, 600));
    // Nothing is asked of Slack before that.
    let drained = drain(&paths, &settings, &slack, &mut Clockwork::default()).unwrap();
    assert_eq!((drained.arrived, drained.failed), (0, 0));
    assert_eq!(slack.posts.borrow().len(), 1);
}
