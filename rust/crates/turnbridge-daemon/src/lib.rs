//! What the daemon does: it sees what no hook sees, hears what people reply, and acts on both.
//! The signals are read by the command line too when no daemon runs, and `turnbridge-notify` delivers
//! then.

pub mod board;
pub mod daemon;
pub mod delivery;
pub mod liveness;
pub mod machine;
pub mod notifier;
pub mod panes;
pub mod replies;
pub mod rollouts;
pub mod signals;
