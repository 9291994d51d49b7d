//! The loopback APIs, seen from outside: raw HTTP over one socket.

mod messages_api;
mod slack_client;
mod slack_faults;
mod slack_history;
mod slack_tls;
mod slack_web;
