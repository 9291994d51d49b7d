//! Brings notices to their channels, the oldest first: each once, its parts once and in order, whatever
//! happens on the way.
//!
//! Before every call the intent is saved; after a crash, or an answer that does not say whether
//! the message has arrived, the channel is asked before anything is posted again. Whoever delivers holds
//! the outbox's lock: the daemon while it lives, else `turnbridge-notify`.

pub(crate) mod courier;
pub mod deliverer;
mod drain;
mod left_alone;
pub mod notifier;
pub mod one_delivery;
pub mod retry;

pub use drain::{Drained, drain};

#[cfg(test)]
mod tests;
