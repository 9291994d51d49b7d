//! Simulates one computer of the owner's: a hermetic home with its own clock and disk, its daemon,
//! its sessions, and the stand-in agent.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use turnbridge_store::paths::StatePaths;
use turnbridge_store::state::pending_turns;

use super::agents::{self, AgentLogLine};
use crate::support::world::World;

/// The speed-up of time: of the delivery's pauses, and of the clock.
const TIME_SCALE: u32 = 20;

/// The size of a machine's disk: more than a soak writes.
const DISK: &str = "size=48m,mode=0700";

/// A computer of the owner's. A drop ends its daemon and unmounts its disk.
pub struct SoakMachine {
    pub world: World,
    pub sessions: Vec<String>,
    begun: Instant,
    /// The number of seconds that the clock was set ahead.
    jump: Mutex<i64>,
    daemon: Mutex<SoakDaemon>,
    /// The state folder, if it is a separate disk.
    disk: Option<PathBuf>,
    /// The periods with a full disk, in microseconds since 1970: from, to.
    pub full: Mutex<Vec<(u64, u64)>>,
}

#[derive(Default)]
struct SoakDaemon {
    process: Option<Child>,
    /// The time of its restart after an end. `None`: immediately.
    back_at: Option<Instant>,
}

impl SoakMachine {
    pub fn new(number: usize, slack_url: &str, sessions: usize) -> SoakMachine {
        let world = World::new().with("TURNBRIDGE_SLACK_TIME_SCALE", &TIME_SCALE.to_string());
        let clock = world.hermetic.root().join("clock");
        let world = world.with("TURNBRIDGE_CLOCK_AHEAD_FILE", clock.to_str().unwrap());
        fs::write(&clock, "0").unwrap();
        world.configure(&config(slack_url));
        let state = world.hermetic.state_dir();
        fs::create_dir_all(&state).unwrap();
        let disk = mount(&state).then_some(state);
        let session =
            |session| format!("825c8529-ee09-4cb8-89{number:02x}-dd785b12ca{session:02x}");
        let sessions = (0..sessions).map(session).collect();
        let machine = SoakMachine {
            world,
            sessions,
            begun: Instant::now(),
            jump: Mutex::default(),
            daemon: Mutex::default(),
            disk,
            full: Mutex::default(),
        };
        agents::install(&machine);
        machine
    }

    pub fn agent_log(&self) -> PathBuf {
        self.world.hermetic.root().join("agent.log")
    }

    pub fn clock_file(&self) -> PathBuf {
        self.world.hermetic.root().join("clock")
    }

    pub fn state(&self, place: &str) -> PathBuf {
        self.world.hermetic.state_dir().join(place)
    }

    /// Returns the entries of its agents so far.
    pub fn noted(&self) -> Vec<AgentLogLine> {
        agents::read_log(&self.agent_log())
    }

    /// Sets this machine's clock this many seconds ahead of its normal time.
    pub fn set_clock(&self, seconds: i64) {
        *self.jump.lock().unwrap() = seconds;
        self.tick();
    }

    /// Advances the clock, and makes the daemon check what is due.
    pub fn tick(&self) {
        let passed = i64::try_from(self.begun.elapsed().as_secs() * u64::from(TIME_SCALE)).unwrap();
        let ahead = *self.jump.lock().unwrap() + passed;
        let beside = self.clock_file().with_extension("new");
        fs::write(&beside, ahead.to_string()).unwrap();
        fs::rename(&beside, self.clock_file()).unwrap();
        let touched = self.state("outbox/touched");
        let _ = fs::write(&touched, "");
        let _ = fs::remove_file(&touched);
    }

    /// Returns a command with the stand-in agent first in its PATH.
    fn command(&self, program: &str) -> Command {
        let mut command = self.world.command(program);
        let bin = self.world.hermetic.root().join("bin");
        command.env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Starts the agent for a turn at the keyboard.
    pub fn begin_turn(&self, session: &str, prompt: &str) -> Child {
        let program = self.world.hermetic.root().join("bin/claude");
        let mut command = self.world.hermetic.command(program);
        command.envs(self.command("turnbridge").get_envs().filter_map(|(k, v)| Some((k, v?))));
        command.args(["--session-id", session, prompt]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    fn daemon(&self) -> MutexGuard<'_, SoakDaemon> {
        self.daemon.lock().unwrap()
    }

    /// Starts the daemon if it is down and should run.
    pub fn look_after_daemon(&self, is_wanted_now: bool) {
        let mut daemon = self.daemon();
        let is_running =
            daemon.process.as_mut().is_some_and(|child| child.try_wait().unwrap().is_none());
        let is_due = is_wanted_now || daemon.back_at.is_none_or(|at| Instant::now() >= at);
        if !is_running && is_due {
            daemon.back_at = None;
            let mut command = self.command("turnbridge");
            daemon.process = Some(command.args(["daemon", "--foreground"]).spawn().unwrap());
        }
    }

    /// Waits until the daemon's mark for listening exists: an earlier message is no prompt.
    pub fn wait_until_it_listens(&self) {
        testkit::wait_until(Duration::from_secs(60), "a daemon that listens", || {
            let marks = fs::read_to_string(self.state("slack-threads.jsonl")).ok()?;
            marks.contains("\"since\"").then_some(())
        });
    }

    /// Keeps the daemon down until this time after its next end.
    pub fn keep_down_until(&self, at: Instant) {
        self.daemon().back_at = Some(at);
    }

    /// Stops the daemon like `turnbridge daemon stop`.
    pub fn stop_daemon(&self) {
        let _ = self.command("turnbridge").args(["daemon", "stop"]).status();
        if let Some(mut child) = self.daemon().process.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Fills the disk completely. Returns `false` if this machine's disk is shared with others.
    pub fn fill_disk(&self) -> bool {
        if self.disk.is_none() {
            return false;
        }
        self.full.lock().unwrap().push((now_micros(), u64::MAX));
        let Ok(mut file) = File::create(self.state("fill")) else { return true };
        for block in [1 << 16, 1 << 8, 1] {
            while file.write_all(&vec![0; block]).is_ok() {}
        }
        true
    }

    /// Removes the file that fills the disk.
    pub fn free_disk(&self) {
        if self.disk.is_some() {
            let _ = fs::remove_file(self.state("fill"));
            for (_, to) in self.full.lock().unwrap().iter_mut() {
                *to = now_micros().min(*to);
            }
        }
    }

    /// Returns whether there is a turn whose end a killed hook has seen, and that has no notice
    /// yet.
    pub fn has_left_turns(&self) -> bool {
        let paths = StatePaths::below(&self.world.hermetic.state_dir());
        !pending_turns::sessions(&paths).is_empty()
    }

    /// Returns whether the daemon has logged a message with one of these times.
    pub fn has_logged(&self, times: &[String]) -> bool {
        let log = fs::read_to_string(self.state("logs/daemon.log")).unwrap_or_default();
        times.iter().any(|ts| log.contains(ts.as_str()))
    }

    /// Returns whether the disk was full at some time in this period.
    pub fn was_full(&self, from: u64, to: u64) -> bool {
        self.full.lock().unwrap().iter().any(|(since, until)| *since <= to && from <= *until)
    }

    /// Returns the names of the files in a folder of the state.
    pub fn files(&self, folder: &str) -> Vec<String> {
        let files = fs::read_dir(self.state(folder)).into_iter().flatten();
        files.filter_map(|file| file.ok()?.file_name().into_string().ok()).collect()
    }
}

impl Drop for SoakMachine {
    fn drop(&mut self) {
        if let Some(mut child) = self.daemon().process.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if let Some(folder) = &self.disk {
            let _ = Command::new("umount").arg("-l").arg(folder).status();
        }
    }
}

fn config(slack_url: &str) -> String {
    format!(
        "language = \"en\"\n[slack]\nbot_token = \"xoxb-loopback-bot\"\n\
         app_token = \"xapp-loopback-app\"\napi_url = \"{slack_url}\"\n\
         [destinations.dm]\ntarget_user_id = \"U0OWNER\"\n[features]\nreply_resume = true\n\
         [gate]\nenabled = false\n"
    )
}

/// Mounts a disk; only root can.
fn mount(folder: &std::path::Path) -> bool {
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", DISK, "tmpfs"]).arg(folder).stderr(Stdio::null());
    cfg!(target_os = "linux") && mount.status().is_ok_and(|status| status.success())
}

/// Returns the microseconds since 1970 by the real clock.
pub fn now_micros() -> u64 {
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since_1970.unwrap().as_micros() as u64
}
