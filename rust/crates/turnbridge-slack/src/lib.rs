//! Slack for Turnbridge; knows nothing of agents. So far: the type that tokens live in.

mod token;

pub use token::{Token, TokenKind};
