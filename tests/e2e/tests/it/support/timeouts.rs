//! Polls until another process has had its effect, and panics with the last error after the
//! timeout.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// The timeout, long enough for a busy machine; no test should need it.
pub const TIMEOUT: Duration = Duration::from_secs(30);

const POLL: Duration = Duration::from_millis(10);

/// Polls until `probe` returns a value, and returns it. An error of `probe` describes the current
/// state; after the timeout it panics with the last one.
#[track_caller]
pub fn wait_for<T>(what: &str, mut probe: impl FnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        match probe() {
            Ok(value) => return value,
            Err(seen) if Instant::now() >= deadline => {
                panic!("not within {TIMEOUT:?}: {what}\n--- seen instead ---\n{seen}")
            }
            Err(_) => sleep(POLL),
        }
    }
}
