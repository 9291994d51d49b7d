//! Decides when the delivery of a notice is retried, and when the notice is held for the user
//! instead.
//!
//! Only the number of attempts and the pauses between them count, never the notice's age: a machine
//! that was off for a week has attempted no delivery. Clocks jump, so a time in a file that is more
//! than an hour ahead, the longest possible pause, is ignored.

use std::time::Duration;

use crate::notices::progress::NoticeProgress;
use crate::timestamp::Timestamp;

/// The limit of the sum of all pauses between failed attempts; then the notice is held for the
/// user.
pub const GIVEN_UP_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
const FIRST_PAUSE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(30 * 60);
/// The limit of `Retry-After`. Slack's are seconds.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60 * 60);

/// Records an attempt that failed at `now` for a reason that may go away by itself, and plans the
/// next one.
pub fn postpone(progress: &mut NoticeProgress, now: Timestamp, retry_after: Option<Duration>) {
    // The pause before this attempt has passed. Time for which the machine slept does not count.
    progress.waited_seconds = progress.waited_seconds.saturating_add(progress.pause_seconds);
    progress.attempts = progress.attempts.saturating_add(1);
    let doubled = FIRST_PAUSE * 2_u32.pow(progress.attempts.min(16) - 1);
    let pause = match retry_after {
        Some(wanted) => wanted.min(LONGEST_RETRY_AFTER),
        None => doubled.min(LONGEST_PAUSE),
    };
    progress.pause_seconds = pause.as_secs();
    progress.next_attempt_at = Some(now.plus(pause));
    progress.held = progress.waited_seconds >= GIVEN_UP_AFTER.as_secs();
}

/// Returns how long until the notice is due; zero if it is. Returns `None` if it is held.
pub fn time_until_due(progress: &NoticeProgress, now: Timestamp) -> Option<Duration> {
    if progress.held {
        return None;
    }
    let left = progress.next_attempt_at.map_or(Duration::ZERO, |at| at.since(now));
    // No pause is that long: the clock was ahead when it was written, or was set back since.
    Some(if left > LONGEST_RETRY_AFTER { Duration::ZERO } else { left })
}

/// Returns how long the notice has waited, as far as known. Returns `None` if its time is in the
/// future by more than `tolerance`: the clock was ahead, and its age is not known.
pub fn time_waited(
    created_at: Option<Timestamp>,
    progress: &NoticeProgress,
    now: Timestamp,
    tolerance: Duration,
) -> Option<Duration> {
    let created = created_at.unwrap_or(now);
    let waited = Duration::from_secs(progress.waited_seconds);
    let is_ahead = created.since(now) > tolerance;
    (!is_ahead || waited > tolerance).then(|| now.since(created).max(waited))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);
    const HOUR: Duration = Duration::from_secs(60 * 60);
    const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

    fn now() -> Timestamp {
        Timestamp::parse("2026-11-18T12:00:00Z").unwrap()
    }

    fn waiting_until(at: Timestamp) -> NoticeProgress {
        NoticeProgress { next_attempt_at: Some(at), ..NoticeProgress::default() }
    }

    #[test]
    fn a_notice_is_given_up_after_a_day_of_waiting_between_tries_and_not_by_its_age() {
        let mut progress = NoticeProgress::default();
        let mut at = now();
        let mut tries = 0;
        while !progress.held {
            postpone(&mut progress, at, None);
            // The machine sleeps for a week after every attempt.
            at = at.plus(WEEK);
            tries += 1;
            assert!(tries < 1_000, "it is never given up");
        }
        // 10 s, 20 s, … up to half an hour, and then every half hour.
        assert_eq!(tries, 56);
        assert_eq!(progress.attempts, 56);
        // A retry by the user gives it another day.
        progress.retry_now();
        postpone(&mut progress, at, None);
        assert!(!progress.held);
    }

    #[test]
    fn pauses_double_up_to_half_an_hour_and_a_sane_retry_after_is_obeyed() {
        let pause = |attempts: u32, retry_after: Option<u64>| {
            let mut progress = NoticeProgress { attempts, ..NoticeProgress::default() };
            postpone(&mut progress, now(), retry_after.map(Duration::from_secs));
            time_until_due(&progress, now()).unwrap().as_secs()
        };
        assert_eq!(
            [0, 1, 2, 7, 8, 99].map(|tries| pause(tries, None)),
            [10, 20, 40, 1_280, 1_800, 1_800]
        );
        assert_eq!([1, 60, 3_600].map(|after| pause(0, Some(after))), [1, 60, 3_600]);
        assert_eq!([3_601, 86_400, u64::MAX].map(|after| pause(0, Some(after))), [3_600; 3]);
    }

    #[test]
    fn no_time_in_a_file_keeps_a_notice_waiting_for_longer_than_a_pause() {
        let year_2038 = Timestamp::parse("2038-01-19T03:14:07Z").unwrap();
        let due_in = |at: Timestamp, now: Timestamp| time_until_due(&waiting_until(at), now);
        for (case, at, expected) in [
            ("past", now().minus(WEEK), 0),
            ("now", now(), 0),
            ("a usual pause", now().plus(30 * MINUTE), 30 * 60),
            ("the longest", now().plus(HOUR), 60 * 60),
            ("the clock was set back", now().plus(HOUR + MINUTE), 0),
            ("the clock was ahead", year_2038, 0),
        ] {
            assert_eq!(due_in(at, now()), Some(Duration::from_secs(expected)), "{case}");
        }
        // Set back to 1970, and not set at all.
        assert_eq!(due_in(now(), Timestamp::from_millis(0)), Some(Duration::ZERO));
        assert_eq!(time_until_due(&NoticeProgress::default(), now()), Some(Duration::ZERO));
        let held = NoticeProgress { held: true, ..NoticeProgress::default() };
        assert_eq!(time_until_due(&held, now()), None);
    }

    #[test]
    fn a_notice_from_the_future_has_no_age_but_what_was_waited_for_it() {
        let waited = |created: Timestamp, waited_seconds| {
            let progress = NoticeProgress { waited_seconds, ..NoticeProgress::default() };
            time_waited(Some(created), &progress, now(), 10 * MINUTE)
        };
        assert_eq!(waited(now().minus(HOUR), 0), Some(HOUR));
        assert_eq!(waited(now().plus(MINUTE), 0), Some(Duration::ZERO));
        assert_eq!(waited(now().plus(10 * MINUTE), 0), Some(Duration::ZERO), "still tolerated");
        assert_eq!(waited(now().plus(WEEK), 0), None);
        assert_eq!(waited(now().plus(WEEK), 600), None);
        assert_eq!(waited(now().plus(WEEK), 3_600), Some(HOUR));
        assert_eq!(waited(now(), 3_600), Some(HOUR));
    }
}
