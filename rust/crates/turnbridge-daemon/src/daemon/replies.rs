//! Brings every reply that has come in to its end: tells its thread, starts its run, looks after
//! runs that were killed. What to do next is `reply_plan`'s; here it is done.
//!
//! What is told goes through the outbox, so that it arrives once. A reply goes on when the outbox
//! says that its word has arrived: the receipt is in the thread before the run begins (SLV-37).

use std::collections::BTreeMap;
use std::io;
use std::process::Child;

use turnbridge_core::ids::{SessionId, Tool};
use turnbridge_core::notice_wire::{Notice, NoticeKind, ThreadPlace};
use turnbridge_core::reply_plan::{Pending, Step, Surroundings, Told, plan};
use turnbridge_core::reply_wire::{Outcome, Reason, ReplySource, RunResult};
use turnbridge_core::resume::Live;
use turnbridge_core::texts::{self, Language, Text};
use turnbridge_store::inbox::{self, Entry};
use turnbridge_store::log::Field;
use turnbridge_store::outbox::{self, Fate, Queued};
use turnbridge_store::paths::StatePaths;
use turnbridge_store::{clock, companion};

use super::log::DaemonLog;
use super::prompt_search::was_prompted;
use crate::signals::is_open_in_terminal;

pub struct Replies {
    paths: StatePaths,
    log: DaemonLog,
    /// Runners that we have started and that have not ended.
    launched: BTreeMap<String, Child>,
    language: Language,
    live: Live,
    are_under_way: bool,
}

/// A reply with nothing left to do is finished in a few rounds; more is a mistake of ours.
const ROUNDS: usize = 16;

impl Replies {
    pub fn new(paths: StatePaths) -> Replies {
        let log = DaemonLog::new(&paths);
        let launched = BTreeMap::new();
        let (language, live) = (Language::English, Live::default());
        Replies { paths, log, launched, language, live, are_under_way: false }
    }

    pub fn set_config(&mut self, language: Language, live: Live) {
        self.language = language;
        self.live = live;
    }

    pub fn are_under_way(&self) -> bool {
        self.are_under_way
    }

    /// Does all that can be done now. Whether something was put into the outbox.
    pub fn go_on(&mut self) -> bool {
        self.launched.retain(|_, child| !child.try_wait().is_ok_and(|ended| ended.is_some()));
        let mut has_queued = false;
        for _ in 0..ROUNDS {
            match self.round() {
                Ok(Progress::Idle) => break,
                Ok(Progress::Moved { queued }) => has_queued |= queued,
                Err(error) => {
                    self.log.error("the inbox", &[("error", Field::Text(error.to_string()))]);
                    break;
                }
            }
        }
        has_queued
    }

    fn round(&mut self) -> io::Result<Progress> {
        let mut entries = inbox::entries(&self.paths)?;
        self.are_under_way = !entries.is_empty();
        if entries.is_empty() {
            return Ok(Progress::Idle);
        }
        for entry in &mut entries {
            if let Some(told) = entry.telling
                && self.has_been_said(entry, told)?
            {
                inbox::mark_told(&self.paths, &entry.reply.id, told)?;
                entry.told.push(told);
                entry.telling = None;
            }
        }
        let pending: Vec<Pending> = entries.iter().map(Entry::pending).collect();
        let steps = {
            let is_launched = |id: &str| self.launched.contains_key(id);
            let is_open = |tool: Tool, id: &SessionId| is_open_in_terminal(&self.paths, tool, id);
            let around =
                Surroundings { is_launched: &is_launched, is_open: &is_open, live: self.live };
            plan(&pending, &around)
        };
        let mut progress = Progress::Idle;
        for step in steps {
            let entry = entries.iter().find(|entry| entry.reply.id == step.id());
            if let Some(entry) = entry {
                progress = progress.and(self.take(&step, entry)?);
            }
        }
        Ok(progress)
    }

    fn take(&mut self, step: &Step, entry: &Entry) -> io::Result<Progress> {
        let id = entry.reply.id.as_str();
        if let Some(told) = step.told() {
            return self.tell(entry, told, self.words(step, entry));
        }
        match step {
            Step::Run(_) => self.launch(id),
            Step::Stop(_) => {
                self.log.info("a run is to be stopped", &[("reply", Field::Text(id.to_owned()))]);
                inbox::request_stop(&self.paths, id)?;
            }
            Step::LookForPrompt(_) => self.look_for_prompt(entry)?,
            Step::Finish(_) => {
                inbox::finish(&self.paths, id)?;
                self.log.info("a reply is done with", &[("reply", Field::Text(id.to_owned()))]);
            }
            _ => return Ok(Progress::Idle),
        }
        Ok(Progress::Moved { queued: false })
    }

    fn launch(&mut self, id: &str) {
        let fields = [("reply", Field::Text(id.to_owned()))];
        match companion::start("turnbridge", &["run-reply", id]) {
            Ok(child) => {
                self.log.info("a run begins", &fields);
                self.launched.insert(id.to_owned(), child);
            }
            Err(error) => {
                let error = ("error", Field::Text(error.to_string()));
                self.log.error("a run could not be started", &[fields[0].clone(), error]);
            }
        }
    }

    /// Whoever ran it was killed before the agent had acknowledged anything: the agent's own record
    /// tells whether it got the prompt.
    fn look_for_prompt(&self, entry: &Entry) -> io::Result<()> {
        let id = entry.reply.id.as_str();
        let since = inbox::claimed_at(&self.paths, id);
        let is_there = was_prompted(&self.paths, &entry.reply, since);
        let outcome = if is_there { Outcome::Done } else { Outcome::Uncertain };
        let fields = [
            ("reply", Field::Text(id.to_owned())),
            ("outcome", Field::Text(outcome.as_str().to_owned())),
        ];
        self.log.warn("a runner was killed", &fields);
        inbox::save_result(&self.paths, id, &RunResult::new(outcome, clock::now().to_string()))
    }

    /// Puts a word for the thread into the outbox, once.
    fn tell(&self, entry: &Entry, told: Told, text: String) -> io::Result<Progress> {
        let id = entry.reply.id.as_str();
        let Some(thread) = thread_of(entry) else {
            // On the board the reply itself shows how it stands.
            inbox::mark_told(&self.paths, id, told)?;
            return Ok(Progress::Moved { queued: false });
        };
        if entry.telling == Some(told) {
            return Ok(Progress::Idle);
        }
        let notice = Notice {
            version: 1,
            id: word_id(id, told),
            kind: NoticeKind::Word,
            created_at: clock::now().to_string(),
            tool: entry.reply.tool.clone().unwrap_or_default(),
            session_id: entry.reply.session_id.clone().unwrap_or_default(),
            turn_id: None,
            cwd: None,
            transcript_path: None,
            prompt: None,
            answers: vec![text],
            thread: Some(thread),
            subject: None,
        };
        let queued = outbox::queue(&self.paths, &notice)? == Queued::New;
        inbox::mark_telling(&self.paths, id, told)?;
        let fields = [
            ("reply", Field::Text(id.to_owned())),
            ("word", Field::Text(told.as_str().to_owned())),
        ];
        self.log.info("the thread is told", &fields);
        Ok(Progress::Moved { queued })
    }

    /// Whether it is in the thread. What Slack has refused for good stands in the way of nothing
    /// more than itself (SLV-81).
    fn has_been_said(&self, entry: &Entry, told: Told) -> io::Result<bool> {
        let notice = word_id(&entry.reply.id, told);
        match outbox::fate(&self.paths, &notice)? {
            Fate::Arrived => Ok(true),
            Fate::Waiting => Ok(false),
            Fate::Held | Fate::Unknown => {
                let fields = [
                    ("reply", Field::Text(entry.reply.id.clone())),
                    ("word", Field::Text(told.as_str().to_owned())),
                ];
                self.log.error("the thread could not be told", &fields);
                Ok(true)
            }
        }
    }

    fn words(&self, step: &Step, entry: &Entry) -> String {
        let text = |text: Text| text.text(self.language).to_owned();
        match step {
            Step::Receipt(_) => text(Text::ReplyReceived),
            Step::TellQueued(_) => text(Text::ReplyQueued),
            Step::TellHeld(_) => text(Text::ReplyHeld),
            Step::TellFailed(_, result) => self.failure(entry, result),
            Step::TellOutput(_, output) => output.clone(),
            Step::TellStopped(_) => text(Text::ReplyStopped),
            Step::TellUncertain(_) => text(Text::ReplyUncertain),
            Step::TellNoRoute(_) => text(Text::ReplyWithoutRoute),
            Step::TellRefused(_) => text(Text::CommandRefused),
            Step::TellNothingToStop(_) => text(Text::NothingToStop),
            Step::Run(_) | Step::Stop(_) | Step::LookForPrompt(_) | Step::Finish(_) => {
                String::new()
            }
        }
    }

    fn failure(&self, entry: &Entry, result: &RunResult) -> String {
        let tool = entry.reply.session().map(|(tool, _)| tool);
        let reason = result.reason.unwrap_or(Reason::NotStarted);
        let reason = texts::failure_reason(self.language, tool, reason, result.code);
        texts::resume_failed(self.language, &reason)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Idle,
    Moved { queued: bool },
}

impl Progress {
    fn and(self, other: Progress) -> Progress {
        match (self, other) {
            (Progress::Idle, one) | (one, Progress::Idle) => one,
            (Progress::Moved { queued: one }, Progress::Moved { queued: two }) => {
                Progress::Moved { queued: one || two }
            }
        }
    }
}

fn thread_of(entry: &Entry) -> Option<ThreadPlace> {
    let reply = &entry.reply;
    if reply.source != ReplySource::Slack {
        return None;
    }
    Some(ThreadPlace {
        channel: reply.channel.clone()?,
        thread_ts: reply.thread_ts.clone()?,
        after_ts: reply.ts.clone(),
    })
}

fn word_id(reply: &str, told: Told) -> String {
    format!("word-{reply}-{}", told.as_str())
}
