//! Implements the client of Slack: tokens, the Web API and Socket Mode, synchronous. It does not
//! depend on agents. The error of a call contains whether Slack can have acted on it: `CallError`.

mod address;
mod answer;
mod call_error;
mod catch_up;
mod error_codes;
mod find_message;
pub mod form;
mod ids;
mod methods;
mod pacer;
mod request_sent;
mod socket_mode;
mod tls_roots;
mod token;
mod web_api;

pub use address::{ApiConnection, ConnectionError};
pub use call_error::{CallError, ConnectObstacle};
pub use catch_up::{MessageTag, ParentMessage, ParentPage};
pub use methods::{MachineTag, Post, Posted, SocketUrl, TokenIdentity};
pub use pacer::Pacer;
pub use socket_mode::{
    Accept, Envelope, SocketEvent, SocketLoss, SocketMode, SocketWarning, Timing,
};
pub use token::{Token, TokenKind};
pub use web_api::{Encoding, WebApi};
