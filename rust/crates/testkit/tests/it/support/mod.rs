//! Helpers of the testkit's integration tests: the client of the loopback Slack's Web API.

pub mod slack_client;
