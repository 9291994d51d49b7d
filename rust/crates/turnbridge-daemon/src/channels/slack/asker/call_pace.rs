//! Limits the rate of one Slack method: a burst of a few calls, then one call per interval.

use std::time::{Duration, Instant};

const BURST: u32 = 4;

/// The calls of one method so far.
#[derive(Debug, Default)]
pub struct CallPace {
    /// The time by which the calls so far would have been made at the allowed rate.
    rest_at: Option<Instant>,
}

impl CallPace {
    /// Returns when the next call is allowed. The share may differ from the last call's, because
    /// other machines start and stop.
    pub fn ready_at(&self, now: Instant, share: Duration) -> Instant {
        let ahead = share * (BURST - 1);
        self.rest_at.and_then(|at| at.checked_sub(ahead)).map_or(now, |at| at.max(now))
    }

    pub fn note_call(&mut self, now: Instant, share: Duration) {
        self.rest_at = Some(self.rest_at.map_or(now, |at| at.max(now)) + share);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_go_at_once_then_one_in_each_share() {
        let share = Duration::from_secs(100);
        let mut pace = CallPace::default();
        let start = Instant::now();
        let mut waits = Vec::new();
        for _ in 0..6 {
            waits.push((pace.ready_at(start, share) - start).as_secs());
            pace.note_call(start, share);
        }
        assert_eq!(waits, [0, 0, 0, 0, 100, 200]);
    }
}
