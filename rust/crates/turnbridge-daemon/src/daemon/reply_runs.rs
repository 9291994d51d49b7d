//! Executes the next step of every reply in the inbox: posts to its thread, starts its run, and
//! finds out the result of killed runs. `reply_plan` decides the step.
//!
//! Messages go through the outbox, so that each arrives once. A reply advances when the outbox
//! reports that its message has arrived: the receipt is in the thread before the run begins
//! (SLV-37).

use std::collections::BTreeMap;
use std::io;
use std::process::Child;
use std::time::{Duration, Instant};

use turnbridge_core::agents::resume::LiveSession;
use turnbridge_core::ids::SessionKey;
use turnbridge_core::notices::notice::{Destination, Notice, ThreadPlace};
use turnbridge_core::replies::reply::ReplySource;
use turnbridge_core::replies::reply_plan::{self, PendingReply, ReplyConditions, ReplyStep, plan};
use turnbridge_core::replies::reply_texts::text_of;
use turnbridge_core::replies::thread_message::ThreadMessage;
use turnbridge_core::slack::thread_marks::ThreadKey;
use turnbridge_core::text::texts::Language;
use turnbridge_store::clock;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::inbox;
use turnbridge_store::state::outbox::{self, NoticeOutcome, Queued};
use turnbridge_system::replies::runs::{self, LastLooks, RunFinding};

use super::log::DaemonLog;
use super::reply_log::{self, ThreadMessageState};

/// The runners that were started, and the settings for replies.
pub struct ReplyRuns {
    paths: StatePaths,
    log: DaemonLog,
    /// Runners that this daemon started and that have not ended.
    launched: BTreeMap<String, Child>,
    /// The earliest restart of a runner that left no claim, since the disk may be full.
    again_at: BTreeMap<String, (u32, Instant)>,
    language: Language,
    live: LiveSession,
    are_under_way: bool,
    looks: LastLooks,
}

/// The limit of rounds: a reply with no step left finishes within a few, and more rounds are a bug.
const ROUNDS: usize = 16;

const FIRST_PAUSE: Duration = Duration::from_secs(2);

impl ReplyRuns {
    pub fn new(paths: StatePaths) -> ReplyRuns {
        let log = DaemonLog::new(&paths);
        let (launched, again_at) = (BTreeMap::new(), BTreeMap::new());
        let looks = LastLooks::new();
        let (language, live) = (Language::English, LiveSession::default());
        ReplyRuns { paths, log, launched, again_at, language, live, are_under_way: false, looks }
    }

    pub fn set_config(&mut self, language: Language, live: LiveSession) {
        self.language = language;
        self.live = live;
    }

    /// Returns whether the inbox had unfinished replies at the last step.
    pub fn are_under_way(&self) -> bool {
        self.are_under_way
    }

    /// Executes every step that is possible now. Returns whether it queued a notice.
    pub fn go_on(&mut self) -> bool {
        self.launched.retain(|_, child| !child.try_wait().is_ok_and(|ended| ended.is_some()));
        let mut has_queued = false;
        for _ in 0..ROUNDS {
            match self.round() {
                Ok(StepProgress::Idle) => break,
                Ok(StepProgress::Moved { queued }) => has_queued |= queued,
                Err(error) => {
                    self.log.error("the inbox", &[("error", error.to_string().into())]);
                    break;
                }
            }
        }
        has_queued
    }

    /// Finds the replies that Codex had in its queue and has begun since, and records that. It
    /// posts nothing in their thread: the turn has its own thread.
    pub fn find_begun(&mut self) {
        match runs::find_begun(&self.paths, &mut self.looks) {
            Err(error) => self.log.error("the inbox", &[("error", error.to_string().into())]),
            Ok(found) => {
                for (id, outcome) in found {
                    let fields = [("reply", id.into()), ("outcome", outcome.as_str().into())];
                    self.log.info("a queued reply has begun", &fields);
                }
            }
        }
    }

    fn round(&mut self) -> io::Result<StepProgress> {
        let mut entries = inbox::entries(&self.paths)?;
        self.are_under_way = !entries.is_empty();
        if entries.is_empty() {
            return Ok(StepProgress::Idle);
        }
        for entry in &mut entries {
            if let Some(told) = entry.telling
                && self.has_been_said(entry, told)?
            {
                inbox::mark_message_sent(&self.paths, &entry.reply.id, told)?;
                entry.told.push(told);
                entry.telling = None;
            }
        }
        let steps = {
            let is_later = |(_, at): &(u32, Instant)| Instant::now() < *at;
            let is_launched = |id: &str| {
                self.launched.contains_key(id) || self.again_at.get(id).is_some_and(is_later)
            };
            let now = clock::now();
            let is_open = |key: &SessionKey| match self.live {
                LiveSession::Pane => runs::is_open_and_busy(&self.paths, key, now),
                LiveSession::Run | LiveSession::Hold => runs::is_open(&self.paths, key, now),
            };
            let goes_into_terminal =
                |key: &SessionKey| runs::goes_into_terminal(&self.paths, key, self.live, now);
            let obstacle = |key: &SessionKey| runs::obstacle(&self.paths, key);
            let around = ReplyConditions {
                is_launched: &is_launched,
                is_open: &is_open,
                goes_into_terminal: &goes_into_terminal,
                obstacle: &obstacle,
                live: self.live,
            };
            plan(&entries, &around)
        };
        let mut progress = StepProgress::Idle;
        for step in steps {
            let entry = entries.iter().find(|entry| entry.reply.id == step.id());
            if let Some(entry) = entry {
                progress = progress.and(self.do_step(&step, entry)?);
            }
        }
        Ok(progress)
    }

    fn do_step(&mut self, step: &ReplyStep, entry: &PendingReply) -> io::Result<StepProgress> {
        let id = entry.reply.id.as_str();
        match step {
            ReplyStep::PostMessage(_, message) => return self.tell(entry, *message),
            ReplyStep::Run(_) => self.launch(id),
            ReplyStep::Stop(_) => {
                self.log.info("run is asked to stop", &[("reply", id.into())]);
                inbox::request_stop(&self.paths, id)?;
                if entry.progress == reply_plan::ReplyProgress::Unstopped {
                    // The stop was requested before. The next round checks it again.
                    return Ok(StepProgress::Idle);
                }
            }
            ReplyStep::FindOut(_) => return self.find_out(entry),
            ReplyStep::Finish(_) => {
                inbox::finish(&self.paths, id)?;
                self.again_at.remove(id);
                self.log.info("reply finished", &[("reply", id.into())]);
            }
        }
        Ok(StepProgress::Moved { queued: false })
    }

    fn find_out(&self, entry: &PendingReply) -> io::Result<StepProgress> {
        if runs::find_out(&self.paths, &entry.reply)? == RunFinding::NotYet {
            return Ok(StepProgress::Idle);
        }
        let id = entry.reply.id.as_str();
        let result = inbox::read_result(&self.paths, id);
        let outcome = result.map_or("unknown", |result| result.outcome.as_str());
        let fields = [("reply", id.into()), ("outcome", outcome.into())];
        self.log.warn("run died", &fields);
        Ok(StepProgress::Moved { queued: false })
    }

    fn launch(&mut self, id: &str) {
        let times = self.again_at.get(id).map_or(0, |(times, _)| times + 1);
        let pause = FIRST_PAUSE * 2_u32.pow(times.min(8));
        self.again_at.insert(id.to_owned(), (times, Instant::now() + pause));
        let fields = [("reply", id.into())];
        match runs::launch(id) {
            Ok(child) => {
                self.log.info("run started", &fields);
                self.launched.insert(id.to_owned(), child);
            }
            Err(error) => {
                let error = ("error", error.to_string().into());
                self.log.error("could not start a run", &[fields[0].clone(), error]);
            }
        }
    }

    /// Queues a message for the reply's thread, once.
    fn tell(&self, entry: &PendingReply, message: ThreadMessage) -> io::Result<StepProgress> {
        let id = entry.reply.id.as_str();
        let Some(thread) = thread_of(entry) else {
            // A reply from the board has no thread: the board shows its state.
            inbox::mark_message_sent(&self.paths, id, message)?;
            return Ok(StepProgress::Moved { queued: false });
        };
        if entry.telling == Some(message) {
            return Ok(StepProgress::Idle);
        }
        let to = entry.reply.to.clone();
        let text = self.text_of(entry, message);
        let notice = Notice::word(word_id(id, message), to, thread, text, clock::now());
        let queued = outbox::queue(&self.paths, &notice)? == Queued::New;
        inbox::mark_message_begun(&self.paths, id, message)?;
        let fields = reply_log::fields(entry, message, ThreadMessageState::Queued, clock::now());
        self.log.info("message for the thread queued", &fields);
        Ok(StepProgress::Moved { queued })
    }

    fn text_of(&self, entry: &PendingReply, message: ThreadMessage) -> String {
        let agent = entry.reply.session().map(|key| key.agent);
        let end = match &entry.progress {
            reply_plan::ReplyProgress::Ended(result) => Some(result),
            _ => None,
        };
        text_of(message, agent, end, self.language)
    }

    /// Returns whether the message needs no more waiting: it has arrived, or Slack has refused it
    /// permanently, which blocks no later step (SLV-81).
    fn has_been_said(&self, entry: &PendingReply, told: ThreadMessage) -> io::Result<bool> {
        let notice = word_id(&entry.reply.id, told);
        let fields = |word| reply_log::fields(entry, told, word, clock::now());
        match outbox::notice_outcome(&self.paths, &notice)? {
            NoticeOutcome::Waiting => return Ok(false),
            NoticeOutcome::Arrived => {
                self.log.info("posted to the thread", &fields(ThreadMessageState::Arrived))
            }
            NoticeOutcome::Held | NoticeOutcome::Unknown => {
                self.log
                    .error("could not post to the thread", &fields(ThreadMessageState::Refused));
            }
        }
        Ok(true)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepProgress {
    Idle,
    Moved { queued: bool },
}

impl StepProgress {
    fn and(self, other: StepProgress) -> StepProgress {
        match (self, other) {
            (StepProgress::Idle, one) | (one, StepProgress::Idle) => one,
            (StepProgress::Moved { queued: one }, StepProgress::Moved { queued: two }) => {
                StepProgress::Moved { queued: one || two }
            }
        }
    }
}

fn thread_of(entry: &PendingReply) -> Option<Destination> {
    let reply = &entry.reply;
    let ReplySource::Channel(name) = reply.source.clone() else { return None };
    let ThreadKey { channel, thread_ts } = reply.thread.clone()?;
    let thread = ThreadPlace { channel, thread_ts, after_ts: reply.ts.clone() };
    Some(Destination { channel: name, thread: Some(thread) })
}

fn word_id(reply: &str, told: ThreadMessage) -> String {
    format!("word-{reply}-{}", told.as_str())
}
