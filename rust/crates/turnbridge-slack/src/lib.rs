//! Slack for Turnbridge: tokens, the Web API and Socket Mode, synchronous. It does not depend on
//! agents. The error of a call contains whether Slack can have acted on it: `CallError`.

mod address;
mod answer;
mod call_error;
mod catch_up;
mod find_message;
pub mod form;
mod handed_over;
mod ids;
mod methods;
mod pacer;
mod refusals;
mod socket_mode;
mod tls_roots;
mod token;
mod web_api;

pub use address::{Connection, ConnectionError};
pub use call_error::{CallError, Obstacle};
pub use catch_up::{Page, Parent, Tag};
pub use methods::{Identity, MachineTag, Post, Posted, SocketUrl};
pub use pacer::Pacer;
pub use socket_mode::{Accept, Envelope, Loss, SocketEvent, SocketMode, SocketWarning, Timing};
pub use token::{Token, TokenKind};
pub use web_api::{Encoding, WebApi};
