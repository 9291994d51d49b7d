//! Helpers of these tests: a server with scripted replies.

pub mod server;
