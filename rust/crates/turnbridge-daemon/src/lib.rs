//! The library of the daemon: delivers notices, receives and runs the user's replies, serves the
//! board, and observes sessions where no hook reports. `turnbridge-notify` uses `delivery` when no
//! daemon runs. Code that the command line needs too is in `turnbridge-system`.

pub mod board;
pub mod channels;
pub mod daemon;
pub mod delivery;
pub mod observe;
