//! Finds processes of the soak in `/proc`, and kills or suspends them. It identifies them by the
//! soak's own homes, pid and start time, so that no other process is affected. Hooks live too
//! briefly to be found there: the stand-in agent kills them itself (`kill-hook=`).

use std::fs;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::machine::{SoakMachine, now_micros};
use super::random::SoakRng;

/// The kind of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProcessKind {
    Daemon,
    Notifier,
    Runner,
    Agent,
    Hook,
}

/// One process of the soak.
#[derive(Clone, Debug)]
pub struct FoundProcess {
    pub kind: ProcessKind,
    pub machine: usize,
    pub pid: u32,
    /// The reply of a runner or an agent.
    pub reply: Option<String>,
    start: u64,
}

/// A kill by the soak.
#[derive(Clone, Debug)]
pub struct Kill {
    pub at: u64,
    pub victim: FoundProcess,
}

/// Returns all processes of these machines that can be killed or suspended.
pub fn find(machines: &[SoakMachine]) -> Vec<FoundProcess> {
    let homes: Vec<_> =
        machines.iter().map(|machine| machine.world.hermetic.root().to_str().unwrap()).collect();
    let folders = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = folders.filter_map(|folder| folder.file_name().to_str()?.parse().ok());
    let mut found: Vec<_> = pids.filter_map(|pid| look_at(pid, &homes)).collect();
    // A shell's own children look like it until they execute another program.
    let agents: Vec<_> =
        found.iter().filter(|it| it.kind == ProcessKind::Agent).map(|it| it.pid).collect();
    found.retain(|it| {
        it.kind != ProcessKind::Agent || !parent(it.pid).is_some_and(|p| agents.contains(&p))
    });
    found
}

fn look_at(pid: u32, homes: &[&str]) -> Option<FoundProcess> {
    let name = fs::read(format!("/proc/{pid}/comm")).ok()?;
    if !name.starts_with(b"turnbridge") && !name.starts_with(b"claude") {
        return None;
    }
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let variable = |name: &str| {
        let mut all = environment.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        all.find_map(|it| it.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
    };
    let home = variable("HOME")?;
    let machine = homes.iter().position(|root| home.strip_prefix(root) == Some("/home"))?;
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let line: Vec<_> = line.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    let has = |word: &str| line.iter().any(|argument| argument == word);
    let program = line[0].rsplit('/').next().unwrap_or_default();
    let (kind, reply) = match program {
        "turnbridge" if has("--foreground") => (ProcessKind::Daemon, None),
        "turnbridge" if has("run-reply") => (
            ProcessKind::Runner,
            line.iter().rev().find(|it| !it.is_empty()).map(|it| it.to_string()),
        ),
        "turnbridge-notify" => (ProcessKind::Notifier, None),
        "turnbridge-status" | "turnbridge-stop-gate" => (ProcessKind::Hook, None),
        _ if line.get(1).is_some_and(|it| it.ends_with("/bin/claude")) => {
            (ProcessKind::Agent, variable("TURNBRIDGE_REPLY_ID"))
        }
        _ => return None,
    };
    Some(FoundProcess { kind, machine, pid, reply, start: start(pid)? })
}

fn stat(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_ascii_whitespace().map(str::to_owned).collect())
}

/// Returns the start time, or `None` for a zombie.
fn start(pid: u32) -> Option<u64> {
    let fields = stat(pid).filter(|fields| fields[0] != "Z")?;
    fields.get(19)?.parse().ok()
}

fn parent(pid: u32) -> Option<u32> {
    stat(pid)?.get(1)?.parse().ok()
}

/// Returns a handle that stays with this process, even if its pid is reused.
fn hold(found: &FoundProcess) -> Option<OwnedFd> {
    let pid = Pid::from_raw(i32::try_from(found.pid).ok()?)?;
    let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    (start(found.pid) == Some(found.start)).then_some(handle)
}

/// Kills one process of a random kind, after a random pause. Returns `None` if there was none of
/// that kind.
pub fn kill_somebody(machines: &[SoakMachine], random: &mut SoakRng) -> Option<Kill> {
    random.pause(250);
    let kind = random.weighted(&[
        (3, ProcessKind::Daemon),
        (4, ProcessKind::Notifier),
        (4, ProcessKind::Runner),
        (4, ProcessKind::Agent),
    ]);
    for _ in 0..20 {
        if find(machines).iter().any(|it| it.kind == kind) {
            random.pause(if kind == ProcessKind::Notifier { 30 } else { 120 });
            let kill = kill(machines, kind, random)?;
            if kind == ProcessKind::Daemon {
                let longest = if random.percent(25) { 6_000 } else { 1_200 };
                let back_at = Instant::now() + random.milliseconds(0, longest);
                machines[kill.victim.machine].keep_down_until(back_at);
            }
            return Some(kill);
        }
        thread::sleep(Duration::from_millis(15));
    }
    None
}

/// Kills a process of that kind, if one lives.
fn kill(machines: &[SoakMachine], kind: ProcessKind, random: &mut SoakRng) -> Option<Kill> {
    let mut found = find(machines);
    found.retain(|it| it.kind == kind);
    // Processes of a reply are rarer, and more useful victims.
    if found.iter().any(|it| it.reply.is_some()) && random.percent(80) {
        found.retain(|it| it.reply.is_some());
    }
    let victim = (!found.is_empty()).then(|| random.pick(&found).clone())?;
    let handle = hold(&victim)?;
    pidfd_send_signal(&handle, Signal::KILL).ok()?;
    Some(Kill { at: now_micros(), victim })
}

/// A suspended process, which a drop resumes.
pub struct Suspended {
    pub victim: FoundProcess,
    pub until: Instant,
    handle: OwnedFd,
}

impl Drop for Suspended {
    fn drop(&mut self) {
        let _ = pidfd_send_signal(&self.handle, Signal::CONT);
    }
}

/// Suspends a random process for this time. Returns `None` if there is none.
pub fn suspend(
    machines: &[SoakMachine],
    time: Duration,
    random: &mut SoakRng,
) -> Option<Suspended> {
    let found = find(machines);
    let victim = (!found.is_empty()).then(|| random.pick(&found).clone())?;
    let handle = hold(&victim)?;
    pidfd_send_signal(&handle, Signal::STOP).ok()?;
    Some(Suspended { victim, until: Instant::now() + time, handle })
}

/// Resumes the processes that a killed agent has left suspended.
pub fn resume_all(machines: &[SoakMachine]) {
    signal_all(machines, Signal::CONT);
}

/// Kills the remaining processes of a soak.
pub fn kill_all(machines: &[SoakMachine]) {
    signal_all(machines, Signal::KILL);
}

fn signal_all(machines: &[SoakMachine], signal: Signal) {
    for handle in find(machines).iter().filter_map(hold) {
        let _ = pidfd_send_signal(&handle, signal);
    }
}
