//! Tests the testkit's loopback APIs from outside: with raw sockets, with Slack's own SDK, and with
//! the real Codex.

// Its commands are for a Unix shell.
#[cfg(unix)]
mod codex;
mod messages_api;
mod slack_faults;
mod slack_history;
mod slack_sdk;
mod slack_socket;
mod slack_tls;
mod slack_web;
mod support;
