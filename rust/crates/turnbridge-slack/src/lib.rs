//! Slack for Turnbridge; knows nothing of agents. So far: the type that tokens live in, and how
//! often may be posted.

mod pacer;
mod token;

pub use pacer::Pacer;
pub use token::{Token, TokenKind};
