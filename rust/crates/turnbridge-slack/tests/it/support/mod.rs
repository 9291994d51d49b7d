//! The support code of these tests.

pub mod server;
