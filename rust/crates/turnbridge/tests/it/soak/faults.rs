//! The faults beside kills: Slack's own faults, clocks that jump, full disks, suspended processes.
//! Each is undone after a while, and all of them before everything comes to rest.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use testkit::SlackApi;
use testkit::slack::{Cut, Fault, FaultMix, Greeting, Shape, When};

use super::machine::Machine;
use super::random::Random;
use super::victims::{self, Suspended};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Calls of the Web API fail at random.
    Weather,
    /// Sockets end or are replaced, events come twice.
    Sockets,
    /// Slack's address refuses connections.
    Down,
    Clock,
    Disk,
    Suspended,
}

impl Trouble {
    pub const ALL: [Trouble; 6] = [
        Trouble::Weather,
        Trouble::Sockets,
        Trouble::Down,
        Trouble::Clock,
        Trouble::Disk,
        Trouble::Suspended,
    ];
}

pub struct Faults {
    /// The number of times that each has happened.
    pub counts: BTreeMap<String, usize>,
    undo: Vec<(Instant, Undo)>,
    suspended: Vec<Suspended>,
}

enum Undo {
    Up,
    FreeDisk(usize),
}

const HOUR: i64 = 3_600;

impl Faults {
    pub fn new() -> Faults {
        Faults { counts: BTreeMap::new(), undo: Vec::new(), suspended: Vec::new() }
    }

    /// Makes one fault of this kind. Returns its description for the journal.
    pub fn strike(
        &mut self,
        trouble: Trouble,
        slack: &SlackApi,
        machines: &[Machine],
        random: &mut Random,
    ) -> String {
        let index = random.below(machines.len());
        let machine = &machines[index];
        let what = match trouble {
            Trouble::Weather => weather(slack, random),
            Trouble::Sockets => sockets(slack, random),
            Trouble::Down => {
                slack.down();
                self.later(random.milliseconds(100, 1_500), Undo::Up);
                "Slack is down".to_owned()
            }
            Trouble::Clock => {
                let hours = *random.pick(&[0, 0, 1, 25, 24 * 40, 24 * 365 * 12, -2, -24 * 400]);
                machine.set_clock(hours * HOUR);
                match hours {
                    0 => "clock put right".to_owned(),
                    1.. => "clock ahead".to_owned(),
                    _ => "clock behind".to_owned(),
                }
            }
            Trouble::Disk => {
                if !machine.fill_disk() {
                    return "no disk of its own".to_owned();
                }
                self.later(random.milliseconds(100, 1_200), Undo::FreeDisk(index));
                "full disk".to_owned()
            }
            Trouble::Suspended => {
                let longest = if random.percent(15) { 4_500 } else { 800 };
                let time = random.milliseconds(20, longest);
                let Some(suspended) = victims::suspend(machines, time, random) else {
                    return "nobody to suspend".to_owned();
                };
                let what = format!("{:?} suspended", suspended.victim.kind);
                self.suspended.push(suspended);
                what
            }
        };
        *self.counts.entry(what.clone()).or_default() += 1;
        format!("machine {index}: {what}")
    }

    fn later(&mut self, time: Duration, undo: Undo) {
        self.undo.push((Instant::now() + time, undo));
    }

    /// Undoes the faults that are over.
    pub fn tick(&mut self, slack: &SlackApi, machines: &[Machine]) {
        let now = Instant::now();
        self.suspended.retain(|suspended| suspended.until > now);
        let (due, later) = self.undo.drain(..).partition(|(at, _)| *at <= now);
        self.undo = later;
        undo(due, slack, machines);
    }

    /// Undoes everything.
    pub fn rest(&mut self, slack: &SlackApi, machines: &[Machine]) {
        self.suspended.clear();
        victims::resume_all(machines);
        undo(std::mem::take(&mut self.undo), slack, machines);
        slack.up();
        slack.heal();
        machines.iter().for_each(Machine::free_disk);
        machines.iter().for_each(|machine| machine.set_clock(0));
    }
}

fn undo(all: Vec<(Instant, Undo)>, slack: &SlackApi, machines: &[Machine]) {
    for (_, one) in all {
        match one {
            Undo::Up => slack.up(),
            Undo::FreeDisk(index) => machines[index].free_disk(),
        }
    }
}

fn weather(slack: &SlackApi, random: &mut Random) -> String {
    slack.heal();
    let (name, strength) =
        random.weighted(&[(2, ("calm", 0.0)), (5, ("drizzle", 0.4)), (2, ("storm", 1.0))]);
    if strength > 0.0 {
        let mix = FaultMix::seeded(random.below(usize::MAX) as u64)
            .with(0.06 * strength, Fault::Reset(When::Before))
            .with(0.10 * strength, Fault::Reset(When::After))
            .with(0.05 * strength, Fault::Status(When::Before, 500))
            .with(0.08 * strength, Fault::Status(When::After, 503))
            .with(0.14 * strength, Fault::RateLimited(1))
            .with(0.05 * strength, Fault::CutBody)
            .with(0.03 * strength, Fault::BrokenJson)
            .with(0.03 * strength, Fault::Html)
            .with(0.03 * strength, Fault::Refuse)
            .with(0.02 * strength, Fault::Hang(When::Before))
            .with(0.02 * strength, Fault::Hang(When::After))
            .with(0.10 * strength, Fault::Delay(When::Before, Duration::from_millis(40)))
            .with(0.10 * strength, Fault::Delay(When::After, Duration::from_millis(40)));
        slack.fail_by_chance("*", mix);
    }
    format!("weather: {name}")
}

fn sockets(slack: &SlackApi, random: &mut Random) -> String {
    let what = match random.below(9) {
        0 => slack.kill(Cut::Reset),
        1 => slack.kill(Cut::Fin),
        2 => slack.kill(Cut::Close(1000)),
        3 => slack.kill(Cut::HalfOpen),
        4 => slack.refresh(),
        5 => slack.disconnect("warning"),
        6 => {
            slack.greet([*random.pick(&[Greeting::Never, Greeting::End, Greeting::Status(503)])]);
            slack.kill(Cut::Reset)
        }
        _ => {
            slack.shape([Shape::Twice, Shape::Fragments(3), Shape::Twice]);
            return "events twice".to_owned();
        }
    };
    let _ = what;
    "sockets cut".to_owned()
}
