//! The pure core of Turnbridge: decides what events mean.
//!
//! It has no files, network, environment or clock: time, paths and limits are arguments. The other
//! crates (`turnbridge-hooks`, `turnbridge-daemon`, the command line) do input and output and call
//! this crate. Types in `*_wire` modules are formats as sent or stored and derive serde; domain
//! types do not.

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
