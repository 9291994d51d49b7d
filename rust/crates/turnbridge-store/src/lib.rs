//! Reads and writes Turnbridge's files, reads those of the agents, inspects processes, and
//! publishes a session's state to other programs.
//!
//! A session's file changes only under the session's lock: by `session_store::update`, and by
//! `turn_completion`, which completes the turns that hooks have left. The meaning of events is
//! decided in `turnbridge-core`; Slack and the agents' programs are in other crates. Every caller
//! may be a hook, so every wait for a lock has a timeout.

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
