//! Implements the part of the Model Context Protocol that a server with one tool needs.

pub mod lines;
pub mod protocol;
