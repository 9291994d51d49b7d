//! Runs the candidates of a bench as Claude runs hooks: in the exec form, with the payload over a
//! socket pair. Measures the time from spawn to exit in each round, and the peak memory once.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// A program whose runs are measured, with its arguments, environment and input.
pub struct Candidate {
    pub name: &'static str,
    program: PathBuf,
    arguments: Vec<String>,
    variables: Vec<(String, std::ffi::OsString)>,
    payload: Vec<u8>,
    every: usize,
    /// `@N@` in the payload is another number in each run.
    is_varied: bool,
    _kept: Option<SinkListener>,
}

/// The times of a candidate in microseconds, and its peak memory.
pub struct Measured {
    pub name: &'static str,
    pub min: f64,
    pub quartile: f64,
    pub median: f64,
    pub rss_kib: i64,
}

impl Candidate {
    pub fn new(
        name: &'static str,
        program: &Path,
        arguments: &[&str],
        payload: Vec<u8>,
    ) -> Candidate {
        Candidate {
            name,
            program: program.to_owned(),
            arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
            variables: Vec::new(),
            payload,
            every: 1,
            is_varied: false,
            _kept: None,
        }
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Candidate {
        self.variables.push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Marks a payload in which `@N@` becomes another number in each run.
    pub fn varied(mut self) -> Candidate {
        self.is_varied = true;
        self
    }

    fn next_payload(&self) -> Vec<u8> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        if !self.is_varied {
            return self.payload.clone();
        }
        let number = COUNT.fetch_add(1, Ordering::Relaxed).to_string();
        String::from_utf8_lossy(&self.payload).replace("@N@", &number).into_bytes()
    }

    /// Marks a slow candidate, which runs only every tenth round.
    pub fn rarely(mut self) -> Candidate {
        self.every = 10;
        self
    }

    /// Keeps a listener as long as the candidate.
    pub fn keep(mut self, listener: SinkListener) -> Candidate {
        self._kept = Some(listener);
        self
    }
}

/// A listener that reads and drops all data of a sink, so that no queue fills up.
pub struct SinkListener;

/// Starts a listener on this socket.
pub fn sink_listener(path: &Path) -> Result<SinkListener> {
    let listener = UnixListener::bind(path)?;
    std::thread::Builder::new().name("sink".to_owned()).spawn(move || {
        for stream in listener.incoming() {
            let mut sink = Vec::new();
            let _ = stream.and_then(|mut stream| stream.read_to_end(&mut sink));
        }
    })?;
    Ok(SinkListener)
}

/// Runs the candidates in turn, round after round, and returns their times.
pub fn measure(candidates: &[Candidate], runs: usize) -> Result<Vec<Measured>> {
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); candidates.len()];
    let memory = candidates.iter().map(peak_memory).collect::<Result<Vec<_>>>()?;
    for round in 0..runs + 3 {
        for (index, candidate) in candidates.iter().enumerate() {
            if round % candidate.every != 0 {
                continue;
            }
            let micros = run_once(candidate).with_context(|| format!("`{}`", candidate.name))?;
            // The first rounds warm the caches.
            if round >= 3 {
                times[index].push(micros);
            }
        }
    }
    let summarise = |(index, candidate): (usize, &Candidate)| {
        let times = &mut times[index];
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        Measured {
            name: candidate.name,
            min: at(0.0),
            quartile: at(0.25),
            median: at(0.5),
            rss_kib: memory[index],
        }
    };
    Ok(candidates.iter().enumerate().map(summarise).collect())
}

fn run_once(candidate: &Candidate) -> Result<f64> {
    let (mut command, mut ours) = prepare(candidate)?;
    let payload = candidate.next_payload();
    let start = Instant::now();
    let mut child = command.spawn()?;
    // `command` still holds its end of the pair; without this the reader would never see the end.
    drop(command);
    // `/bin/true` does not read: the write may fail.
    let _ = ours.write_all(&payload);
    drop(ours);
    let status = child.wait()?;
    let micros = start.elapsed().as_secs_f64() * 1e6;
    if !status.success() {
        bail!("ended with {status}");
    }
    Ok(micros)
}

fn prepare(candidate: &Candidate) -> Result<(Command, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    let mut command = Command::new(&candidate.program);
    command
        .args(&candidate.arguments)
        .env_clear()
        .envs(candidate.variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Ok((command, ours))
}

/// Returns the peak of resident memory in KiB. `ru_maxrss` is unsuitable: it begins with the
/// *parent's* memory at the spawn. The program is therefore stopped at its exit, and its status is
/// read.
#[cfg(target_os = "linux")]
fn peak_memory(candidate: &Candidate) -> Result<i64> {
    use std::os::unix::process::CommandExt;
    let (mut command, mut ours) = prepare(candidate)?;
    // SAFETY: `ptrace` is async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
            Ok(())
        });
    }
    let child = command.spawn()?;
    drop(command);
    let pid = child.id() as libc::pid_t;
    let mut status = 0;
    let mut peak = 0;
    let mut is_first = true;
    let mut writer = Some(std::thread::spawn({
        let payload = candidate.next_payload();
        move || ours.write_all(&payload)
    }));
    loop {
        // SAFETY: this process owns the child, and no other thread waits for it.
        if unsafe { libc::waitpid(pid, &raw mut status, 0) } < 0 || libc::WIFEXITED(status) {
            break;
        }
        if is_first {
            is_first = false;
            let options = libc::PTRACE_O_TRACEEXIT | libc::PTRACE_O_EXITKILL;
            // SAFETY: the child is stopped at its exec.
            unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, pid, 0, options) };
        } else if status >> 16 == libc::PTRACE_EVENT_EXIT {
            let text = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let number = line.and_then(|line| line.split_whitespace().next());
            peak = number.and_then(|number| number.parse().ok()).unwrap_or(0);
        }
        // SAFETY: the child is stopped.
        unsafe { libc::ptrace(libc::PTRACE_CONT, pid, 0, 0) };
    }
    if let Some(writer) = writer.take() {
        let _ = writer.join();
    }
    Ok(peak)
}

#[cfg(not(target_os = "linux"))]
fn peak_memory(_candidate: &Candidate) -> Result<i64> {
    Ok(0)
}
