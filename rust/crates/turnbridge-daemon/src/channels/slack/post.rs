//! Posts the messages of one notice, from where the last attempt has left it.

use std::time::{Duration, Instant};

use turnbridge_core::notices::notice_wire::{Notice, Progress};
use turnbridge_core::slack::machine_wire::Machine;
use turnbridge_core::slack::place_wire::SlackPlace;
use turnbridge_core::slack::slack_ts::SlackTs;
use turnbridge_slack::{CallError, MachineTag, Pacer, Post, Token, WebApi};
use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::{routes, slack_place};

/// Calls are repeated at most so often within one attempt (SLV-78).
const RETRIES: u32 = 2;
/// A wait that Slack asks for is kept within an attempt up to this; a longer one is for later.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Slack needs a moment to show what it has taken.
const BEFORE_A_LOOK: Duration = Duration::from_millis(300);

/// What is asked of Slack; in tests, of something that fails when told.
pub trait Slack {
    fn open_dm(&self, user: &str) -> Result<String, CallError>;
    /// A time that nothing posted from now on is older than.
    fn latest_ts(&self, channel: &str) -> Result<Option<String>, CallError>;
    fn post(&self, post: &Post<'_>) -> Result<String, CallError>;
    fn find(&self, wanted: &Wanted<'_>) -> Result<Option<String>, CallError>;
}

/// A message that may have arrived.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    pub channel: &'a str,
    pub thread_ts: Option<&'a str>,
    /// It cannot be older.
    pub oldest: Option<&'a str>,
    pub id: &'a str,
}

/// The real one.
pub struct RealSlack<'a> {
    pub api: &'a WebApi,
    pub token: &'a Token,
    /// Who posts.
    pub machine: &'a Machine,
    /// Where the direct message's id is kept, and whose it is.
    pub paths: &'a StatePaths,
    pub account: String,
}

impl Slack for RealSlack<'_> {
    fn open_dm(&self, user: &str) -> Result<String, CallError> {
        if let Some(place) = slack_place::read(self.paths, &self.account) {
            return Ok(place.channel);
        }
        let channel = self.api.open_dm(self.token, user)?;
        let account = self.account.clone();
        let (team_id, enterprise_id) = (None, None);
        let place =
            SlackPlace { version: 1, account, channel: channel.clone(), team_id, enterprise_id };
        let _ = slack_place::write(self.paths, &place);
        Ok(channel)
    }

    /// What is posted now is newer than any parent that we have posted before, so that Slack has to
    /// be asked for the first one only: all machines share what it allows.
    fn latest_ts(&self, channel: &str) -> Result<Option<String>, CallError> {
        let routes = routes::read(self.paths).unwrap_or_default();
        let own = routes.iter().filter(|route| route.channel == channel);
        let newest = own.filter_map(|route| SlackTs::parse(&route.thread_ts)).max();
        match newest {
            Some(ts) => Ok(Some(ts.to_string())),
            None => self.api.latest_ts(self.token, channel),
        }
    }

    fn post(&self, post: &Post<'_>) -> Result<String, CallError> {
        let machine = Some(MachineTag { id: &self.machine.id, name: &self.machine.name });
        let post = Post { machine, ..*post };
        let posted = self.api.post_message(self.token, &post);
        if let Err(CallError::Refused { error, .. }) = &posted
            && error == "channel_not_found"
        {
            slack_place::forget(self.paths);
        }
        posted.map(|posted| posted.ts)
    }

    fn find(&self, wanted: &Wanted<'_>) -> Result<Option<String>, CallError> {
        let Wanted { channel, thread_ts, oldest, id } = *wanted;
        self.api.find_message(self.token, channel, thread_ts, oldest, id)
    }
}

/// How time passes; tests have no need to wait.
pub trait Pace {
    fn sleep(&self, time: Duration);
    /// Waits until one more post is welcome.
    fn before_post(&mut self);
}

/// As Slack wants it, or so many times faster.
pub struct RealPace {
    pacer: Pacer,
    speed_up: u32,
    begun: Instant,
}

impl RealPace {
    pub fn hasty(speed_up: u32) -> RealPace {
        RealPace { pacer: Pacer::default(), speed_up, begun: Instant::now() }
    }
}

impl Pace for RealPace {
    fn sleep(&self, time: Duration) {
        std::thread::sleep(time / self.speed_up);
    }

    fn before_post(&mut self) {
        // All of its time passes faster, not only what is slept through.
        let now = self.begun + self.begun.elapsed() * self.speed_up;
        let wait = self.pacer.wait_before(now);
        self.sleep(wait);
    }
}

/// Why a notice has not arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// Slack cannot be reached, or wants to be left alone; everybody else will find it so too.
    Later { cause: String, after: Option<Duration> },
    /// It does not go away by itself.
    Permanent { error: String, hint: Option<String> },
    /// Our own files cannot be written.
    Files(String),
}

/// One notice on its way.
pub struct Delivery<'a, S, P> {
    pub notice: &'a Notice,
    pub progress: &'a mut Progress,
    pub slack: &'a S,
    pub pace: &'a mut P,
}

/// Keeps what must not be forgotten: `Progress` before and after every call, and the route.
pub trait Keep {
    fn save(&mut self, progress: &Progress) -> std::io::Result<()>;
    fn save_route(&mut self, channel: &str, thread_ts: &str) -> std::io::Result<()>;
}

impl<S: Slack, P: Pace> Delivery<'_, S, P> {
    /// To the end, or to the first trouble.
    pub fn run(&mut self, user: &str, keep: &mut impl Keep) -> Result<(), Trouble> {
        // Until something may have been posted, the config decides anew: it may name another user.
        let is_begun = self.progress.intent || !self.progress.posted.is_empty();
        let channel = match self.progress.channel.clone().filter(|_| is_begun) {
            Some(channel) => channel,
            None => self.begin(user)?,
        };
        while self.progress.posted.len() < self.progress.messages.len() {
            let ts = self.arrive(&channel, keep)?;
            self.progress.posted.push(ts);
            self.progress.intent = false;
            self.save(keep)?;
            self.save_route(&channel, keep)?;
        }
        self.save_route(&channel, keep)
    }

    /// Where to, and since when. By Slack's own clock: ours may be wrong by any amount.
    fn begin(&mut self, user: &str) -> Result<String, Trouble> {
        let (channel, after_ts) = match &self.notice.thread {
            Some(thread) => (thread.channel.clone(), Some(thread.after_ts.clone())),
            None => {
                let channel = self.open_dm(user)?;
                let after_ts = self.latest_ts(&channel)?;
                (channel, after_ts)
            }
        };
        self.progress.after_ts = after_ts;
        self.progress.channel = Some(channel.clone());
        Ok(channel)
    }

    /// The message that the next one stands under.
    fn parent(&self) -> Option<String> {
        let thread = self.notice.thread.as_ref().map(|thread| &thread.thread_ts);
        thread.or(self.progress.posted.first()).cloned()
    }

    fn open_dm(&mut self, user: &str) -> Result<String, Trouble> {
        let mut retries = 0;
        loop {
            match self.slack.open_dm(user) {
                Ok(channel) => return Ok(channel),
                // Opening twice opens once.
                Err(error) => self.recover(&error, &mut retries)?,
            }
        }
    }

    fn latest_ts(&mut self, channel: &str) -> Result<Option<String>, Trouble> {
        let mut retries = 0;
        loop {
            match self.slack.latest_ts(channel) {
                Ok(ts) => return Ok(ts),
                Err(error) => self.recover(&error, &mut retries)?,
            }
        }
    }

    /// The next message, posted or found.
    fn arrive(&mut self, channel: &str, keep: &mut impl Keep) -> Result<String, Trouble> {
        let number = self.progress.posted.len();
        let id = format!("{}/{number}", self.notice.id);
        let mut retries = 0;
        let mut may_have_arrived = self.progress.intent;
        loop {
            if may_have_arrived && let Some(ts) = self.find(channel, &id)? {
                return Ok(ts);
            }
            self.progress.intent = true;
            self.save(keep)?;
            self.pace.before_post();
            let message = self.progress.messages[number].clone();
            let thread_ts = self.parent();
            let post = Post {
                channel,
                thread_ts: thread_ts.as_deref(),
                text: &message.text,
                markdown: message.markdown.as_deref(),
                id: &id,
                machine: None,
            };
            let error = match self.slack.post(&post) {
                Ok(ts) => return Ok(ts),
                Err(error) => error,
            };
            may_have_arrived = matches!(error, CallError::Ambiguous { .. });
            if !may_have_arrived {
                self.progress.intent = false;
            }
            if error.is_about_blocks() && message.markdown.is_some() {
                // Slack takes the plain text; losing the block is better than losing the words.
                self.progress.messages[number].markdown = None;
                continue;
            }
            self.recover(&error, &mut retries).inspect_err(|_| {
                // What is known now must be known to the next attempt.
                let _ = keep.save(self.progress);
            })?;
        }
    }

    fn find(&mut self, channel: &str, id: &str) -> Result<Option<String>, Trouble> {
        self.pace.sleep(BEFORE_A_LOOK);
        let parent = self.parent();
        let oldest = self.progress.posted.last().or(self.progress.after_ts.as_ref()).cloned();
        let wanted =
            Wanted { channel, thread_ts: parent.as_deref(), oldest: oldest.as_deref(), id };
        let mut retries = 0;
        loop {
            match self.slack.find(&wanted) {
                Ok(found) => return Ok(found),
                Err(error) => self.recover(&error, &mut retries)?,
            }
        }
    }

    /// Waits before another try, or says why there is none.
    fn recover(&self, error: &CallError, retries: &mut u32) -> Result<(), Trouble> {
        let after = match error {
            CallError::RateLimited { after } => Some(*after),
            _ => None,
        };
        if error.is_permanent() {
            let hint = error.hint().map(str::to_owned);
            return Err(Trouble::Permanent { error: error.to_string(), hint });
        }
        let wait = after.unwrap_or(Duration::from_millis(500) * 2_u32.pow(*retries));
        if *retries >= RETRIES || wait > LONGEST_WAIT {
            return Err(Trouble::Later { cause: error.to_string(), after });
        }
        *retries += 1;
        self.pace.sleep(wait);
        Ok(())
    }

    fn save(&mut self, keep: &mut impl Keep) -> Result<(), Trouble> {
        keep.save(self.progress).map_err(|error| Trouble::Files(error.to_string()))
    }

    /// SLV-32: as soon as there is a parent.
    fn save_route(&mut self, channel: &str, keep: &mut impl Keep) -> Result<(), Trouble> {
        let Some(parent) = self.progress.posted.first().filter(|_| !self.progress.route_saved)
        else {
            return Ok(());
        };
        let parent = parent.clone();
        let saved = keep.save_route(channel, &parent);
        saved.map_err(|error| Trouble::Files(error.to_string()))?;
        self.progress.route_saved = true;
        self.save(keep)
    }
}
