//! The daemon: observes sessions where no hook runs, receives the user's replies, and acts on both.
//! `turnbridge-notify` uses `delivery` when no daemon runs. Code that the command line needs too is
//! in `turnbridge-system`.

pub mod board;
pub mod channels;
pub mod daemon;
pub mod delivery;
pub mod observe;
