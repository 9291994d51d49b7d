//! Posts the messages of one notice to one channel, and resumes where the last attempt ended.

use std::time::Duration;

use turnbridge_core::notices::notice::{Notice, ThreadPlace};
use turnbridge_core::notices::progress::NoticeProgress;

use crate::channels::channel::{Channel, ChannelError, ChannelPost, ChannelSearch, ThreadStart};

/// The limit of retries of a call within one attempt (SLV-78).
const RETRIES: u32 = 2;
/// The longest pause that an attempt waits for at the service's request. A longer one ends the
/// attempt.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// The sleep between two tries; tests replace it.
pub trait Pace {
    fn sleep(&self, time: Duration);
}

/// Real sleeps, or sleeps divided by a factor.
pub struct RealPace {
    speed_up: u32,
}

impl RealPace {
    /// Returns a pace that divides each sleep by `speed_up`.
    pub const fn hasty(speed_up: u32) -> RealPace {
        RealPace { speed_up }
    }
}

impl Pace for RealPace {
    fn sleep(&self, time: Duration) {
        std::thread::sleep(time / self.speed_up);
    }
}

/// The reason why a notice has not arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryFailure {
    /// The service cannot be reached, or limits the rate: every other notice would fail too.
    Later { cause: String, after: Option<Duration> },
    /// A retry alone does not help.
    Permanent { error: String, hint: Option<String> },
    /// The state files cannot be written.
    Files(String),
}

/// The delivery of one notice to one channel.
pub struct NoticeDelivery<'a> {
    pub notice: &'a Notice,
    pub progress: &'a mut NoticeProgress,
    pub channel: &'a mut dyn Channel,
    pub pace: &'a dyn Pace,
}

/// Saves the progress before and after every call.
pub trait DeliveryStore {
    fn save(&mut self, progress: &NoticeProgress) -> std::io::Result<()>;
}

impl NoticeDelivery<'_> {
    /// Delivers all messages, or stops at the first error.
    pub fn run(&mut self, keep: &mut impl DeliveryStore) -> Result<(), DeliveryFailure> {
        // Until a message may have been posted, the current config decides: it may name another
        // user.
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

    /// Finds the place and the lower limit of times. Both come from the service's clock, since the
    /// local one may be wrong.
    fn begin(&mut self) -> Result<String, DeliveryFailure> {
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

    /// Returns the message to which the next one is a reply.
    fn parent(&self) -> Option<String> {
        let thread = self.thread().map(|thread| &thread.thread_ts);
        thread.or(self.progress.posted.first()).cloned()
    }

    fn thread(&self) -> Option<&ThreadPlace> {
        self.notice.thread_on(&self.channel.name())
    }

    /// Posts the next message, or finds it if it may have arrived. Returns its name, and whether it
    /// was found.
    fn arrive(
        &mut self,
        place: &str,
        keep: &mut impl DeliveryStore,
    ) -> Result<(String, bool), DeliveryFailure> {
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
                // Saves for the next attempt what this one has learnt.
                let _ = keep.save(self.progress);
            })?;
        }
    }

    fn find(&mut self, place: &str, id: &str) -> Result<Option<String>, DeliveryFailure> {
        let parent = self.parent();
        let oldest = self.progress.posted.last().or(self.progress.after_ts.as_ref()).cloned();
        self.retrying(|channel| {
            let (parent, oldest) = (parent.as_deref(), oldest.as_deref());
            channel.find(&ChannelSearch { place, parent, oldest, id })
        })
    }

    /// Calls `call` with retries. It must be idempotent.
    fn retrying<T>(
        &mut self,
        mut call: impl FnMut(&mut dyn Channel) -> Result<T, ChannelError>,
    ) -> Result<T, DeliveryFailure> {
        let mut retries = 0;
        loop {
            match call(self.channel) {
                Ok(value) => return Ok(value),
                Err(error) => self.recover(error, &mut retries)?,
            }
        }
    }

    /// Waits before a retry, or returns why there is none.
    fn recover(&self, error: ChannelError, retries: &mut u32) -> Result<(), DeliveryFailure> {
        let (cause, after) = match error {
            ChannelError::Permanent { cause, hint } => {
                return Err(DeliveryFailure::Permanent { error: cause, hint });
            }
            ChannelError::RateLimited { after, cause } => (cause, Some(after)),
            ChannelError::NotDone { cause } | ChannelError::MayBeDone { cause } => (cause, None),
        };
        let wait = after.unwrap_or(Duration::from_millis(500) * 2_u32.pow(*retries));
        if *retries >= RETRIES || wait > LONGEST_WAIT {
            return Err(DeliveryFailure::Later { cause, after });
        }
        *retries += 1;
        self.pace.sleep(wait);
        Ok(())
    }

    fn save(&mut self, keep: &mut impl DeliveryStore) -> Result<(), DeliveryFailure> {
        keep.save(self.progress).map_err(|error| DeliveryFailure::Files(error.to_string()))
    }

    /// SLV-32: saves the route as soon as the parent exists.
    fn save_route(
        &mut self,
        place: &str,
        keep: &mut impl DeliveryStore,
    ) -> Result<(), DeliveryFailure> {
        let Some(parent) = self.progress.posted.first().filter(|_| !self.progress.route_saved)
        else {
            return Ok(());
        };
        let saved = self.channel.keep_route(self.notice, place, parent);
        saved.map_err(|error| DeliveryFailure::Files(error.to_string()))?;
        self.progress.route_saved = true;
        self.save(keep)
    }
}
