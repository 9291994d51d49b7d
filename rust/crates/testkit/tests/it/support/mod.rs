//! Helpers of several test files: the client of the loopback Slack's Web API.

pub mod slack_client;
