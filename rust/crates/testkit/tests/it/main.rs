//! The loopback APIs from outside: raw HTTP over one socket, Slack's own SDK, and the real Codex.

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
