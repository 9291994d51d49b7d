//! Turnbridge's files, and the status files for other programs.
//!
//! A session changes only through `session_store::update`, under the session's lock, for every
//! caller: hooks, daemon, command line. The meaning of events is decided in `turnbridge-core`;
//! Slack and the agents' programs are in other crates. No function here blocks for long, because
//! every caller may be a hook.

pub mod clock;
pub mod files;
pub mod foreign;
pub mod kill_point;
pub mod log;
pub mod paths;
pub mod process;
pub mod sinks;
pub mod state;
pub mod test_switch;
