//! Decides which files are old enough to be removed, on a machine whose clock may be wrong.
//!
//! A clock that jumps ahead makes every file look old. So a file's age alone does not remove it:
//! since it was last written, Turnbridge must also have looked for old files three times (once for
//! a temporary file), at least a day apart.

use std::time::Duration;

use crate::timestamp::Timestamp;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The number of looks between the last change of a file and its removal.
const LOOKS: usize = 3;

/// A search for old files that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PruneRun {
    /// The times of the last looks, this one included, oldest first: the caller stores them.
    pub looks: Vec<Timestamp>,
    /// Sessions and turns without a change since are removed.
    pub before: Timestamp,
    /// Temporary files that are older than this are removed.
    pub leftovers_before: Timestamp,
}

/// Returns the next search after those at `looks`, or `None` if the last was within a day. Searches
/// in the future were made by a clock that was ahead, and do not count.
pub fn next_prune_run(looks: &[Timestamp], now: Timestamp) -> Option<PruneRun> {
    let mut looks: Vec<_> = looks.iter().copied().filter(|at| *at <= now).collect();
    looks.sort();
    if looks.last().is_some_and(|last| now.since(*last) < DAY) {
        return None;
    }
    let at_look = |number: usize| {
        let place = looks.len().checked_sub(number);
        place.map_or(Timestamp::from_micros(i64::MIN), |place| looks[place])
    };
    let before = now.minus(KEPT).min(at_look(LOOKS));
    let leftovers_before = now.minus(DAY).min(at_look(1));
    looks.push(now);
    looks.drain(..looks.len().saturating_sub(LOOKS + 1));
    Some(PruneRun { looks, before, leftovers_before })
}

impl PruneRun {
    /// Returns whether no file can be old enough yet: there were too few looks before.
    pub fn is_idle(&self) -> bool {
        self.looks.len() <= LOOKS
    }
}

/// Writes a line for each look.
pub fn write_looks(looks: &[Timestamp]) -> String {
    looks.iter().map(|at| format!("{at}\n")).collect()
}

pub fn read_looks(text: &str) -> Vec<Timestamp> {
    text.lines().filter_map(Timestamp::parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(number: i64) -> Timestamp {
        Timestamp::from_millis(number * 86_400_000)
    }

    fn after(looks: &[i64], now: i64) -> Option<PruneRun> {
        next_prune_run(&looks.iter().map(|number| day(*number)).collect::<Vec<_>>(), day(now))
    }

    #[test]
    fn with_daily_looks_a_file_goes_after_thirty_days() {
        let look = after(&[97, 98, 99], 100).unwrap();
        assert_eq!((look.before, look.leftovers_before), (day(70), day(99)));
        assert_eq!(look.looks, [97, 98, 99, 100].map(day));
        assert_eq!(after(&[96, 97, 98, 99], 100).unwrap().looks, [97, 98, 99, 100].map(day));
        assert_eq!(after(&[97, 98, 100], 100), None);
    }

    #[test]
    fn a_clock_that_jumps_ahead_makes_nothing_old() {
        let mut looks = vec![day(98), day(99), day(100)];
        // The clock is in the year 2038 for some days.
        for (now, before) in [(25_000, 98), (25_001, 99), (25_002, 100)] {
            let look = next_prune_run(&looks, day(now)).unwrap();
            assert_eq!(look.before, day(before));
            looks = look.looks;
        }
        // When it is right again, the looks of the future do not count.
        let look = next_prune_run(&looks, day(102)).unwrap();
        assert_eq!(look.looks, [100, 102].map(day));
        assert!(look.before < day(-1_000_000));
    }

    #[test]
    fn who_has_looked_less_than_three_times_removes_nothing() {
        for looks in [&[][..], &[10], &[10, 50]] {
            let look = after(looks, 100).unwrap();
            assert!(look.before < day(-1_000_000) && look.is_idle(), "{looks:?}");
        }
        // And rare looks keep files for longer.
        let look = after(&[10, 50, 90], 130).unwrap();
        assert!(look.before == day(10) && !look.is_idle());
    }

    #[test]
    fn looks_are_written_and_read() {
        let looks = [day(1), day(2)];
        assert_eq!(read_looks(&write_looks(&looks)), looks);
        assert_eq!(read_looks("garbage\n1970-01-02T00:00:00Z"), [day(1)]);
    }
}
