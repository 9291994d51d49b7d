//! Causes the faults of a soak other than kills: errors of Slack, broken sockets, clocks that jump,
//! full disks, suspended processes. Each is undone after a while, and all of them before the soak's
//! rest.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use testkit::SlackApi;
use testkit::slack::{Cut, EnvelopeShape, FaultMix, FaultMoment, Greeting, SlackFault};

use super::machine::SoakMachine;
use super::random::SoakRng;
use super::victims::{self, Suspended};

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoakTrouble {
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

impl SoakTrouble {
    pub const ALL: [SoakTrouble; 6] = [
        SoakTrouble::Weather,
        SoakTrouble::Sockets,
        SoakTrouble::Down,
        SoakTrouble::Clock,
        SoakTrouble::Disk,
        SoakTrouble::Suspended,
    ];
}

/// The faults that have occurred, and those that must still be undone.
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
        trouble: SoakTrouble,
        slack: &SlackApi,
        machines: &[SoakMachine],
        random: &mut SoakRng,
    ) -> String {
        let index = random.below(machines.len());
        let machine = &machines[index];
        let what = match trouble {
            SoakTrouble::Weather => weather(slack, random),
            SoakTrouble::Sockets => sockets(slack, random),
            SoakTrouble::Down => {
                slack.down();
                self.later(random.milliseconds(100, 1_500), Undo::Up);
                "Slack is down".to_owned()
            }
            SoakTrouble::Clock => {
                let hours = *random.pick(&[0, 0, 1, 25, 24 * 40, 24 * 365 * 12, -2, -24 * 400]);
                machine.set_clock(hours * HOUR);
                match hours {
                    0 => "clock put right".to_owned(),
                    1.. => "clock ahead".to_owned(),
                    _ => "clock behind".to_owned(),
                }
            }
            SoakTrouble::Disk => {
                if !machine.fill_disk() {
                    return "no disk of its own".to_owned();
                }
                self.later(random.milliseconds(100, 1_200), Undo::FreeDisk(index));
                "full disk".to_owned()
            }
            SoakTrouble::Suspended => {
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
    pub fn tick(&mut self, slack: &SlackApi, machines: &[SoakMachine]) {
        let now = Instant::now();
        self.suspended.retain(|suspended| suspended.until > now);
        let (due, later) = self.undo.drain(..).partition(|(at, _)| *at <= now);
        self.undo = later;
        undo(due, slack, machines);
    }

    /// Undoes everything.
    pub fn rest(&mut self, slack: &SlackApi, machines: &[SoakMachine]) {
        self.suspended.clear();
        victims::resume_all(machines);
        undo(std::mem::take(&mut self.undo), slack, machines);
        slack.up();
        slack.heal();
        machines.iter().for_each(SoakMachine::free_disk);
        machines.iter().for_each(|machine| machine.set_clock(0));
    }
}

fn undo(all: Vec<(Instant, Undo)>, slack: &SlackApi, machines: &[SoakMachine]) {
    for (_, one) in all {
        match one {
            Undo::Up => slack.up(),
            Undo::FreeDisk(index) => machines[index].free_disk(),
        }
    }
}

fn weather(slack: &SlackApi, random: &mut SoakRng) -> String {
    slack.heal();
    let (name, strength) =
        random.weighted(&[(2, ("calm", 0.0)), (5, ("drizzle", 0.4)), (2, ("storm", 1.0))]);
    if strength > 0.0 {
        let mix = FaultMix::seeded(random.below(usize::MAX) as u64)
            .with(0.06 * strength, SlackFault::Reset(FaultMoment::Before))
            .with(0.10 * strength, SlackFault::Reset(FaultMoment::After))
            .with(0.05 * strength, SlackFault::Status(FaultMoment::Before, 500))
            .with(0.08 * strength, SlackFault::Status(FaultMoment::After, 503))
            .with(0.14 * strength, SlackFault::RateLimited(1))
            .with(0.05 * strength, SlackFault::CutBody)
            .with(0.03 * strength, SlackFault::BrokenJson)
            .with(0.03 * strength, SlackFault::Html)
            .with(0.03 * strength, SlackFault::Refuse)
            .with(0.02 * strength, SlackFault::Hang(FaultMoment::Before))
            .with(0.02 * strength, SlackFault::Hang(FaultMoment::After))
            .with(
                0.10 * strength,
                SlackFault::Delay(FaultMoment::Before, Duration::from_millis(40)),
            )
            .with(
                0.10 * strength,
                SlackFault::Delay(FaultMoment::After, Duration::from_millis(40)),
            );
        slack.fail_by_chance("*", mix);
    }
    format!("weather: {name}")
}

fn sockets(slack: &SlackApi, random: &mut SoakRng) -> String {
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
            slack.shape([EnvelopeShape::Twice, EnvelopeShape::Fragments(3), EnvelopeShape::Twice]);
            return "events twice".to_owned();
        }
    };
    let _ = what;
    "sockets cut".to_owned()
}
