//! Posts the messages of one notice to one channel, from where the last attempt has left it.

use std::time::Duration;

use turnbridge_core::notices::notice::{Notice, ThreadPlace};
use turnbridge_core::notices::progress::Progress;

use crate::channels::channel::{Channel, ChannelError, ChannelPost, ChannelSearch, ThreadStart};

/// Calls are repeated at most so often within one attempt (SLV-78).
const RETRIES: u32 = 2;
/// A wait that the service asks for is kept within an attempt up to this; a longer one is for later.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// How time passes between two tries; tests have no need to wait.
pub trait Pace {
    fn sleep(&self, time: Duration);
}

/// As it is, or so many times faster.
pub struct RealPace {
    speed_up: u32,
}

impl RealPace {
    pub const fn hasty(speed_up: u32) -> RealPace {
        RealPace { speed_up }
    }
}

impl Pace for RealPace {
    fn sleep(&self, time: Duration) {
        std::thread::sleep(time / self.speed_up);
    }
}

/// Why a notice has not arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// The service cannot be reached, or wants to be left alone: every other notice will find it so too.
    Later { cause: String, after: Option<Duration> },
    /// It does not go away by itself.
    Permanent { error: String, hint: Option<String> },
    /// Our own files cannot be written.
    Files(String),
}

/// One notice on its way to one channel.
pub struct Delivery<'a> {
    pub notice: &'a Notice,
    pub progress: &'a mut Progress,
    pub channel: &'a mut dyn Channel,
    pub pace: &'a dyn Pace,
}

/// Saves the progress before and after every call.
pub trait Keep {
    fn save(&mut self, progress: &Progress) -> std::io::Result<()>;
}

impl Delivery<'_> {
    /// To the end, or to the first trouble.
    pub fn run(&mut self, keep: &mut impl Keep) -> Result<(), Trouble> {
        // Until something may have been posted, the config decides anew: it may name another user.
        let is_begun = self.progress.intent || !self.progress.posted.is_empty();
        let place = match self.progress.channel.clone().filter(|_| is_begun) {
            Some(place) => place,
            None => self.begin()?,
        };
        while self.progress.posted.len() < self.progress.messages.len() {
            let (posted, was_found) = self.arrive(&place, keep)?;
            self.progress.posted.push(posted);
            // Where the progress was lost, the next may have arrived, too.
            self.progress.intent = was_found;
            self.save(keep)?;
            self.save_route(&place, keep)?;
        }
        self.save_route(&place, keep)
    }

    /// Where to, and since when. By the service's own clock: ours may be wrong by any amount.
    fn begin(&mut self) -> Result<String, Trouble> {
        let (place, after) = match self.thread() {
            Some(thread) => (thread.channel.clone(), Some(thread.after_ts.clone())),
            None => {
                let ThreadStart { place, after } = self.retrying(|channel| channel.begin())?;
                // What may have arrived already may be older than what is newest now.
                (place, after.filter(|_| !self.progress.intent))
            }
        };
        self.progress.after_ts = after;
        self.progress.channel = Some(place.clone());
        Ok(place)
    }

    /// The message that the next one stands under.
    fn parent(&self) -> Option<String> {
        let thread = self.thread().map(|thread| &thread.thread_ts);
        thread.or(self.progress.posted.first()).cloned()
    }

    fn thread(&self) -> Option<&ThreadPlace> {
        self.notice.thread_on(&self.channel.name())
    }

    /// The next message, posted or found. Returns its name, and whether it was found.
    fn arrive(&mut self, place: &str, keep: &mut impl Keep) -> Result<(String, bool), Trouble> {
        let number = self.progress.posted.len();
        let id = format!("{}/{number}", self.notice.id);
        let mut retries = 0;
        let mut may_have_arrived = self.progress.intent;
        loop {
            if may_have_arrived && let Some(posted) = self.find(place, &id)? {
                return Ok((posted, true));
            }
            self.progress.intent = true;
            self.save(keep)?;
            let message = self.progress.messages[number].clone();
            let parent = self.parent();
            let post = ChannelPost { place, parent: parent.as_deref(), message: &message, id: &id };
            let error = match self.channel.post(&post) {
                Ok(posted) => return Ok((posted, false)),
                Err(error) => error,
            };
            may_have_arrived = matches!(error, ChannelError::MayBeDone { .. });
            if !may_have_arrived {
                self.progress.intent = false;
            }
            self.recover(error, &mut retries).inspect_err(|_| {
                // What is known now must be known to the next attempt.
                let _ = keep.save(self.progress);
            })?;
        }
    }

    fn find(&mut self, place: &str, id: &str) -> Result<Option<String>, Trouble> {
        let parent = self.parent();
        let oldest = self.progress.posted.last().or(self.progress.after_ts.as_ref()).cloned();
        self.retrying(|channel| {
            let (parent, oldest) = (parent.as_deref(), oldest.as_deref());
            channel.find(&ChannelSearch { place, parent, oldest, id })
        })
    }

    /// Repeats a call that changes nothing.
    fn retrying<T>(
        &mut self,
        mut call: impl FnMut(&mut dyn Channel) -> Result<T, ChannelError>,
    ) -> Result<T, Trouble> {
        let mut retries = 0;
        loop {
            match call(self.channel) {
                Ok(value) => return Ok(value),
                Err(error) => self.recover(error, &mut retries)?,
            }
        }
    }

    /// Waits before another try, or says why there is none.
    fn recover(&self, error: ChannelError, retries: &mut u32) -> Result<(), Trouble> {
        let (cause, after) = match error {
            ChannelError::Permanent { cause, hint } => {
                return Err(Trouble::Permanent { error: cause, hint });
            }
            ChannelError::RateLimited { after, cause } => (cause, Some(after)),
            ChannelError::NotDone { cause } | ChannelError::MayBeDone { cause } => (cause, None),
        };
        let wait = after.unwrap_or(Duration::from_millis(500) * 2_u32.pow(*retries));
        if *retries >= RETRIES || wait > LONGEST_WAIT {
            return Err(Trouble::Later { cause, after });
        }
        *retries += 1;
        self.pace.sleep(wait);
        Ok(())
    }

    fn save(&mut self, keep: &mut impl Keep) -> Result<(), Trouble> {
        keep.save(self.progress).map_err(|error| Trouble::Files(error.to_string()))
    }

    /// SLV-32: as soon as there is a parent.
    fn save_route(&mut self, place: &str, keep: &mut impl Keep) -> Result<(), Trouble> {
        let Some(parent) = self.progress.posted.first().filter(|_| !self.progress.route_saved)
        else {
            return Ok(());
        };
        let saved = self.channel.keep_route(self.notice, place, parent);
        saved.map_err(|error| Trouble::Files(error.to_string()))?;
        self.progress.route_saved = true;
        self.save(keep)
    }
}
