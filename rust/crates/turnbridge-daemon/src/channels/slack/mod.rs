//! Implements Slack as a channel: posts notices as threads, and puts the user's replies there into
//! the inbox.

pub(crate) mod asker;
pub(crate) mod hearing;
pub mod machine;
pub(crate) mod plan;
pub(crate) mod route_table;
pub(crate) mod slack_channel;
pub(crate) mod slack_intake;
pub(crate) mod slack_route;
pub(crate) mod slack_side;
