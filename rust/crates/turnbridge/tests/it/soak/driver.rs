//! Drives a soak: the owner starts turns, replies and sends `stop`; other users write too;
//! processes are killed and other faults occur. It ends after enough kills or a timeout. Then the
//! faults stop, and the daemons run until no work is left.

use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use testkit::{SlackApi, SlackSetup};

use super::agents::AgentLogEntry;
use super::faults::{Faults, SoakTrouble};
use super::machine::{SoakMachine, now_micros};
use super::night::SlackClock;
use super::person::{PersonMessage, TypedTurn};
use super::random::SoakRng;
use super::victims::{self, FoundProcess, Kill, ProcessKind};

/// The extent of a soak.
#[derive(Clone, Debug)]
pub struct SoakPlan {
    pub seed: u64,
    pub machines: usize,
    pub kills: usize,
    /// The timeout of the soak, whatever the number of kills.
    pub longest: Duration,
    /// The timeout for everything to come to rest.
    pub rest: Duration,
    /// Faults that are left out.
    pub without: Vec<SoakTrouble>,
}

/// A soak: its machines, its Slack, and the records of all actions.
pub struct Soak {
    pub plan: SoakPlan,
    pub slack: SlackApi,
    pub slack_clock: SlackClock,
    pub channel: String,
    pub machines: Arc<Vec<SoakMachine>>,
    /// The owner's messages in Slack.
    pub said: Vec<PersonMessage>,
    /// The turns that the owner began at a keyboard.
    pub turns: Vec<TypedTurn>,
    pub kills: Arc<Mutex<Vec<Kill>>>,
    pub faults: Faults,
    /// The actions in order, with the real time in microseconds.
    pub journal: Vec<(u64, String)>,
    /// Processes that still existed after the stop of all daemons.
    pub left: Vec<FoundProcess>,
    /// The number of messages by other users.
    pub intruders: usize,
    pub random: SoakRng,
    /// The agents that run at a keyboard.
    pub at_keyboard: Vec<Child>,
}

/// The number of sessions of one machine.
pub const SESSIONS: usize = 3;
/// The limit of parallel turns: more would only wait for each other.
const MOST_TURNS_AT_ONCE: usize = 3;
const MOST_OPEN_REPLIES: usize = 20;
/// The number of kills between two nights. There is also a night at the end.
const KILLS_OF_A_DAY: usize = 60;

impl Soak {
    /// Creates Slack and the machines, without daemons.
    pub fn start(plan: SoakPlan) -> Soak {
        let setup =
            SlackSetup { disconnect_grace: Duration::from_millis(500), ..SlackSetup::default() };
        let slack = SlackApi::start(setup);
        let url = slack.base_url();
        let machines = (0..plan.machines).map(|number| SoakMachine::new(number, &url, SESSIONS));
        let random = SoakRng::new(plan.seed);
        Soak {
            plan,
            slack_clock: SlackClock::new(),
            channel: slack.direct_message(),
            machines: Arc::new(machines.collect()),
            slack,
            said: Vec::new(),
            turns: Vec::new(),
            kills: Arc::default(),
            faults: Faults::new(),
            journal: Vec::new(),
            left: Vec::new(),
            intruders: 0,
            random,
            at_keyboard: Vec::new(),
        }
    }

    /// Runs the whole soak.
    pub fn run(&mut self) {
        self.machines.iter().for_each(|machine| machine.look_after_daemon(true));
        self.machines.iter().for_each(SoakMachine::wait_until_it_listens);
        for machine in 0..self.machines.len() {
            for session in 0..SESSIONS {
                self.begin_turn(machine, session, "work=10");
            }
        }
        self.strike(SoakTrouble::Weather);
        let begun = Instant::now();
        let is_over = AtomicBool::new(false);
        let mut random = self.random.fork();
        let mut days = 1;
        let (machines, kills) = (Arc::clone(&self.machines), Arc::clone(&self.kills));
        thread::scope(|scope| {
            let _ends = AtEnd(&is_over);
            scope.spawn(|| {
                while !is_over.load(Ordering::SeqCst) {
                    let kill = victims::kill_somebody(&machines, &mut random);
                    kills.lock().unwrap().extend(kill);
                }
            });
            while begun.elapsed() < self.plan.longest && self.killed() < self.plan.kills {
                machines.iter().for_each(SoakMachine::tick);
                for _ in 0..10 {
                    self.random.pause(90);
                    machines.iter().for_each(|machine| machine.look_after_daemon(false));
                    self.faults.tick(&self.slack, &machines);
                    self.act();
                }
                if self.killed() >= days * KILLS_OF_A_DAY {
                    days += 1;
                    self.pass_a_night();
                }
            }
        });
        self.pass_a_night();
        self.come_to_rest();
        self.machines.iter().for_each(SoakMachine::stop_daemon);
        self.left = victims::find(&self.machines);
    }

    fn killed(&self) -> usize {
        let noted = self.machines.iter().flat_map(SoakMachine::noted);
        let hooks = noted.filter(|noted| matches!(noted.what, AgentLogEntry::Hook(_, 137))).count();
        self.kills.lock().unwrap().len() + hooks
    }

    /// Adds an action to the journal.
    pub fn note(&mut self, what: String) {
        self.journal.push((now_micros(), what));
    }

    fn act(&mut self) {
        self.at_keyboard.retain_mut(|child| child.try_wait().unwrap().is_none());
        match self.random.below(100) {
            0..22 if self.at_keyboard.len() < MOST_TURNS_AT_ONCE => self.begin_any_turn(),
            22..72 if self.open_replies() < MOST_OPEN_REPLIES => self.reply(),
            72..74 => self.intrude(),
            74..75 => self.speak_elsewhere(),
            75..77 => self.stop_a_daemon(),
            77..84 => self.strike(SoakTrouble::Weather),
            84..89 => self.strike(SoakTrouble::Sockets),
            89..91 => self.strike(SoakTrouble::Down),
            91..94 => self.strike(SoakTrouble::Clock),
            94..95 => self.strike(SoakTrouble::Disk),
            95.. => self.strike(SoakTrouble::Suspended),
            _ => {}
        }
    }

    fn stop_a_daemon(&mut self) {
        let number = self.random.below(self.machines.len());
        let machine = &self.machines[number];
        machine.keep_down_until(Instant::now() + self.random.milliseconds(0, 2_500));
        machine.stop_daemon();
        self.note(format!("machine {number}: daemon stopped"));
    }

    /// Causes a fault, unless the plan leaves it out.
    pub fn strike(&mut self, trouble: SoakTrouble) {
        if self.plan.without.contains(&trouble) {
            return;
        }
        let what = self.faults.strike(trouble, &self.slack, &self.machines, &mut self.random);
        self.note(what);
    }

    /// Stops the faults, and runs all daemons until no work is left, or the timeout.
    fn come_to_rest(&mut self) {
        self.faults.rest(&self.slack, &self.machines);
        self.note("everything comes to rest".to_owned());
        let deadline = Instant::now() + self.plan.rest;
        let mut ahead = 0;
        while Instant::now() < deadline {
            self.machines.iter().for_each(|machine| machine.look_after_daemon(true));
            let next_look = Instant::now() + Duration::from_millis(1_500);
            while Instant::now() < next_look {
                if self.is_at_rest() {
                    return self.note("everything is at rest".to_owned());
                }
                thread::sleep(Duration::from_millis(50));
            }
            // A starting daemon recovers the turns that killed hooks have left.
            let has_left = |machine: &&SoakMachine| machine.has_left_turns();
            self.machines.iter().filter(has_left).for_each(SoakMachine::stop_daemon);
            // Advances the clock, so that every retry is due.
            ahead += 1_900;
            for machine in self.machines.iter() {
                machine.set_clock(ahead);
            }
        }
        self.note("the time is up".to_owned());
    }

    fn is_at_rest(&mut self) -> bool {
        self.at_keyboard.retain_mut(|child| child.try_wait().unwrap().is_none());
        let is_empty = |machine: &SoakMachine, folder| {
            !machine.files(folder).iter().any(|name| name.ends_with(".json"))
        };
        // The order is that of a message's path.
        self.at_keyboard.is_empty()
            && self.machines.iter().all(|machine| is_empty(machine, "heard"))
            && self.machines.iter().all(|machine| is_empty(machine, "inbox"))
            && self.machines.iter().all(|machine| is_empty(machine, "outbox"))
            && self.open_replies() == 0
            && !self.machines.iter().any(SoakMachine::has_left_turns)
            && !victims::find(&self.machines).iter().any(|it| it.kind != ProcessKind::Daemon)
    }
}

/// Sets the flag at the end, also when the driver panics.
struct AtEnd<'a>(&'a AtomicBool);

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Ends all agents of the soak.
impl Drop for Soak {
    fn drop(&mut self) {
        for child in &mut self.at_keyboard {
            let _ = child.kill();
            let _ = child.wait();
        }
        for machine in self.machines.iter() {
            machine.stop_daemon();
        }
        victims::kill_all(&self.machines);
    }
}
