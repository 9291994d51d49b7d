//! Waiting for what another process does, with the reason of the last refusal when it never comes.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// Long enough for a machine with other things to do; nothing here should take it.
pub const PATIENCE: Duration = Duration::from_secs(30);

const POLL: Duration = Duration::from_millis(10);

/// Like `testkit::wait_until`, for probes that can tell what they saw instead.
#[track_caller]
pub fn wait_for<T>(what: &str, mut probe: impl FnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match probe() {
            Ok(value) => return value,
            Err(seen) if Instant::now() >= deadline => {
                panic!("not within {PATIENCE:?}: {what}\n--- seen instead ---\n{seen}")
            }
            Err(_) => sleep(POLL),
        }
    }
}
