//! The support of these tests.

pub mod slack_client;
