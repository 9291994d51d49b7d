//! Delivers notices from the outbox until none is due. It stores the progress of each, and logs
//! every attempt.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use turnbridge_core::agents::claude::transcript_text;
use turnbridge_core::ids::{Agent, ChannelName};
use turnbridge_core::notices::notice::{Notice, NoticeKind};
use turnbridge_core::notices::progress::NoticeProgress;
use turnbridge_core::notices::retry_plan::{postpone, time_until_due};
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::files::bounded_file;
use turnbridge_store::foreign::codex_rollouts;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::folder_trust;
use turnbridge_store::state::outbox::{self, OutboxEntry, Waiting};
use turnbridge_store::{clock, log};

use crate::channels::channel::{Channel, FoundTexts, OpenChannel};
use crate::delivery::one_delivery::{DeliveryFailure, DeliveryStore, NoticeDelivery, Pace};

const FLUSHED_WITHIN: Duration = Duration::from_secs(1);
/// The number of bytes at a transcript's end that are searched for texts the hook did not have.
const TAIL: u64 = 4 << 20;

/// The result of a drain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DrainResult {
    pub arrived: usize,
    pub failed: usize,
    /// Another process holds the outbox's lock.
    pub is_busy: bool,
}

impl DrainResult {
    fn add(&mut self, other: DrainResult) {
        self.arrived += other.arrived;
        self.failed += other.failed;
    }
}

/// Delivers on these channels. Notices for other channels stay untouched.
pub fn drain(
    paths: &StatePaths,
    channels: &mut [OpenChannel],
    pace: &dyn Pace,
) -> std::io::Result<DrainResult> {
    // A daemon checked this only at its start, which may be long ago.
    folder_trust::check_state(paths)?;
    let names = channels.iter().map(|channel| channel.name()).collect();
    let mut round = Round { paths, pace, usable: names, unreadable: BTreeSet::new() };
    let mut drained = DrainResult::default();
    loop {
        let Some(lock) = outbox::lock(paths)? else {
            return Ok(DrainResult { is_busy: true, ..drained });
        };
        drained.add(round.run(channels)?);
        drop(lock);
        // A process that queued a notice meanwhile saw the lock and started no notifier.
        if round.due()?.is_empty() {
            let _ = outbox::prune(paths, SystemTime::now());
            return Ok(drained);
        }
    }
}

/// The notices that are due on one channel.
struct DueNotices {
    channel: ChannelName,
    ids: Vec<String>,
    /// The highest number of attempts among the notices that wait on this channel.
    attempts: u32,
}

struct Round<'a> {
    paths: &'a StatePaths,
    pace: &'a dyn Pace,
    /// The channels whose service responds.
    usable: BTreeSet<ChannelName>,
    /// Entries that are no notices for this version, or whose progress is unreadable.
    unreadable: BTreeSet<(ChannelName, String)>,
}

impl Round<'_> {
    /// Delivers each due notice. The caller holds the outbox's lock.
    fn run(&mut self, channels: &mut [OpenChannel]) -> std::io::Result<DrainResult> {
        let mut drained = DrainResult::default();
        for DueNotices { channel: name, ids, .. } in self.due()? {
            let channel = channels.iter_mut().find(|channel| channel.name() == name);
            let Some(channel) = channel else { continue };
            for id in outbox::in_order(self.paths, ids) {
                if !self.usable.contains(&name) {
                    break;
                }
                // Each is read only at its turn: all of them together may exceed the memory.
                let Some(entry) = outbox::read_for(self.paths, &id, &name) else {
                    self.unreadable.insert((name.clone(), id));
                    continue;
                };
                drained.add(self.deliver(entry, channel.as_mut())?);
            }
        }
        Ok(drained)
    }

    /// Returns the due notices of each channel. Channels with failed calls come last, so that the
    /// others do not wait for their timeouts.
    fn due(&self) -> std::io::Result<Vec<DueNotices>> {
        let now = clock::now();
        let mut due: Vec<DueNotices> = Vec::new();
        for Waiting { id, channel, progress } in outbox::schedules(self.paths)? {
            let at = due.iter().position(|due| due.channel == channel).unwrap_or_else(|| {
                due.push(DueNotices { channel: channel.clone(), ids: Vec::new(), attempts: 0 });
                due.len() - 1
            });
            due[at].attempts = due[at].attempts.max(progress.attempts);
            let is_now = time_until_due(&progress, now) == Some(Duration::ZERO);
            let is_for_us = self.usable.contains(&channel);
            let known = (channel, id);
            if is_now && is_for_us && !self.unreadable.contains(&known) {
                due[at].ids.push(known.1);
            }
        }
        due.retain(|due| !due.ids.is_empty());
        due.sort_by_key(|due| due.attempts);
        Ok(due)
    }

    fn deliver(
        &mut self,
        mut entry: OutboxEntry,
        channel: &mut dyn Channel,
    ) -> std::io::Result<DrainResult> {
        let paths = self.paths;
        let OutboxEntry { notice, channel: name, progress } = &mut entry;
        let mut keep = ProgressFiles { paths, notice, channel: name };
        if !prepare(notice, progress, channel) {
            log_undelivered(paths, notice);
            // Another channel may have begun it with texts that existed then.
            outbox::finish_on(paths, &entry)?;
            return Ok(DrainResult::default());
        }
        let started = clock::now();
        let result = NoticeDelivery { notice, progress, channel, pace: self.pace }.run(&mut keep);
        match result {
            Ok(()) => {
                log_outcome(paths, &entry, started, None);
                outbox::finish_on(paths, &entry)?;
                Ok(DrainResult { arrived: 1, ..DrainResult::default() })
            }
            Err(trouble) => {
                note_failure(&mut entry.progress, &trouble);
                let OutboxEntry { notice, channel, progress } = &entry;
                let saved = outbox::save_progress(paths, &notice.id, channel, progress);
                // This follows the write of the progress: a process that reads the line and
                // requests a retry finds the notice held.
                log_outcome(paths, &entry, started, Some(&trouble));
                saved?;
                if !matches!(trouble, DeliveryFailure::Permanent { .. }) {
                    self.usable.remove(&entry.channel);
                }
                Ok(DrainResult { failed: 1, ..DrainResult::default() })
            }
        }
    }
}

/// Determines the messages at the first attempt. Returns `false` if nothing is to be sent: a turn
/// whose prompt is not in its rollout is not the user's (SLV-63, X10).
fn prepare(notice: &Notice, progress: &mut NoticeProgress, channel: &dyn Channel) -> bool {
    if progress.messages.is_empty() {
        let agent = notice.session.agent();
        let has_rollout = agent.is_some_and(Agent::tells_turns_by_rollouts);
        let (prompt, answer) =
            if has_rollout { (from_rollout(notice), None) } else { from_transcript(notice) };
        let is_turn = !matches!(notice.kind, NoticeKind::Problem | NoticeKind::Word);
        if has_rollout && is_turn && notice.prompt.is_none() && prompt.is_none() {
            return false;
        }
        progress.messages = channel.render(notice, FoundTexts { prompt, answer });
    }
    true
}

/// Reads the prompt from the rollout: the hooks did not see the turn begin.
fn from_rollout(notice: &Notice) -> Option<String> {
    let path = notice.transcript_path.as_deref().filter(|_| notice.prompt.is_none())?;
    let prompt = codex_rollouts::prompt_of(Path::new(path), notice.turn_id.as_deref());
    prompt.ok().flatten().map(|prompt| prompt.text)
}

/// Reads the missing texts from the transcript. Claude writes it some 100 ms after it has fired
/// Stop, so the function polls for a moment.
fn from_transcript(notice: &Notice) -> (Option<String>, Option<String>) {
    let is_missing = |prompt: &Option<String>, answer: &Option<String>| {
        notice.prompt.is_none() && prompt.is_none() || notice.answers.is_empty() && answer.is_none()
    };
    let Some(path) = notice.transcript_path.as_deref().filter(|_| is_missing(&None, &None)) else {
        return (None, None);
    };
    let turn = notice.turn_id.as_deref();
    let deadline = Instant::now() + FLUSHED_WITHIN;
    loop {
        let (tail, _) = bounded_file::read_tail(Path::new(path), TAIL).unwrap_or_default();
        let prompt = transcript_text::last_prompt(&tail, turn);
        let answer = transcript_text::last_answer(&tail, turn);
        if !is_missing(&prompt, &answer) || Instant::now() >= deadline {
            return (prompt, answer);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn note_failure(progress: &mut NoticeProgress, trouble: &DeliveryFailure) {
    match trouble {
        DeliveryFailure::Permanent { error, .. } => {
            progress.attempts += 1;
            progress.held = true;
            progress.last_error = Some(error.clone());
        }
        DeliveryFailure::Later { cause, after } => {
            postpone(progress, clock::now(), *after);
            progress.last_error = Some(cause.clone());
        }
        DeliveryFailure::Files(cause) => {
            progress.attempts += 1;
            progress.last_error = Some(cause.clone());
        }
    }
}

struct ProgressFiles<'a> {
    paths: &'a StatePaths,
    notice: &'a Notice,
    channel: &'a ChannelName,
}

impl DeliveryStore for ProgressFiles<'_> {
    fn save(&mut self, progress: &NoticeProgress) -> std::io::Result<()> {
        outbox::save_progress(self.paths, &self.notice.id, self.channel, progress)
    }
}

fn log_undelivered(paths: &StatePaths, notice: &Notice) {
    let fields = [
        ("notice", notice.id.clone().into()),
        ("tool", notice.session.agent_text().into()),
        ("session_id", notice.session.id_text().into()),
    ];
    let message = "notify.user_text_missing";
    log::write_log(&paths.notify_log(), clock::now(), "error", message, &fields);
}

/// SLV-82: one line for each attempt, without any text of the turn.
fn log_outcome(
    paths: &StatePaths,
    entry: &OutboxEntry,
    started: Timestamp,
    trouble: Option<&DeliveryFailure>,
) {
    let OutboxEntry { notice, channel, progress } = entry;
    let now = clock::now();
    let number = |value: usize| value.into();
    let mut fields = vec![
        ("notice", notice.id.clone().into()),
        ("tool", notice.session.agent_text().into()),
        ("session_id", notice.session.id_text().into()),
        ("channel", channel.to_string().into()),
        ("destinations", number(notice.channels().count())),
        ("posted", number(progress.posted.len())),
        ("parts", number(progress.messages.len())),
        ("attempts", progress.attempts.into()),
        ("micros", u64::try_from(now.since(started).as_micros()).unwrap_or(0).into()),
    ];
    let (level, message) = match trouble {
        None => ("info", "notice delivered"),
        Some(DeliveryFailure::Permanent { error, hint }) => {
            fields.push(("error", error.clone().into()));
            fields.extend(hint.clone().map(|hint| ("hint", hint.into())));
            ("error", "notice not delivered: a person has to fix the cause")
        }
        Some(DeliveryFailure::Later { cause, .. } | DeliveryFailure::Files(cause)) => {
            fields.push(("error", cause.clone().into()));
            ("warn", "notice not delivered yet")
        }
    };
    log::write_log(&paths.notify_log(), now, level, message, &fields);
}
