//! What the daemon does: it sees what no hook sees, hears what people reply, and acts on both.
//! `turnbridge-notify` uses `delivery` when no daemon runs. What the command line needs as well is in
//! `turnbridge-system`.

pub mod board;
pub mod channels;
pub mod daemon;
pub mod delivery;
pub mod observe;
