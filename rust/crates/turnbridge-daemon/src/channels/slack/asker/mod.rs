//! Runs the thread that queries Slack for replies in this machine's threads, and judges the
//! messages that the socket could not judge. It runs until the connection closes, retries failures,
//! and respects Slack's rate limits.
//!
//! A *look* fetches the newest parents and the time of the newest reply to each. A *sweep* fetches
//! all parents back to this machine's oldest thread. A thread with new replies is read from its
//! mark on. `listening` in the core decides the intervals.

mod asker_status;
mod backoff;
mod call_pace;
mod judge;
mod pages;
mod reading;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use turnbridge_config::slack_connection::speed_up;
use turnbridge_core::slack::listening::{ThreadParent, look_every, share, sweep_every};
use turnbridge_core::slack::slack_ts::SlackTs;
use turnbridge_core::slack::thread_marks::{MarkChange, ThreadKey, begin_listening};
use turnbridge_slack::CallError;
use turnbridge_store::clock;
use turnbridge_store::state::routes;

use super::hearing::Hearing;
use asker_status::{AskerStatus, StatusSink};
use backoff::{Backoff, LONGEST_PAUSE};
use call_pace::CallPace;
use reading::{ThreadMessages, Unread};

/// An order to the asker's thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskerCommand {
    /// A message waits to be judged.
    Judge,
    /// There was a gap: all threads must be queried.
    CatchUp,
    /// The set of listeners has changed.
    Look,
    /// The app posted a message that may be another machine's.
    LookNow,
    Stop,
}

/// After this many failures, messages no longer wait for older ones.
const TRIES: u32 = 3;

/// The reason why a round ended early.
#[derive(Debug)]
enum AskerError {
    Slack(CallError),
    Files(std::io::Error),
}

impl AskerError {
    /// Returns whether all other calls would fail too until some time has passed.
    fn is_general(&self) -> bool {
        match self {
            AskerError::Slack(CallError::Refused { .. } | CallError::Ambiguous { .. }) => false,
            AskerError::Slack(_) | AskerError::Files(_) => true,
        }
    }

    fn is_refusal(&self, name: &str) -> bool {
        matches!(self, AskerError::Slack(CallError::Refused { error, .. }) if error == name)
    }
}

impl From<CallError> for AskerError {
    fn from(error: CallError) -> AskerError {
        AskerError::Slack(error)
    }
}

impl From<std::io::Error> for AskerError {
    fn from(error: std::io::Error) -> AskerError {
        AskerError::Files(error)
    }
}

/// The state of the asker's thread.
pub struct Asker {
    hearing: Arc<Hearing>,
    status: AskerStatus,
    /// Slack has named the direct message since the start.
    has_place: bool,
    /// The position of the sweep; `None` if none runs.
    sweep: Option<Sweep>,
    sweep_at: Instant,
    sweep_hold: Backoff,
    /// A sweep has finished since this connection opened.
    is_swept: bool,
    look_at: Instant,
    /// This machine's share of Slack's limit for `conversations.history` and
    /// `conversations.replies`.
    history: CallPace,
    replies: CallPace,
    /// The pause of all calls after a failure or a rate limit.
    held: Backoff,
    /// Waiting messages need a look, so that older messages come first.
    is_look_due: bool,
    was_look: bool,
    /// The parents that were fetched or seen.
    parents: BTreeMap<ThreadKey, ThreadParent>,
    /// Threads that were read without reaching the newest reply that Slack names.
    unreached: BTreeMap<ThreadKey, (SlackTs, Instant)>,
    /// Threads that must still be read, and read threads that wait for them.
    unread: BTreeMap<ThreadKey, Unread>,
    aside: BTreeMap<ThreadKey, ThreadMessages>,
    /// The number of replies of each thread when it was read.
    counts: BTreeMap<ThreadKey, u64>,
    /// Threads whose parent could not be fetched.
    unasked: BTreeMap<ThreadKey, Backoff>,
}

struct Sweep {
    from: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RoundResult {
    /// The newest parents were fetched, or no call was due.
    Done,
    /// The rate limit does not allow a call yet.
    Later,
}

/// Starts the thread. It ends by `Stop`, or when the sender of orders is dropped.
pub fn start(
    hearing: Arc<Hearing>,
    tell: StatusSink,
    orders: Receiver<AskerCommand>,
) -> std::io::Result<()> {
    let now = Instant::now();
    let asker = Asker {
        status: AskerStatus::new(Arc::clone(&hearing), tell),
        hearing,
        has_place: false,
        sweep: None,
        sweep_at: now,
        sweep_hold: Backoff::default(),
        is_swept: false,
        look_at: now,
        history: CallPace::default(),
        replies: CallPace::default(),
        held: Backoff::default(),
        is_look_due: false,
        was_look: false,
        parents: BTreeMap::new(),
        unreached: BTreeMap::new(),
        unread: BTreeMap::new(),
        aside: BTreeMap::new(),
        counts: BTreeMap::new(),
        unasked: BTreeMap::new(),
    };
    let builder = std::thread::Builder::new().name("slack-asker".to_owned());
    builder.stack_size(512 << 10).spawn(move || asker.run(&orders)).map(|_| ())
}

impl Asker {
    fn run(mut self, orders: &Receiver<AskerCommand>) {
        loop {
            let pause = self.next().saturating_duration_since(Instant::now());
            let mut order = match orders.recv_timeout(pause) {
                Ok(order) => Some(order),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            while let Some(next) = order {
                match next {
                    AskerCommand::Stop => return,
                    AskerCommand::CatchUp => self.begin_sweep(),
                    AskerCommand::LookNow => self.look_at = Instant::now(),
                    AskerCommand::Judge | AskerCommand::Look => {}
                }
                order = orders.try_recv().ok();
            }
            if self.hearing.state().is_stopped {
                return;
            }
            self.round();
        }
    }

    fn begin_sweep(&mut self) {
        self.hearing.state().is_caught_up = false;
        self.is_swept = false;
        self.sweep = None;
        self.sweep_at = Instant::now();
    }

    /// Returns when the next work is due if no order comes.
    fn next(&self) -> Instant {
        let now = Instant::now();
        let sweep = if self.sweep.is_some() { now } else { self.sweep_at };
        let look = if self.is_look_due { now } else { self.look_at };
        let page = self.sweep_hold.not_before(sweep).min(look);
        let page = page.max(self.history.ready_at(now, self.share()));
        let unread = self.unread.values().map(|unread| unread.backoff);
        let retries = unread.chain(self.unasked.values().copied());
        let due = retries.map(|backoff| backoff.not_before(now)).fold(page, Instant::min);
        self.held.not_before(due)
    }

    fn share(&self) -> Duration {
        share(&self.hearing.company()) / speed_up()
    }

    /// Does the work that is due. A message for this machine's threads waits until a look has read
    /// the threads, but only for a limited time if that fails.
    fn round(&mut self) {
        let now = Instant::now();
        let hold = self.held.left(now);
        let asked = if hold.is_zero() { self.ask(now) } else { Ok(RoundResult::Later) };
        self.hearing.state().is_caught_up = self.is_swept && !self.waits_for_threads();
        let is_long = hold > LONGEST_PAUSE / speed_up();
        let may_take = is_long || self.hearing.hears_in_order() || self.is_waited_out(&asked);
        let judged = self.judge(may_take);
        match asked.and_then(|asked| judged.map(|()| asked)) {
            Ok(RoundResult::Done) if !self.held.is_held(Instant::now()) => {
                self.held.well();
                if self.is_well() {
                    self.status.note_success();
                }
            }
            Ok(_) => {}
            Err(trouble) => self.hold(&trouble),
        }
        let every = look_every(&self.hearing.company());
        self.status.report(every);
    }

    /// Returns whether messages have waited long enough: the look is done, or it has failed
    /// repeatedly.
    fn is_waited_out(&self, asked: &Result<RoundResult, AskerError>) -> bool {
        match asked {
            Ok(asked) => *asked == RoundResult::Done && !self.waits_for_threads(),
            Err(AskerError::Slack(error)) if error.is_permanent() => true,
            Err(_) => self.held.failures() + 1 >= TRIES,
        }
    }

    fn waits_for_threads(&self) -> bool {
        self.unread.values().any(Unread::is_waited_for)
    }

    fn is_well(&self) -> bool {
        self.sweep_hold.failures() == 0 && self.unread.is_empty() && self.unasked.is_empty()
    }

    fn hold(&mut self, trouble: &AskerError) {
        self.held.fail(Instant::now(), trouble);
        self.status.note_failure(trouble);
    }

    fn ask(&mut self, now: Instant) -> Result<RoundResult, AskerError> {
        self.begin()?;
        let channel = self.find_place()?;
        self.find_since(&channel)?;
        self.retry_threads(now)?;
        self.is_look_due = !self.hearing.hears_in_order() && !self.heard_threads()?.is_empty();
        let is_sweep_due =
            (self.sweep.is_some() || now >= self.sweep_at) && !self.sweep_hold.is_held(now);
        let is_look_due = now >= self.look_at || self.is_look_due;
        if !is_sweep_due && !is_look_due {
            return Ok(RoundResult::Done);
        }
        let share = self.share();
        if now < self.history.ready_at(now, share) {
            return Ok(RoundResult::Later);
        }
        // During a long sweep or after a failure, every second page is a look.
        let is_first = self.sweep.is_none() && self.held.failures() == 0;
        let is_sweep = is_sweep_due && (is_first || !is_look_due || self.was_look);
        self.was_look = !is_sweep;
        self.history.note_call(now, share);
        let every = look_every(&self.hearing.company()) / speed_up();
        if is_sweep {
            // The first page of a sweep contains the newest parents.
            let is_look = self.sweep.is_none();
            match self.sweep_page(&channel) {
                Ok(is_over) => self.note_page(is_over),
                Err(trouble) if trouble.is_general() => return Err(trouble),
                Err(trouble) => {
                    self.hold_sweep(&trouble);
                    return Ok(RoundResult::Later);
                }
            }
            if !is_look {
                return Ok(if self.is_look_due { RoundResult::Later } else { RoundResult::Done });
            }
        } else {
            self.read_newest_threads(&channel)?;
        }
        self.look_at = Instant::now() + every;
        self.is_look_due = false;
        Ok(RoundResult::Done)
    }

    fn note_page(&mut self, is_over: bool) {
        self.sweep_hold.well();
        if is_over {
            self.sweep = None;
            self.is_swept = true;
            self.sweep_at = Instant::now() + sweep_every(&self.hearing.company()) / speed_up();
        }
    }

    /// Pauses the sweep. Looks at the newest threads continue.
    fn hold_sweep(&mut self, trouble: &AskerError) {
        if trouble.is_refusal("invalid_cursor") {
            self.sweep = None;
        }
        self.sweep_hold.fail(Instant::now(), trouble);
        self.status.note_failure(trouble);
    }

    /// Returns the direct message. This thread fetches it and the workspace only once.
    fn find_place(&mut self) -> Result<String, AskerError> {
        if let (true, Some(place)) = (self.has_place, self.hearing.place()) {
            return Ok(place.channel);
        }
        let (api, token) = (&self.hearing.api, &self.hearing.slack.bot_token);
        let identity = api.auth_test(token)?;
        let channel = api.open_dm(token, self.hearing.user_id())?;
        self.hearing.set_place(channel.clone(), identity.team_id, identity.enterprise_id);
        self.has_place = true;
        Ok(channel)
    }

    /// Stores that this machine listens from now on, before the first query. Replies in new threads
    /// then count, however late Slack responds.
    fn begin(&mut self) -> Result<(), AskerError> {
        let marks = self.hearing.marks();
        if marks.marks().begun().is_some() || marks.marks().since().is_some() {
            return Ok(());
        }
        drop(marks);
        let routes = routes::read(&self.hearing.paths)?;
        let threads = routes.iter().filter_map(|route| SlackTs::parse(&route.thread_ts));
        let wanted = SlackTs::from_micros(clock::now().as_micros());
        let begun = MarkChange::Begun { wanted, newest_thread: threads.max() };
        Ok(self.hearing.marks().change(begun)?)
    }

    /// Determines the time from which replies in older threads count.
    fn find_since(&mut self, channel: &str) -> Result<(), AskerError> {
        let marks = self.hearing.marks();
        let (begun, since) = (marks.marks().begun(), marks.marks().since());
        drop(marks);
        let (Some(begun), None) = (begun, since) else { return Ok(()) };
        let heard = std::fs::read_to_string(self.hearing.paths.slack_heard()).unwrap_or_default();
        let heard = SlackTs::parse(heard.trim());
        let newest = match heard {
            Some(_) => None,
            None => self.newest_message(channel)?,
        };
        let ts = begin_listening(heard, newest, begun.wanted);
        self.hearing.marks().change(MarkChange::Since { ts })?;
        let fields = [("since", ts.to_string().into())];
        self.hearing.log.info("listening for replies", &fields);
        Ok(())
    }
}
