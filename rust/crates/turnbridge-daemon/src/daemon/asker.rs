//! The thread that asks Slack for the replies in this machine's own threads, and judges what was
//! heard and could not be judged at once. It goes on for ever: what fails is tried again, and what
//! Slack asks to wait is waited.
//!
//! A *look* asks for the newest parents and the time of the newest reply to each; a *sweep* does so
//! for all parents back to the oldest thread of ours. A thread with something new is read from its
//! mark on. How often is `listening`'s.

mod call_pace;
mod judge;
mod pages;
mod telling;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use turnbridge_core::listening::{Parent, look_every, share, sweep_every};
use turnbridge_core::slack_ts::SlackTs;
use turnbridge_core::thread_marks::{MarkChange, ThreadKey, begin_listening};
use turnbridge_slack::CallError;
use turnbridge_store::log::Field;
use turnbridge_store::{clock, routes};

use super::hearing::Hearing;
use crate::notifier::haste;
use call_pace::CallPace;
use telling::Telling;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Something was heard that has to be judged.
    Judge,
    /// There was a gap: all threads are to be asked for.
    CatchUp,
    /// Who listens has changed.
    Look,
    /// Somebody has posted by our bot: another machine, perhaps.
    LookNow,
    Stop,
}

const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// After so many failures what was heard runs, whatever may have been said before it.
const TRIES: u32 = 2;
/// For what a person has to mend.
const LONGEST_PERMANENT: Duration = Duration::from_secs(5 * 60);

/// Why a round did not come to its end.
#[derive(Debug)]
enum Trouble {
    Slack(CallError),
    Files(std::io::Error),
}

impl From<CallError> for Trouble {
    fn from(error: CallError) -> Trouble {
        Trouble::Slack(error)
    }
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Trouble {
        Trouble::Files(error)
    }
}

pub struct Asker {
    hearing: Arc<Hearing>,
    telling: Telling,
    /// Slack itself has named the direct message since we started.
    has_place: bool,
    /// Where a sweep goes on; `None`: none is under way.
    sweep: Option<Sweep>,
    sweep_at: Instant,
    look_at: Instant,
    /// Our share of what Slack allows for `conversations.history` and `conversations.replies`.
    history: CallPace,
    replies: CallPace,
    /// Not before: something has failed, or Slack has asked to wait.
    held_until: Option<Instant>,
    failures: u32,
    /// What was heard waits for a look, so that what was said before it comes first.
    is_look_due: bool,
    was_look: bool,
    /// Parents that were asked for, or seen.
    parents: BTreeMap<ThreadKey, Parent>,
    /// Threads that were read without reaching what Slack calls their newest reply.
    unreached: BTreeMap<ThreadKey, (SlackTs, Instant)>,
}

struct Sweep {
    from: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// Everything that is newest has been asked for, or nothing was due.
    Done,
    /// It is not our turn yet.
    Later,
}

pub fn start(hearing: Arc<Hearing>, orders: Receiver<Order>) -> std::io::Result<()> {
    let now = Instant::now();
    let asker = Asker {
        telling: Telling::new(Arc::clone(&hearing)),
        hearing,
        has_place: false,
        sweep: None,
        sweep_at: now,
        look_at: now,
        history: CallPace::default(),
        replies: CallPace::default(),
        held_until: None,
        failures: 0,
        is_look_due: false,
        was_look: false,
        parents: BTreeMap::new(),
        unreached: BTreeMap::new(),
    };
    let builder = std::thread::Builder::new().name("slack-asker".to_owned());
    builder.stack_size(512 << 10).spawn(move || asker.run(&orders)).map(|_| ())
}

impl Asker {
    fn run(mut self, orders: &Receiver<Order>) {
        loop {
            let pause = self.next().saturating_duration_since(Instant::now());
            let mut order = match orders.recv_timeout(pause) {
                Ok(order) => Some(order),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            while let Some(next) = order {
                match next {
                    Order::Stop => return,
                    Order::CatchUp => self.begin_sweep(),
                    Order::LookNow => self.look_at = Instant::now(),
                    Order::Judge | Order::Look => {}
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
        self.sweep = None;
        self.sweep_at = Instant::now();
    }

    /// When there is something to do, unless something happens.
    fn next(&self) -> Instant {
        let is_soon = self.sweep.is_some() || self.is_look_due;
        let now = Instant::now();
        let due = if is_soon { now } else { self.look_at.min(self.sweep_at) };
        let due = due.max(self.history.ready_at(now, self.share()));
        self.held_until.map_or(due, |until| due.max(until))
    }

    fn share(&self) -> Duration {
        share(&self.hearing.company()) / haste()
    }

    /// Does what is due. What was heard for a thread of ours waits until the threads were looked at,
    /// but not for ever: not while that fails.
    fn round(&mut self) {
        let now = Instant::now();
        let hold = self.held_until.map(|until| until.saturating_duration_since(now));
        let asked = match hold {
            Some(hold) if !hold.is_zero() => Ok(Asked::Later),
            _ => {
                self.held_until = None;
                self.ask(now)
            }
        };
        let is_long = hold.is_some_and(|hold| hold > LONGEST_PAUSE / haste());
        let may_take = is_long || self.is_in_the_way(&asked);
        let judged = self.judge(may_take);
        match asked.and_then(|asked| judged.map(|()| asked)) {
            Ok(Asked::Done) => {
                self.failures = 0;
                self.telling.well();
            }
            Ok(Asked::Later) => {}
            Err(trouble) => self.hold(&trouble),
        }
        let every = look_every(&self.hearing.company());
        self.telling.tell(every);
    }

    /// Whether what was heard is not to wait for a look any longer: it was made, or it fails.
    fn is_in_the_way(&self, asked: &Result<Asked, Trouble>) -> bool {
        match asked {
            Ok(asked) => *asked == Asked::Done,
            Err(Trouble::Slack(error)) if error.is_permanent() => true,
            Err(_) => self.failures >= TRIES,
        }
    }

    fn hold(&mut self, trouble: &Trouble) {
        let doubled = FIRST_PAUSE * 2_u32.pow(self.failures.min(10));
        let pause = match trouble {
            Trouble::Slack(CallError::RateLimited { after }) => *after,
            Trouble::Slack(error) if error.is_permanent() => doubled.min(LONGEST_PERMANENT),
            Trouble::Slack(_) | Trouble::Files(_) => doubled.min(LONGEST_PAUSE),
        };
        self.failures = self.failures.saturating_add(1);
        self.held_until = Some(Instant::now() + pause / haste());
        self.telling.trouble(trouble);
    }

    fn ask(&mut self, now: Instant) -> Result<Asked, Trouble> {
        self.begin()?;
        let channel = self.find_place()?;
        self.find_since(&channel)?;
        self.is_look_due = !self.hearing.hears_in_order() && !self.heard_threads()?.is_empty();
        let is_sweep_due = self.sweep.is_some() || now >= self.sweep_at;
        let is_look_due = now >= self.look_at || self.is_look_due;
        if !is_sweep_due && !is_look_due {
            return Ok(Asked::Done);
        }
        let share = self.share();
        if now < self.history.ready_at(now, share) {
            return Ok(Asked::Later);
        }
        // While a sweep is long, every second page is a look.
        let is_sweep = is_sweep_due && (self.sweep.is_none() || !is_look_due || self.was_look);
        self.was_look = !is_sweep;
        self.history.take(now, share);
        let every = look_every(&self.hearing.company()) / haste();
        if is_sweep {
            // Its first page has the newest parents.
            let is_look = self.sweep.is_none();
            if self.sweep_page(&channel)? {
                self.sweep = None;
                self.hearing.state().is_caught_up = true;
                self.sweep_at = Instant::now() + sweep_every(&self.hearing.company()) / haste();
            }
            if !is_look {
                return Ok(if self.is_look_due { Asked::Later } else { Asked::Done });
            }
        } else {
            self.look(&channel)?;
        }
        self.look_at = Instant::now() + every;
        self.is_look_due = false;
        Ok(Asked::Done)
    }

    /// The direct message and the workspace, asked for once in the life of the daemon.
    fn find_place(&mut self) -> Result<String, Trouble> {
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

    /// Writes down that this machine listens from now on, before anything is asked for: what is said
    /// in the threads that come meanwhile counts, however late Slack answers.
    fn begin(&mut self) -> Result<(), Trouble> {
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

    /// Finds out from when on replies in older threads count.
    fn find_since(&mut self, channel: &str) -> Result<(), Trouble> {
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
        let fields = [("since", Field::Text(ts.to_string()))];
        self.hearing.log.info("replies are listened for", &fields);
        Ok(())
    }
}
