//! Contains the pure core of Turnbridge: decides what events mean, and defines the formats of its
//! files and messages.
//!
//! It uses no files, network, environment or clock: contents, paths, times and limits are
//! arguments. Other crates, such as `turnbridge-store` and `turnbridge-daemon`, do input and output
//! and call this one. Types in `*_wire` modules are formats as sent or stored and may derive serde;
//! domain types do not.

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
