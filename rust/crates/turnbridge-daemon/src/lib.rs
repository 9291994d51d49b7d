//! What the daemon does: it sees what no hook sees, hears what people reply, and acts on both.
//! The signals are read by the command line too when no daemon runs, and `turnbridge-notify` delivers
//! then.

pub mod board;
pub mod channels;
pub mod daemon;
pub mod delivery;
pub mod observe;
