//! Brings notices to Slack: each once, each part once, in order, whatever happens on the way.
//!
//! Before every call the intent is saved; after a crash, or an answer that does not say whether
//! the message has arrived, Slack is asked before anything is posted again. Whoever delivers holds
//! the outbox's lock: the daemon while it lives, else `turnbridge-notify`.

mod drain;
mod plan;
mod post;

pub use drain::{Drained, drain, keep_route};
pub use plan::Settings;
pub use post::{Pace, RealPace, RealSlack, Slack};

#[cfg(test)]
mod tests;
