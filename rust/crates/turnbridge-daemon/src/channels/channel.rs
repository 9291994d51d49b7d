//! What delivery needs of a channel. Everything that is the same for all of them (order, retries,
//! progress on the disk) lies in `delivery`.

use std::io;
use std::time::Duration;

use turnbridge_core::ids::ChannelName;
use turnbridge_core::notices::notice::Notice;
use turnbridge_core::notices::progress::Message;

use crate::channels::obstacle::Obstacle;

/// A way to reach the person. Slack is one.
pub trait Channel {
    fn name(&self) -> ChannelName;

    /// Reads anew, before each delivery, what a person may have changed since the channel was opened.
    fn refresh(&mut self) -> Result<(), Obstacle> {
        Ok(())
    }

    /// Returns what is posted for the notice; the first message is the parent of a new thread.
    /// `found` fills in what the notice does not say.
    fn render(&self, notice: &Notice, found: FoundTexts) -> Vec<Message>;

    /// Prepares a thread of its own. It may be called more than once.
    fn begin(&mut self) -> Result<ThreadStart, ChannelError>;

    /// Posts one message, and returns the name that the channel gives it.
    fn post(&mut self, post: &ChannelPost<'_>) -> Result<String, ChannelError>;

    /// Replaces what a message says that was posted before.
    fn update(&mut self, place: &str, posted: &str, message: &Message) -> Result<(), ChannelError>;

    /// Looks for a message that may have been posted, and returns its name if it has been.
    fn find(&mut self, wanted: &ChannelSearch<'_>) -> Result<Option<String>, ChannelError>;

    /// Saves that the thread of a notice leads to its session, once, so that a reply there finds it.
    /// A channel on which people cannot answer saves nothing.
    fn keep_route(&mut self, _notice: &Notice, _place: &str, _parent: &str) -> io::Result<()> {
        Ok(())
    }
}

/// A channel that can be used. Deliveries have a thread of their own.
pub type OpenChannel = Box<dyn Channel + Send>;

/// What an agent's own record says of a turn, where the hook was not told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundTexts {
    pub prompt: Option<String>,
    pub answer: Option<String>,
}

/// Where a new thread goes, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadStart {
    pub place: String,
    /// The name of a message that nothing posted from now on is older than.
    pub after: Option<String>,
}

/// One message on its way.
#[derive(Debug, Clone, Copy)]
pub struct ChannelPost<'a> {
    pub place: &'a str,
    /// The message that it is posted under.
    pub parent: Option<&'a str>,
    pub message: &'a Message,
    /// By which `find` knows it again.
    pub id: &'a str,
}

/// A message that may have arrived.
#[derive(Debug, Clone, Copy)]
pub struct ChannelSearch<'a> {
    pub place: &'a str,
    pub parent: Option<&'a str>,
    /// It cannot be older.
    pub oldest: Option<&'a str>,
    pub id: &'a str,
}

/// Why a call failed, by the question that matters for another try: can it have been done?
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelError {
    /// The service did nothing, and says when to ask again.
    RateLimited { after: Duration, cause: String },
    /// Nothing was done: safe to repeat.
    NotDone { cause: String },
    /// It may have been done: look before repeating.
    MayBeDone { cause: String },
    /// It fails until a person changes something.
    Permanent { cause: String, hint: Option<String> },
}
