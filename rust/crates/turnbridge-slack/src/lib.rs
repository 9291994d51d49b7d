//! Slack for Turnbridge; knows nothing of agents. So far: tokens and the Web API, synchronous.
//! A call that fails says whether Slack can have acted on it: `CallError`.

mod address;
mod answer;
mod call_error;
mod find_message;
mod form;
mod handed_over;
mod ids;
mod methods;
mod pacer;
mod refusals;
mod tls_roots;
mod token;
mod web_api;

pub use address::{Connection, ConnectionError};
pub use call_error::{CallError, Obstacle};
pub use methods::{Identity, Post, Posted, SocketUrl};
pub use pacer::Pacer;
pub use token::{Token, TokenKind};
pub use web_api::{Encoding, WebApi};
