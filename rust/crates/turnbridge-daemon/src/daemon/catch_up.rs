//! What was replied while nobody listened: the daemon was down, the laptop asleep. Slack sends an
//! event again for five minutes; what is older has to be asked for.

use std::fs;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use turnbridge_core::reply_wire::read_fetched;
use turnbridge_slack::{Accept, CallError};
use turnbridge_store::atomic_file::write_atomically;
use turnbridge_store::log::Field;
use turnbridge_store::paths::StatePaths;

use super::ears::Ears;
use super::log::DaemonLog;
use crate::notifier::haste;

/// Threads begun before that are not asked for.
const THREADS_OF: u64 = 14 * 24 * 60 * 60;
/// Messages may be heard in another order than they were sent in. What is asked for twice is taken
/// once.
const OVERLAP: u64 = 10 * 60;
const SAVE_EVERY: Duration = Duration::from_secs(5);
const ATTEMPTS: u32 = 6;

/// The newest message that has been heard of, by Slack's clock.
#[derive(Clone)]
pub struct Heard {
    paths: StatePaths,
    newest: Arc<Mutex<Newest>>,
}

#[derive(Default)]
struct Newest {
    ts: Option<String>,
    saved: Option<(String, Instant)>,
}

impl Heard {
    pub fn read(paths: StatePaths) -> Heard {
        let text = fs::read_to_string(paths.slack_heard()).unwrap_or_default();
        let ts = Some(text.trim().to_owned()).filter(|ts| seconds_of(ts).is_some());
        Heard { paths, newest: Arc::new(Mutex::new(Newest { ts, saved: None })) }
    }

    pub fn note(&self, ts: &str) {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let is_newer = seconds_of(ts) > newest.ts.as_deref().and_then(seconds_of);
        if is_newer {
            newest.ts = Some(ts.to_owned());
        }
        let is_due = newest.saved.as_ref().is_none_or(|(_, at)| at.elapsed() >= SAVE_EVERY);
        if is_newer && is_due {
            newest.save(&self.paths);
        }
    }

    pub fn save(&self) {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner).save(&self.paths);
    }

    fn ts(&self) -> Option<String> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner).ts.clone()
    }
}

impl Newest {
    fn save(&mut self, paths: &StatePaths) {
        let Some(ts) = &self.ts else { return };
        let is_saved = self.saved.as_ref().is_some_and(|(saved, _)| saved == ts);
        if !is_saved && write_atomically(&paths.slack_heard(), ts.as_bytes()).is_ok() {
            self.saved = Some((ts.clone(), Instant::now()));
        }
    }
}

/// In a thread of its own: a slow Slack must not keep anything else waiting.
pub fn start(ears: Ears, log: DaemonLog) {
    let work = move || {
        for attempt in 0..ATTEMPTS {
            match catch_up(&ears) {
                Ok(0) => return,
                Ok(count) => {
                    let fields = [("messages", Field::Number(count))];
                    return log.info("replies were asked for that nobody had heard", &fields);
                }
                Err(error) => {
                    let fields = [("error", Field::Text(error.to_string()))];
                    log.warn("replies could not be asked for", &fields);
                    if error.is_permanent() {
                        return;
                    }
                }
            }
            std::thread::sleep(Duration::from_secs(2_u64.pow(attempt)) / haste());
        }
    };
    let builder = std::thread::Builder::new().name("catch-up".to_owned()).stack_size(512 << 10);
    let _ = builder.spawn(work);
}

/// How many messages were new to us or not.
fn catch_up(ears: &Ears) -> Result<u64, CallError> {
    let channel = ears.dm()?;
    let token = &ears.slack.bot_token;
    let Some(ts) = ears.heard.ts() else {
        // The first time: what was said before Turnbridge listened is not for it.
        if let Some(latest) = ears.api.latest_ts(token, channel)? {
            ears.heard.note(&latest);
        }
        return Ok(0);
    };
    let after = earlier(&ts, OVERLAP);
    let mut count = 0;
    for thread in ears.api.threads_replied_to(token, channel, &earlier(&ts, THREADS_OF), &after)? {
        for reply in ears.api.replies_after(token, channel, &thread, &after)? {
            let mut fields = vec![("source", Field::Text("history".to_owned()))];
            let kept = ears.keep(read_fetched(reply.as_bytes(), channel), &mut fields);
            if kept == Accept::NotKept {
                return Err(CallError::Ambiguous { cause: "a reply could not be kept".to_owned() });
            }
            count += 1;
        }
    }
    Ok(count)
}

fn seconds_of(ts: &str) -> Option<(u64, u64)> {
    let (seconds, rest) = ts.split_once('.')?;
    Some((seconds.parse().ok()?, rest.parse().ok()?))
}

fn earlier(ts: &str, seconds: u64) -> String {
    let (whole, rest) = seconds_of(ts).unwrap_or_default();
    format!("{}.{rest:06}", whole.saturating_sub(seconds))
}
