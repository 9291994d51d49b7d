//! The channels by which people are told and answer. Slack is the only one.

pub mod slack;
