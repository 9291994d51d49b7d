//! Polls until another process has had its effect. A fixed sleep would not adapt to the machine's
//! speed.

use std::thread::sleep;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(15);

/// Polls until `probe` returns a value, and returns it. After `timeout` it panics with `what`.
#[track_caller]
pub fn wait_until<T>(timeout: Duration, what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + timeout;
    loop {
        if let Some(value) = probe() {
            return value;
        }
        // The check follows the probe, so that a probe slower than the timeout still gets one
        // chance.
        if Instant::now() >= deadline {
            panic!("not within {timeout:?}: {what}");
        }
        sleep(POLL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_ends_the_wait() {
        let mut calls = 0;
        let value = wait_until(Duration::from_secs(5), "third call", || {
            calls += 1;
            (calls == 3).then_some(calls)
        });
        assert_eq!(value, 3);
    }

    #[test]
    #[should_panic(expected = "a thing that never comes")]
    fn a_time_out_names_what_was_missing() {
        wait_until(Duration::ZERO, "a thing that never comes", || None::<()>);
    }
}
