//! Tests one or two machines on one Slack under kills and other faults for a long time (a soak).
//! Daemon, notifier, runner, agent and hooks are killed, Slack fails, clocks jump, disks are full,
//! processes are suspended, and all daemons are down for a night. At the end the ledger checks that
//! no message is lost, duplicated or false.
//!
//! `TURNBRIDGE_TEST_SEED=7 cargo test -p turnbridge --test it soak::a_short -- --nocapture` repeats
//! one seed. The choices are then the same; the timing depends on the machine.

mod agents;
mod driver;
mod faults;
mod ledger;
mod machine;
mod night;
mod person;
mod random;
mod replies;
mod story;
mod turns;
mod victims;

use std::time::Duration;

use driver::{Soak, SoakPlan};
use faults::SoakTrouble;
use ledger::Ledger;

/// Returns the test's plan, which environment variables override.
fn plan(seed: u64, machines: usize, kills: usize) -> SoakPlan {
    let variable = |name: &str| std::env::var(name).ok();
    let without = variable("TURNBRIDGE_TEST_SOAK_WITHOUT").unwrap_or_default();
    let is_left_out = |trouble: &SoakTrouble| without.contains(&format!("{trouble:?}"));
    SoakPlan {
        seed: variable("TURNBRIDGE_TEST_SEED").and_then(|it| it.parse().ok()).unwrap_or(seed),
        machines,
        kills,
        longest: Duration::from_secs(2 * kills as u64),
        rest: Duration::from_secs(90),
        without: SoakTrouble::ALL.into_iter().filter(is_left_out).collect(),
    }
}

#[expect(clippy::print_stderr, reason = "the ledger is what the slow gate shows of a soak")]
fn soak(plan: SoakPlan) {
    let seed = plan.seed;
    let mut soak = Soak::start(plan);
    soak.run();
    let ledger = Ledger::of(&soak);
    let table = story::table(&soak, &ledger);
    eprintln!("{table}");
    assert!(
        ledger.violations.is_empty(),
        "run it again with TURNBRIDGE_TEST_SEED={seed}\n{}{table}",
        story::violations(&soak, &ledger)
    );
}

/// A thousand kills in all, split by seed, so that each result is separate and they run in
/// parallel.
const KILLS: usize = 250;

fn slow(plan: SoakPlan) {
    if testkit::skipped_as_slow() {
        return;
    }
    soak(plan);
}

#[test]
fn a_short_soak_loses_doubles_and_misreports_nothing() {
    soak(plan(1, 2, 10));
}

#[test]
fn a_long_soak_of_one_machine_loses_doubles_and_misreports_nothing() {
    slow(plan(2, 1, KILLS));
}

#[test]
fn a_long_soak_of_two_machines_loses_doubles_and_misreports_nothing() {
    slow(plan(3, 2, KILLS));
}

#[test]
fn a_second_long_soak_of_two_machines_loses_doubles_and_misreports_nothing() {
    slow(plan(4, 2, KILLS));
}

#[test]
fn a_third_long_soak_of_two_machines_loses_doubles_and_misreports_nothing() {
    slow(plan(5, 2, KILLS));
}
