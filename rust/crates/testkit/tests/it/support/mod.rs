//! What these tests stand on.

pub mod slack_client;
