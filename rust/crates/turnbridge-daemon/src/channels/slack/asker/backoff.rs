//! Computes the pause after a failed call: 2 s, doubled each time up to a limit, or the time that
//! Slack requests.

use std::time::{Duration, Instant};

use turnbridge_config::slack_connection::speed_up;
use turnbridge_slack::CallError;

use super::AskerError;

const FIRST_PAUSE: Duration = Duration::from_secs(2);
pub const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The longest pause after an error that a person must repair.
const LONGEST_PERMANENT: Duration = Duration::from_secs(5 * 60);

/// The pause after consecutive failures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backoff {
    failures: u32,
    until: Option<Instant>,
}

impl Backoff {
    /// Returns the number of consecutive failures.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Returns whether the pause lasts.
    pub fn is_held(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| now < until)
    }

    /// Returns the rest of the pause.
    pub fn left(&self, now: Instant) -> Duration {
        self.until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }

    /// Returns `at`, or the end of the pause if that is later.
    pub fn not_before(&self, at: Instant) -> Instant {
        self.until.map_or(at, |until| until.max(at))
    }

    /// Begins a pause. Another failure never shortens it, because Slack may have requested it.
    pub fn fail(&mut self, now: Instant, trouble: &AskerError) {
        let until = now + pause(trouble, self.failures) / speed_up();
        self.until = self.until.max(Some(until));
        self.failures = self.failures.saturating_add(1);
    }

    /// Ends the pause after a success.
    pub fn well(&mut self) {
        *self = Backoff::default();
    }
}

fn pause(trouble: &AskerError, failures: u32) -> Duration {
    let doubled = FIRST_PAUSE * 2_u32.pow(failures.min(10));
    match trouble {
        AskerError::Slack(CallError::RateLimited { after }) => *after,
        AskerError::Slack(error) if error.is_permanent() => doubled.min(LONGEST_PERMANENT),
        AskerError::Slack(_) | AskerError::Files(_) => doubled.min(LONGEST_PAUSE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(error: &str) -> AskerError {
        let (needed, provided, messages) = (None, None, Vec::new());
        CallError::Refused { error: error.to_owned(), needed, provided, messages }.into()
    }

    #[test]
    fn pauses_double_and_a_lasting_refusal_may_pause_longer() {
        let pauses =
            |error| [0, 1, 4, 5, 9, 99].map(|count| pause(&refused(error), count).as_secs());
        assert_eq!(pauses("internal_error"), [2, 4, 32, 60, 60, 60]);
        assert_eq!(pauses("missing_scope"), [2, 4, 32, 64, 300, 300]);
    }

    #[test]
    fn a_failure_does_not_shorten_the_wait_that_slack_has_asked_for() {
        let now = Instant::now();
        let mut backoff = Backoff::default();
        backoff.fail(now, &CallError::RateLimited { after: Duration::from_secs(600) }.into());
        backoff.fail(now, &refused("internal_error"));
        assert_eq!(backoff.left(now), Duration::from_secs(600));
        backoff.well();
        assert!(!backoff.is_held(now));
    }
}
