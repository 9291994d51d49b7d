//! The Model Context Protocol as far as a server with one tool needs it.

pub mod lines;
pub mod protocol;
