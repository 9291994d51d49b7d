//! Delivers notices to their channels, the oldest first. Each arrives once, with its parts in
//! order, despite crashes and lost responses.
//!
//! The intent is saved before every post. After a crash or an ambiguous response, the channel is
//! searched before anything is posted again. The process that delivers holds the outbox's lock: the
//! daemon, `turnbridge-notify`, or a command that retries.

pub mod deliverer;
pub(crate) mod delivery_thread;
mod drain;
mod left_alone;
pub mod notifier;
pub mod one_delivery;
pub mod retry;

pub use drain::{DrainResult, drain};

#[cfg(test)]
mod tests;
