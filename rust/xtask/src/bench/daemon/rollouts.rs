//! Measures the daemon with ten thousand old rollouts: the time of its start, its memory, and the
//! delay of one new line. The delay is compared with that in a home with one small rollout, and in
//! a home with one huge rollout. The homes take turns, round after round.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail};
use testkit::Hermetic;

use super::super::codex;
use super::client::{configure, memory_of};

const FILES: usize = 10_000;
const LENGTH: u64 = 200 << 10;
const ROUNDS: usize = 60;
const TIMEOUT: Duration = Duration::from_secs(20);
const MONTH: Duration = Duration::from_secs(30 * 24 * 3_600);

const READY: f64 = 0.5;
const MEMORY: f64 = 12.0;
const RATIO: f64 = 1.2;

/// Runs the measurements and returns their table.
pub fn run(program: &Path) -> Result<String> {
    let mut few = RolloutHome::new(program, 1 << 20)?;
    let mut large = RolloutHome::new(program, 300 << 20)?;
    let mut many = RolloutHome::new(program, 1 << 20)?;
    fill(&many.hermetic.codex_home())?;
    let mut text = String::from("\n10,000 old rollouts of 2 GB\n");
    let mut judge = |what: &str, value: f64, goal: f64| {
        let verdict = if value <= goal { "reached" } else { "MISSED" };
        let _ = writeln!(text, "{what:<46} {value:>18.3}; goal {goal}: {verdict}");
    };
    judge("ready for the first time, s", many.start()?, READY);
    let mut starts = Vec::new();
    // The turns differ from those below.
    for round in 1_000..1_005 {
        many.stop();
        let before = many.seen();
        many.append(round)?;
        let spawned = Instant::now();
        many.start()?;
        many.wait(before)?;
        starts.push(spawned.elapsed().as_secs_f64());
    }
    starts.sort_by(f64::total_cmp);
    judge("started again until a missed line is seen, s", starts[1], READY);
    thread::sleep(Duration::from_secs(3));
    judge("RSS, MB", memory_of(many.process()?)?, MEMORY);
    few.start()?;
    large.start()?;
    let mut times = [const { Vec::new() }; 3];
    for round in 0..ROUNDS + 4 {
        for (place, times) in [&few, &large, &many].into_iter().zip(&mut times) {
            let time = place.new_line(round)?;
            // The first ones warm the caches.
            if round >= 4 {
                times.push(time);
            }
        }
    }
    times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
    let quartile = |times: &[f64]| times[times.len() / 4];
    let [few, large, many] = times.map(|times| quartile(&times));
    judge("a new line in a 300 MB rollout, x one of 1 MB", large / few, RATIO);
    judge("a new line among 10,000, x alone", many / few, RATIO);
    let _ = writeln!(text, "a new line alone, from append to session file, ms {:>14.3}", few * 1e3);
    Ok(text)
}

/// Creates old files, spread over realistic days. They are sparse: 2 GB without disk space.
fn fill(home: &Path) -> Result<()> {
    let old = SystemTime::now() - MONTH;
    for number in 0..FILES {
        let (year, month, day) = (2024 + number % 2, number / 2 % 12 + 1, number / 24 % 28 + 1);
        let folder = home.join(format!("sessions/{year}/{month:02}/{day:02}"));
        fs::create_dir_all(&folder)?;
        let thread = format!("01a1e18e-0000-7000-8000-{number:012}");
        let path =
            folder.join(format!("rollout-{year}-{month:02}-{day:02}T10-00-00-{thread}.jsonl"));
        let mut file = File::create(path)?;
        writeln!(
            file,
            r#"{{"type":"session_meta","payload":{{"id":"{thread}","session_id":"{thread}","source":"exec"}}}}"#
        )?;
        file.set_len(LENGTH)?;
        file.set_modified(old)?;
    }
    Ok(())
}

/// A home with a working thread and a daemon.
struct RolloutHome {
    hermetic: Hermetic,
    program: PathBuf,
    rollout: PathBuf,
    session: PathBuf,
    daemon: Option<Child>,
}

/// The fields that distinguish versions of a file.
type FileVersion = Option<(u64, i64, i64)>;

impl RolloutHome {
    fn new(program: &Path, size: usize) -> Result<RolloutHome> {
        let hermetic = Hermetic::new();
        configure(&hermetic, "[gate]\nenabled = false\n")?;
        let (rollout, thread) = codex::rollout(&hermetic.codex_home(), size)?;
        let session = hermetic.state_dir().join("sessions").join(format!("codex-{thread}.json"));
        Ok(RolloutHome { hermetic, program: program.to_owned(), rollout, session, daemon: None })
    }

    /// Starts the daemon. Returns the time until it has written its status.
    fn start(&mut self) -> Result<f64> {
        let status = self.hermetic.state_dir().join("daemon.json");
        let _ = fs::remove_file(&status);
        let mut command = self.hermetic.command(&self.program);
        command.args(["daemon", "--foreground"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let spawned = Instant::now();
        self.daemon = Some(command.spawn()?);
        while !status.exists() {
            if spawned.elapsed() > TIMEOUT {
                bail!("no daemon within {TIMEOUT:?}");
            }
            thread::sleep(Duration::from_micros(200));
        }
        Ok(spawned.elapsed().as_secs_f64())
    }

    fn stop(&mut self) {
        let _ = self.hermetic.command(&self.program).args(["daemon", "stop"]).output();
        if let Some(mut daemon) = self.daemon.take() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }

    fn process(&self) -> Result<u32> {
        self.daemon.as_ref().map(Child::id).context("no daemon runs")
    }

    fn seen(&self) -> FileVersion {
        let file = fs::metadata(&self.session).ok()?;
        Some((file.ino(), file.mtime(), file.mtime_nsec()))
    }

    fn wait(&self, before: FileVersion) -> Result<()> {
        let began = Instant::now();
        while self.seen() == before {
            if began.elapsed() > TIMEOUT {
                bail!("`{}` never changed", self.session.display());
            }
            thread::sleep(Duration::from_micros(20));
        }
        Ok(())
    }

    fn append(&self, round: usize) -> Result<()> {
        let lines = lines(round)?;
        Ok(OpenOptions::new().append(true).open(&self.rollout)?.write_all(lines.as_bytes())?)
    }

    /// Returns the seconds from the line's arrival to the session's change.
    fn new_line(&self, round: usize) -> Result<f64> {
        let lines = lines(round)?;
        let before = self.seen();
        let mut file = OpenOptions::new().append(true).open(&self.rollout)?;
        let began = Instant::now();
        file.write_all(lines.as_bytes())?;
        self.wait(before)?;
        let time = began.elapsed().as_secs_f64();
        // The daemon's remaining work must not affect the next measurement.
        thread::sleep(Duration::from_millis(30));
        Ok(time)
    }
}

impl Drop for RolloutHome {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns the lines that begin or end a turn, alternately.
fn lines(round: usize) -> Result<String> {
    let now = Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%S.%3NZ"]).output()?;
    let now = String::from_utf8(now.stdout)?;
    let turn = format!("01a1e18b-769c-7ed3-929f-{:012}", round / 2);
    let kind = if round.is_multiple_of(2) { "task_started" } else { "task_complete" };
    Ok(format!(
        r#"{{"timestamp":"{}","type":"event_msg","payload":{{"type":"{kind}","turn_id":"{turn}"}}}}
"#,
        now.trim()
    ))
}
