//! Simulates a night: all daemons are stopped, and the owner replies meanwhile. In the morning the
//! daemons cannot query Slack at first, and receive newer messages in the same threads. Slack's
//! clock is set ahead, so that the night's messages are older than the period that is read again
//! before a mark.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use testkit::slack::{FaultMix, FaultMoment, SlackFault};

use super::driver::Soak;
use super::faults::SoakTrouble;
use super::machine::now_micros;
use super::person::PersonMessageKind;

/// The length of a night, which exceeds the period that is read again before a mark.
const LENGTH: u64 = 10 * 60 * 1_000_000;
const TIMEOUT: Duration = Duration::from_secs(10);

/// Slack's clock, which nights set ahead. Times are in microseconds.
pub struct SlackClock {
    /// The times of the jumps, since 1970 by the real clock, each with the new offset.
    set: Vec<(u64, u64)>,
}

impl SlackClock {
    pub fn new() -> SlackClock {
        SlackClock { set: vec![(0, 0)] }
    }

    fn ahead(&self) -> u64 {
        self.set.last().map_or(0, |(_, ahead)| *ahead)
    }

    /// Returns the time of this clock.
    pub fn now(&self) -> u64 {
        now_micros() + self.ahead()
    }

    /// Returns the real clock's time at this clock's time.
    pub fn real(&self, time: u64) -> u64 {
        let is_after = |(since, ahead): &&(u64, u64)| time >= since + ahead;
        time - self.set.iter().rev().find(is_after).map_or(0, |(_, ahead)| *ahead)
    }
}

impl Soak {
    /// Simulates a night and the morning after it.
    pub fn pass_a_night(&mut self) {
        self.note("a night begins".to_owned());
        for machine in self.machines.iter() {
            machine.keep_down_until(Instant::now() + TIMEOUT);
            machine.stop_daemon();
        }
        let threads = self.newest_threads();
        for ((machine, session), thread_ts) in &threads {
            let place = (*machine, session.clone(), thread_ts.clone());
            self.write(place, PersonMessageKind::Prompt, "work=10", false);
        }
        let ahead = self.slack_clock.ahead() + LENGTH;
        self.slack_clock.set.push((now_micros(), ahead));
        self.slack.change(|setup| setup.clock_ahead_seconds = (ahead / 1_000_000) as i64);
        let fails = FaultMix::seeded(1).with(1.0, SlackFault::Reset(FaultMoment::Before));
        self.slack.fail_by_chance("conversations.history", fails);
        self.note("a night ends".to_owned());
        let is_heard = self.disturb(&threads);
        let what = if is_heard { "nights" } else { "nights without a word in the morning" };
        *self.faults.counts.entry(what.to_owned()).or_default() += 1;
        self.slack.heal();
        self.strike(SoakTrouble::Weather);
    }

    /// Returns the newest thread of each machine, with its machine and session.
    fn newest_threads(&self) -> Vec<((usize, String), String)> {
        let threads = self.slack.threads();
        let mut known: Vec<_> = threads
            .iter()
            .rev()
            .filter_map(|thread| Some((self.owner_of(thread)?, thread.parent.ts.clone())))
            .collect();
        known.sort_by_key(|((machine, _), _)| *machine);
        known.dedup_by_key(|((machine, _), _)| *machine);
        known
    }

    /// Posts messages of other users in these threads until each machine has logged one in its own.
    /// Each message goes to one random socket. Returns whether all have logged one.
    fn disturb(&mut self, threads: &[((usize, String), String)]) -> bool {
        let machines = Arc::clone(&self.machines);
        let deadline = Instant::now() + TIMEOUT;
        let mut written: Vec<_> =
            threads.iter().map(|((machine, _), ts)| (*machine, ts, Vec::new())).collect();
        while Instant::now() < deadline {
            machines.iter().for_each(|machine| machine.look_after_daemon(true));
            self.faults.tick(&self.slack, &machines);
            written.retain(|(machine, _, times)| !machines[*machine].has_logged(times));
            if written.is_empty() {
                return true;
            }
            for (_, thread_ts, times) in &mut written {
                times.push(self.intrude_in(thread_ts));
            }
            thread::sleep(Duration::from_millis(100));
        }
        false
    }
}
