//! What the daemon does: it sees what no hook sees, and acts on it.
//! So far: the signals, which the command line reads too when no daemon runs, and the delivery of
//! notices, which `turnbridge-notify` does then.

pub mod daemon;
pub mod delivery;
pub mod notifier;
pub mod replies;
pub mod signals;
