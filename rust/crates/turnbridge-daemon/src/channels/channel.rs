//! Defines the interface between delivery and a channel. Order, retries and stored progress are the
//! same for all channels and are in `delivery`.

use std::io;
use std::time::Duration;

use turnbridge_core::ids::ChannelName;
use turnbridge_core::notices::notice::Notice;
use turnbridge_core::notices::progress::NoticeMessage;

use crate::channels::obstacle::DeliveryObstacle;

/// A channel to the user, such as Slack.
pub trait Channel {
    fn name(&self) -> ChannelName;

    /// Reads settings again before each delivery, since the user may have changed them after the
    /// channel was opened.
    fn refresh(&mut self) -> Result<(), DeliveryObstacle> {
        Ok(())
    }

    /// Returns the messages for the notice. The first is the parent of a new thread. `found` fills
    /// in missing texts.
    fn render(&self, notice: &Notice, found: FoundTexts) -> Vec<NoticeMessage>;

    /// Prepares a new thread. The call is idempotent.
    fn begin(&mut self) -> Result<ThreadStart, ChannelError>;

    /// Posts one message, and returns the name that the channel gives it.
    fn post(&mut self, post: &ChannelPost<'_>) -> Result<String, ChannelError>;

    /// Replaces the text of a message that was posted before.
    fn update(
        &mut self,
        place: &str,
        posted: &str,
        message: &NoticeMessage,
    ) -> Result<(), ChannelError>;

    /// Finds a message that may have been posted. Returns its name, or `None` if it was not posted.
    fn find(&mut self, wanted: &ChannelSearch<'_>) -> Result<Option<String>, ChannelError>;

    /// Saves, once, that the thread of a notice leads to its session, so that a reply there finds
    /// it. A channel on which users cannot reply saves nothing.
    fn keep_route(&mut self, _notice: &Notice, _place: &str, _parent: &str) -> io::Result<()> {
        Ok(())
    }
}

/// An open channel. Each delivery has its own thread there.
pub type OpenChannel = Box<dyn Channel + Send>;

/// Texts of a turn that the hook did not have and an agent's record contains.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundTexts {
    pub prompt: Option<String>,
    pub answer: Option<String>,
}

/// The place of a new thread, and a lower limit for the times of its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadStart {
    pub place: String,
    /// The name of a message. No later post is older than it.
    pub after: Option<String>,
}

/// A message to be posted.
#[derive(Debug, Clone, Copy)]
pub struct ChannelPost<'a> {
    pub place: &'a str,
    /// The message to which it is a reply.
    pub parent: Option<&'a str>,
    pub message: &'a NoticeMessage,
    /// The id by which `find` recognises it.
    pub id: &'a str,
}

/// The search for a message that may have arrived.
#[derive(Debug, Clone, Copy)]
pub struct ChannelSearch<'a> {
    pub place: &'a str,
    pub parent: Option<&'a str>,
    /// The lower limit of its time, as a message's name.
    pub oldest: Option<&'a str>,
    pub id: &'a str,
}

/// The error of a call, classified by whether a retry is safe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelError {
    /// The service did nothing, and reports when to retry.
    RateLimited { after: Duration, cause: String },
    /// The service did nothing: a retry is safe.
    NotDone { cause: String },
    /// The service may have done it: `find` precedes a retry.
    MayBeDone { cause: String },
    /// It fails until a person changes something.
    Permanent { cause: String, hint: Option<String> },
}
