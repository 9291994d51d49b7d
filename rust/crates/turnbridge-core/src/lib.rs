//! The pure core of Turnbridge: what events mean, and nothing else.
//!
//! No files, no network, no environment, no clock: time, paths and limits come in as arguments.
//! Shells (`turnbridge-hooks`, `turnbridge-daemon`, the command line) do input and output and
//! let this crate compute. Types in `*_wire` modules are formats as sent or stored and derive
//! serde; domain types do not.

pub mod agents;
pub mod board;
pub mod gate;
pub mod ids;
pub mod notices;
pub mod replies;
pub mod scan;
pub mod session;
pub mod sinks;
pub mod slack;
pub mod system;
pub mod terminals;
pub mod text;
pub mod timestamp;
pub mod version_wire;
