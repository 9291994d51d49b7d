//! The loopback APIs, seen from outside: raw HTTP over one socket, and Slack's own SDK.

mod messages_api;
mod slack_client;
mod slack_faults;
mod slack_history;
mod slack_sdk;
mod slack_tls;
mod slack_web;
