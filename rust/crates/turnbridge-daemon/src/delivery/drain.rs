//! Goes through the outbox until nothing in it is due.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use turnbridge_core::agents::claude::transcript_text;
use turnbridge_core::ids::Agent;
use turnbridge_core::notices::notice_wire::{Notice, NoticeKind, Progress, Route};
use turnbridge_core::notices::retry_plan::{postpone, time_until_due};
use turnbridge_core::timestamp::Timestamp;
use turnbridge_core::version_wire::NEWER;
use turnbridge_store::files::bounded_file;
use turnbridge_store::foreign::codex_rollouts;
use turnbridge_store::log::Field;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::outbox::{self, Entry, Waiting};
use turnbridge_store::state::{folder_trust, newer_files, routes};
use turnbridge_store::{clock, log};

use crate::channels::slack::machine::machine;
use crate::channels::slack::plan::{Settings, plan};
use crate::channels::slack::post::{Delivery, Keep, Pace, Slack, Trouble};

const FLUSHED_WITHIN: Duration = Duration::from_secs(1);
/// How far back in a transcript is looked for what the hook was not told.
const TAIL: u64 = 4 << 20;

/// What came of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drained {
    pub arrived: usize,
    pub failed: usize,
    /// Somebody else is at it.
    pub is_busy: bool,
}

pub fn drain<S: Slack>(
    paths: &StatePaths,
    settings: &Settings,
    slack: &S,
    pace: &mut impl Pace,
) -> std::io::Result<Drained> {
    // A daemon has looked when it started, which may be long ago.
    folder_trust::check_state(paths)?;
    let mut drained = Drained::default();
    let mut unreadable = BTreeSet::new();
    loop {
        let Some(lock) = outbox::lock(paths)? else {
            return Ok(Drained { is_busy: true, ..drained });
        };
        let goes_on = drain_locked(paths, settings, slack, pace, &mut drained, &mut unreadable)?;
        drop(lock);
        // What was queued while we held the lock has seen us at work and woken nobody.
        if !goes_on || due(paths, &unreadable)?.is_empty() {
            log_newer(paths);
            let _ = outbox::prune(paths, SystemTime::now());
            return Ok(drained);
        }
    }
}

/// Whether another round makes sense: not while Slack cannot be reached.
fn drain_locked<S: Slack>(
    paths: &StatePaths,
    settings: &Settings,
    slack: &S,
    pace: &mut impl Pace,
    drained: &mut Drained,
    unreadable: &mut BTreeSet<String>,
) -> std::io::Result<bool> {
    for id in outbox::in_order(paths, due(paths, unreadable)?) {
        // Not before its turn: all of them together may be larger than the memory.
        let Some(Entry { notice, mut progress }) = outbox::read(paths, &id) else {
            unreadable.insert(id);
            continue;
        };
        let mut keep = Files { paths, notice: &notice };
        if !prepare(&notice, &mut progress, settings) {
            log_untold(paths, &notice);
            outbox::finish(paths, &notice.id)?;
            continue;
        }
        let started = clock::now();
        let mut delivery = Delivery { notice: &notice, progress: &mut progress, slack, pace };
        match delivery.run(&settings.target_user_id, &mut keep) {
            Ok(()) => {
                drained.arrived += 1;
                log_outcome(paths, &notice, &progress, started, None);
                outbox::finish(paths, &notice.id)?;
            }
            Err(trouble) => {
                drained.failed += 1;
                let goes_on = matches!(trouble, Trouble::Permanent { .. });
                note_failure(&mut progress, &trouble);
                log_outcome(paths, &notice, &progress, started, Some(&trouble));
                outbox::save_progress(paths, &notice.id, &progress)?;
                if !goes_on {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}

/// They wait for a notifier that knows them.
fn log_newer(paths: &StatePaths) {
    for path in newer_files::find_in(&paths.outbox_dir()) {
        let fields = [("file", Field::Text(path.display().to_string()))];
        let message = format!("a notice was {NEWER}");
        log::write_log(&paths.notify_log(), clock::now(), "warn", &message, &fields);
    }
}

/// The ids of the notices that are due, but for those that were found to be no notices for us.
fn due(paths: &StatePaths, unreadable: &BTreeSet<String>) -> std::io::Result<Vec<String>> {
    let now = clock::now();
    let is_due = |waiting: &Waiting| {
        let is_now = time_until_due(&waiting.progress, now) == Some(Duration::ZERO);
        is_now && !unreadable.contains(&waiting.id)
    };
    let due = outbox::schedules(paths)?.into_iter().filter(is_due);
    Ok(due.map(|waiting| waiting.id).collect())
}

/// Fixes what is sent, at the first attempt. `false`: nothing is. A turn of Codex whose prompt its
/// rollout does not tell is no user's (SLV-63, X10).
fn prepare(notice: &Notice, progress: &mut Progress, settings: &Settings) -> bool {
    progress.version = 1;
    if progress.messages.is_empty() {
        let (prompt, answer) = match Agent::parse(&notice.agent) {
            Some(Agent::Codex) => (from_rollout(notice), None),
            _ => from_transcript(notice),
        };
        let is_turn = !matches!(notice.kind, NoticeKind::Problem | NoticeKind::Word);
        let is_codex_turn = notice.agent == Agent::Codex.as_str() && is_turn;
        if is_codex_turn && notice.prompt.is_none() && prompt.is_none() {
            return false;
        }
        progress.messages = plan(notice, prompt, answer, settings);
    }
    true
}

/// The hooks have not seen the turn begin.
fn from_rollout(notice: &Notice) -> Option<String> {
    let path = notice.transcript_path.as_deref().filter(|_| notice.prompt.is_none())?;
    let prompt = codex_rollouts::prompt_of(Path::new(path), notice.turn_id.as_deref());
    prompt.ok().flatten().map(|prompt| prompt.text)
}

/// What the hook was not told may stand in the transcript. Claude writes it some 100 ms after it
/// has fired Stop, so what is not there yet is waited for a moment.
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

fn note_failure(progress: &mut Progress, trouble: &Trouble) {
    match trouble {
        Trouble::Permanent { error, .. } => {
            progress.attempts += 1;
            progress.held = true;
            progress.last_error = Some(error.clone());
        }
        Trouble::Later { cause, after } => {
            postpone(progress, clock::now(), *after);
            progress.last_error = Some(cause.clone());
        }
        Trouble::Files(cause) => {
            progress.attempts += 1;
            progress.last_error = Some(cause.clone());
        }
    }
}

struct Files<'a> {
    paths: &'a StatePaths,
    notice: &'a Notice,
}

impl Keep for Files<'_> {
    fn save(&mut self, progress: &Progress) -> std::io::Result<()> {
        outbox::save_progress(self.paths, &self.notice.id, progress)
    }

    fn save_route(&mut self, channel: &str, thread_ts: &str) -> std::io::Result<()> {
        keep_route(self.paths, self.notice, channel, thread_ts)
    }
}

/// Keeps which session a thread that was posted for a notice leads to, once. A kill between this line
/// and the mark that it is there must not make a second one.
pub fn keep_route(
    paths: &StatePaths,
    notice: &Notice,
    channel: &str,
    thread_ts: &str,
) -> std::io::Result<()> {
    if notice.kind == NoticeKind::Problem || notice.thread.is_some() {
        // It leads to no session, or the thread has its route.
        return Ok(());
    }
    let is_it = |route: &Route| route.channel == channel && route.thread_ts == thread_ts;
    if routes::read(paths)?.iter().rev().any(is_it) {
        return Ok(());
    }
    let route = Route {
        ts: clock::now().to_string(),
        channel: channel.to_owned(),
        thread_ts: thread_ts.to_owned(),
        agent: notice.agent.clone(),
        session_id: notice.session_id.clone(),
        turn_id: notice.turn_id.clone(),
        cwd: notice.cwd.clone(),
        machine: machine(paths).ok().map(|machine| machine.id),
    };
    routes::append(paths, &route)
}

fn log_untold(paths: &StatePaths, notice: &Notice) {
    let fields = [
        ("notice", Field::Text(notice.id.clone())),
        ("tool", Field::Text(notice.agent.clone())),
        ("session_id", Field::Text(notice.session_id.clone())),
    ];
    let message = "notify.user_text_missing";
    log::write_log(&paths.notify_log(), clock::now(), "error", message, &fields);
}

/// SLV-82: one line for each attempt, without a word of what was said.
fn log_outcome(
    paths: &StatePaths,
    notice: &Notice,
    progress: &Progress,
    started: Timestamp,
    trouble: Option<&Trouble>,
) {
    let now = clock::now();
    let number = |value: usize| Field::Number(value as u64);
    let mut fields = vec![
        ("notice", Field::Text(notice.id.clone())),
        ("tool", Field::Text(notice.agent.clone())),
        ("session_id", Field::Text(notice.session_id.clone())),
        ("destinations", number(1)),
        ("posted", number(progress.posted.len())),
        ("parts", number(progress.messages.len())),
        ("attempts", Field::Number(u64::from(progress.attempts))),
        ("micros", Field::Number(u64::try_from(now.since(started).as_micros()).unwrap_or(0))),
    ];
    let (level, message) = match trouble {
        None => ("info", "the notice has arrived"),
        Some(Trouble::Permanent { error, hint }) => {
            fields.push(("error", Field::Text(error.clone())));
            fields.extend(hint.clone().map(|hint| ("hint", Field::Text(hint))));
            ("error", "the notice cannot be delivered")
        }
        Some(Trouble::Later { cause, .. } | Trouble::Files(cause)) => {
            fields.push(("error", Field::Text(cause.clone())));
            ("warn", "the notice has not arrived yet")
        }
    };
    log::write_log(&paths.notify_log(), now, level, message, &fields);
}
