//! What these tests stand on.

pub mod server;
