//! Generates seeded random numbers (SplitMix64). The same seed gives the same choices; the order of
//! simultaneous actions depends on the machine.

use std::thread;
use std::time::Duration;

/// A generator of random numbers.
pub struct SoakRng(u64);

impl SoakRng {
    pub fn new(seed: u64) -> SoakRng {
        SoakRng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def0)
    }

    /// Returns a generator for another thread, whose numbers do not depend on this one's pace.
    pub fn fork(&mut self) -> SoakRng {
        SoakRng(self.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    /// Returns a number from `low` to `high`, both included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// Returns `true` with this chance in percent.
    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// Picks by weight.
    pub fn weighted<T: Copy>(&mut self, choices: &[(usize, T)]) -> T {
        let mut left = self.below(choices.iter().map(|(weight, _)| weight).sum());
        for (weight, choice) in choices {
            if left < *weight {
                return *choice;
            }
            left -= weight;
        }
        choices[0].1
    }

    pub fn milliseconds(&mut self, low: usize, high: usize) -> Duration {
        Duration::from_millis(self.between(low, high) as u64)
    }

    /// Sleeps for a random time.
    pub fn pause(&mut self, most_milliseconds: usize) {
        thread::sleep(self.milliseconds(0, most_milliseconds));
    }
}
