//! Reads the environment variable that turns slow tests on.

use crate::skipped;

/// The environment variable that turns slow tests on.
pub const SLOW: &str = "TURNBRIDGE_TEST_SLOW";

/// Returns whether slow tests are turned on.
pub fn is_slow() -> bool {
    std::env::var(SLOW).is_ok_and(|value| value == "1")
}

/// Returns whether a slow test must be skipped, and reports it.
pub fn skipped_as_slow() -> bool {
    if !is_slow() {
        skipped(&format!("it is slow; set {SLOW}=1 to run it"));
    }
    !is_slow()
}
