//! Turnbridge's own files, and the status files that others asked for.
//!
//! A session changes only through `session_store::update`, under the session's lock, whoever
//! calls it: hooks, daemon, command line. What an event means is decided in `turnbridge-core`;
//! Slack and agents are elsewhere. Nothing here waits long: every caller may be a hook.

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
