//! What the daemon does: it sees what no hook sees, and acts on it.
//! So far: the signals. The command line reads the same signals when no daemon runs.

pub mod signals;
