//! Limits how often messages are posted into one channel: three immediately, then one a second. It
//! does no I/O; the sender sleeps. Each channel needs its own `Pacer`.

use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_secs(1);
const BURST: u32 = 3;

/// The pace of one channel.
#[derive(Debug, Clone, Default)]
pub struct Pacer {
    /// The time at which the channel is at rest again, if no more messages are sent.
    at_rest: Option<Instant>,
    held_until: Option<Instant>,
}

impl Pacer {
    /// Returns the wait before the next message, and reserves a place for it.
    pub fn wait_before(&mut self, now: Instant) -> Duration {
        let start = self.held_until.map_or(now, |until| until.max(now));
        let at_rest = self.at_rest.map_or(start, |at_rest| at_rest.max(start));
        self.at_rest = Some(at_rest + INTERVAL);
        let ahead = at_rest.saturating_duration_since(start);
        (start - now) + ahead.saturating_sub(INTERVAL * (BURST - 1))
    }

    /// Applies a wait that Slack asked for. Afterwards one message a second may leave, because the
    /// burst was the cause.
    pub fn hold(&mut self, now: Instant, after: Duration) {
        let until = now + after;
        self.held_until = Some(self.held_until.map_or(until, |held| held.max(until)));
        let spent = until + INTERVAL * (BURST - 1);
        self.at_rest = Some(self.at_rest.map_or(spent, |at_rest| at_rest.max(spent)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(pacer: &mut Pacer, now: Instant, count: usize) -> Vec<f32> {
        (0..count).map(|_| pacer.wait_before(now).as_secs_f32()).collect()
    }

    #[test]
    fn three_go_at_once_then_one_a_second() {
        let mut pacer = Pacer::default();
        let now = Instant::now();
        assert_eq!(seconds(&mut pacer, now, 6), [0., 0., 0., 1., 2., 3.]);
    }

    #[test]
    fn a_rest_gives_the_burst_back() {
        let mut pacer = Pacer::default();
        let start = Instant::now();
        seconds(&mut pacer, start, 3);
        assert_eq!(seconds(&mut pacer, start + INTERVAL, 2), [0., 1.]);
        assert_eq!(seconds(&mut pacer, start + Duration::from_secs(60), 4), [0., 0., 0., 1.]);
    }

    #[test]
    fn a_sender_that_keeps_to_it_sends_one_a_second() {
        let mut pacer = Pacer::default();
        let start = Instant::now();
        let mut now = start;
        for _ in 0..103 {
            now += pacer.wait_before(now);
        }
        assert_eq!(now - start, Duration::from_secs(100));
    }

    #[test]
    fn slacks_wish_is_kept_and_no_burst_follows() {
        let mut pacer = Pacer::default();
        let now = Instant::now();
        pacer.hold(now, Duration::from_secs(30));
        assert_eq!(seconds(&mut pacer, now, 3), [30., 31., 32.]);
        let mut pacer = Pacer::default();
        pacer.hold(now, Duration::from_secs(30));
        assert_eq!(seconds(&mut pacer, now + Duration::from_secs(31), 3), [0., 0., 1.]);
    }

    #[test]
    fn a_clock_that_stands_still_or_jumps_is_no_harm() {
        let mut pacer = Pacer::default();
        let now = Instant::now();
        seconds(&mut pacer, now + Duration::from_secs(5), 3);
        assert_eq!(seconds(&mut pacer, now, 1), [6.]);
    }
}
