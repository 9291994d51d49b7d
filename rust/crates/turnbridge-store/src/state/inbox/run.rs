//! Reads and writes the files of one reply's run. The runner takes `<id>.lock` and holds it while
//! it lives. Then it claims `<id>.run`, which is possible once. `<id>.agent` names the process that
//! it has started, which may outlive it. The agent's hooks write `<id>.ack`, and `<id>.result` is
//! the end. `<id>.stop` asks the runner to end the run, on systems without signals too.
//!
//! A process is identified by its pid, its start time, and the start of the machine from which that
//! time counts.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use turnbridge_core::agents::hook_table::{HookEventName, HookProgram};
use turnbridge_core::ids::SessionKey;
use turnbridge_core::replies::holder::{Holder, StartedProgram};
use turnbridge_core::replies::reply_plan::ReplyProgress;
use turnbridge_core::replies::reply_wire::{self, read_holder, write_holder, write_result};
use turnbridge_core::replies::run_result::RunResult;
use turnbridge_core::replies::turn_trace::TurnEnd;
use turnbridge_core::session::event::ProcessKey;
use turnbridge_core::timestamp::Timestamp;

use super::{is_for, place};
use crate::files::append::append_line;
use crate::files::atomic_file::{
    open_making_folders, sync_folder_of, write_atomically, write_durably,
};
use crate::files::bounded_file;
use crate::files::file_lock::{self, FileLock};
use crate::paths::StatePaths;
use crate::process::{self, Liveness, identify, liveness};

/// The environment variable with the reply's id, for the hooks of the agent that runs it.
pub const REPLY_ID: &str = "TURNBRIDGE_REPLY_ID";

/// The timeout of the lock: longer than another process needs to check it.
const LOOK: Duration = Duration::from_millis(300);

fn sibling(paths: &StatePaths, id: &str, extension: &str) -> io::Result<PathBuf> {
    place(paths, id).map(|place| place.with_extension(extension))
}

fn holder_of(paths: &StatePaths, id: &str, extension: &str) -> Option<Holder> {
    read_holder(&fs::read(sibling(paths, id, extension).ok()?).ok()?)
}

/// Returns how far the reply has come.
pub fn progress(paths: &StatePaths, id: &str) -> ReplyProgress {
    // The order matters: a runner writes the result before it releases the lock.
    let is_claimed = sibling(paths, id, "run").is_ok_and(|path| path.exists());
    let is_running = is_claimed && is_running(paths, id);
    match read_result(paths, id) {
        Some(result) => ReplyProgress::Ended(result),
        None if is_running && is_stop_requested(paths, id) && !is_runner_alive(paths, id) => {
            ReplyProgress::Unstopped
        }
        None if is_running => ReplyProgress::Running,
        None if is_claimed => ReplyProgress::Lost,
        None => ReplyProgress::Waiting,
    }
}

/// Returns whether the reply's runner lives, or the agent that it has started.
pub fn is_running(paths: &StatePaths, id: &str) -> bool {
    is_runner_alive(paths, id) || is_agent_alive(paths, id)
}

fn is_runner_alive(paths: &StatePaths, id: &str) -> bool {
    sibling(paths, id, "lock").is_ok_and(|path| file_lock::is_held(&path))
}

/// Returns whether the process that the runner has started lives, or the one whose hooks have
/// acknowledged the reply: the started one may only be a wrapper around the agent.
pub fn is_agent_alive(paths: &StatePaths, id: &str) -> bool {
    agents(paths, id).next().is_some()
}

fn agents(paths: &StatePaths, id: &str) -> impl Iterator<Item = ProcessKey> + use<> {
    let started = holder_of(paths, id, "agent");
    let runner = holder_of(paths, id, "run");
    // A hook whose agent was killed is adopted, by init or by the user's service manager. These
    // started before the runner, so they are no agents of it.
    let can_be_agent = move |holder: &Holder| {
        let is_older = |runner: &Holder| runner.boot == holder.boot && holder.start < runner.start;
        !runner.as_ref().is_some_and(is_older)
    };
    let acknowledged = acks(paths, id).by.into_iter().filter(can_be_agent);
    started.into_iter().chain(acknowledged).filter_map(|holder| alive(&holder))
}

fn alive(holder: &Holder) -> Option<ProcessKey> {
    let is_of_this_boot = holder.boot.is_none() || holder.boot == process::boot();
    let process = ProcessKey { pid: holder.pid, start: holder.start };
    (is_of_this_boot && liveness(process) == Liveness::Alive).then_some(process)
}

/// Returns the kind of process that the runner has started, or `None` if there is none or it is not
/// known.
pub fn way(paths: &StatePaths, id: &str) -> Option<StartedProgram> {
    let started = holder_of(paths, id, "agent")?;
    Some(started.way.unwrap_or(StartedProgram::Agent))
}

/// Takes the lock that the runner holds while it lives. Returns `None` if another one holds it.
pub fn lock(paths: &StatePaths, id: &str) -> io::Result<Option<FileLock>> {
    // A process that only checks the lock holds it for a moment.
    match FileLock::acquire(&sibling(paths, id, "lock")?, LOOK) {
        Err(error) if error.kind() == io::ErrorKind::TimedOut => Ok(None),
        lock => lock.map(Some),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunClaim {
    Ours,
    /// Another process has begun it, now or earlier: it must not be begun again.
    Taken,
}

/// Claims a reply, once and permanently. The claim is on the disk before it returns.
pub fn claim(paths: &StatePaths, id: &str, now: Timestamp) -> io::Result<RunClaim> {
    let path = sibling(paths, id, "run")?;
    let bytes = write_holder(&holder(std::process::id(), now));
    // The file is written whole beside it, then linked, so that no reader sees half of it.
    let whole = path.with_extension(format!("{}.new", std::process::id()));
    write_durably(&whole, &bytes)?;
    let linked = fs::hard_link(&whole, &path);
    let _ = fs::remove_file(&whole);
    let claimed = match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            // This file system has no links.
            let mut options = OpenOptions::new();
            let file = open_making_folders(&path, options.write(true).create_new(true));
            file.and_then(|mut file| file.write_all(&bytes).and_then(|()| file.sync_all()))
        }
        linked => linked,
    };
    match claimed {
        Ok(()) => sync_folder_of(&path).map(|()| RunClaim::Ours),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(RunClaim::Taken),
        Err(error) => Err(error),
    }
}

fn holder(pid: u32, now: Timestamp) -> Holder {
    let (start, boot) = (identify(pid).start, process::boot());
    Holder { pid, start, at: Some(now), boot, way: None }
}

/// Returns when the reply was claimed.
pub fn claimed_at(paths: &StatePaths, id: &str) -> Option<Timestamp> {
    holder_of(paths, id, "run")?.at
}

/// Stores the process that works on the reply. It is on the disk before this returns, because the
/// start of an agent must be known even after a power cut.
pub fn save_agent(
    paths: &StatePaths,
    id: &str,
    pid: u32,
    way: StartedProgram,
    now: Timestamp,
) -> io::Result<()> {
    let holder = Holder { way: Some(way), ..holder(pid, now) };
    write_durably(&sibling(paths, id, "agent")?, &write_holder(&holder))
}

/// Records that a hook of the agent has seen the prompt, or the end of its turn. Ignores an id
/// without an unfinished reply, or of another session: it came by the environment, which an agent
/// passes on to every agent that it starts.
pub fn acknowledge(
    paths: &StatePaths,
    id: &str,
    session: &SessionKey,
    event: &str,
    agent: ProcessKey,
) -> io::Result<()> {
    let place = place(paths, id)?;
    if !is_for(paths, id, session) {
        return Ok(());
    }
    let mut lines = format!("{event}\n");
    if agent != ProcessKey::UNKNOWN {
        let boot = process::boot().unwrap_or_default();
        lines += &format!("by {} {} {boot}\n", agent.pid, agent.start);
    }
    append_line(&place.with_extension("ack"), lines.as_bytes()).map(|_| ())
}

/// The events that the agent's hooks have seen.
#[derive(Debug, Default)]
pub struct Acks {
    pub has_prompt: bool,
    /// The first end of a turn. A later one in the same process (a background task has ended) is no
    /// longer that of the reply's turn.
    pub end: Option<TurnEnd>,
    /// The agents whose hooks have acknowledged the reply.
    by: Vec<Holder>,
}

pub fn acks(paths: &StatePaths, id: &str) -> Acks {
    let text = sibling(paths, id, "ack").and_then(fs::read_to_string).unwrap_or_default();
    let mut acks = Acks::default();
    for line in text.lines() {
        match HookEventName::named(line) {
            Some(HookEventName::UserPromptSubmit) => acks.has_prompt = true,
            Some(HookEventName::Stop) => acks.end = acks.end.or(Some(TurnEnd::Ok)),
            Some(HookEventName::StopFailure) => acks.end = acks.end.or(Some(TurnEnd::Failed)),
            _ => acks.by.extend(read_agent(line)),
        }
    }
    acks
}

/// Parses `by PID START BOOT`.
fn read_agent(line: &str) -> Option<Holder> {
    let mut words = line.strip_prefix("by ")?.split(' ');
    let pid = words.next()?.parse().ok()?;
    let start = words.next()?.parse().ok()?;
    let boot = words.next().filter(|boot| !boot.is_empty()).map(str::to_owned);
    Some(Holder { pid, start, at: None, boot, way: None })
}

/// Returns whether a hook of the agent runs, so that its event is not recorded yet. It outlives its
/// agent.
pub fn is_hook_running(id: &str) -> bool {
    let hooks = [HookProgram::Status.as_str(), HookProgram::StopGate.as_str()];
    process::is_any_running(&hooks, &format!("{REPLY_ID}={id}"))
}

/// Returns whether the agent's hooks have seen a turn end. The notice of that turn reports it.
pub fn has_ended(paths: &StatePaths, id: &str) -> bool {
    acks(paths, id).end.is_some()
}

/// The agent's streams. They are files, because an agent that outlives its runner must neither miss
/// the rest of its prompt nor die of a pipe without a reader.
#[derive(Debug)]
pub struct Streams {
    stdin: PathBuf,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Streams {
    pub fn of(paths: &StatePaths, id: &str) -> io::Result<Streams> {
        let file = |extension| sibling(paths, id, extension);
        Ok(Streams { stdin: file("in")?, stdout: file("out")?, stderr: file("err")? })
    }

    /// Writes the agent's input, and opens it.
    pub fn open_stdin(&self, text: &str) -> io::Result<File> {
        write_atomically(&self.stdin, text.as_bytes())?;
        File::open(&self.stdin)
    }

    /// Creates standard output and standard error, empty.
    pub fn create(&self) -> io::Result<(File, File)> {
        let create = |path: &PathBuf| {
            let mut options = OpenOptions::new();
            open_making_folders(path, options.write(true).create(true).truncate(true))
        };
        Ok((create(&self.stdout)?, create(&self.stderr)?))
    }

    /// Returns the length of each output.
    pub fn lengths(&self) -> (u64, u64) {
        let length = |path| fs::metadata(path).map_or(0, |metadata| metadata.len());
        (length(&self.stdout), length(&self.stderr))
    }

    /// Returns the beginning of standard output.
    pub fn read_stdout(&self, longest: u64) -> String {
        let mut bytes = Vec::new();
        let file = File::open(&self.stdout);
        let _ = file.and_then(|file| file.take(longest).read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns the end of standard error.
    pub fn read_stderr(&self, longest: u64) -> String {
        let tail = bounded_file::read_tail(&self.stderr, longest).unwrap_or_default();
        String::from_utf8_lossy(&tail.0).into_owned()
    }
}

pub fn save_result(paths: &StatePaths, id: &str, result: &RunResult) -> io::Result<()> {
    write_durably(&sibling(paths, id, "result")?, &write_result(result))
}

pub fn read_result(paths: &StatePaths, id: &str) -> Option<RunResult> {
    reply_wire::read_result(&fs::read(sibling(paths, id, "result").ok()?).ok()?)
}

/// Asks for the end of a run. Its runner ends the agent; without a runner, the agent gets the
/// signal.
pub fn request_stop(paths: &StatePaths, id: &str) -> io::Result<()> {
    write_atomically(&sibling(paths, id, "stop")?, b"")?;
    if is_runner_alive(paths, id) {
        let runner = holder_of(paths, id, "run");
        runner.as_ref().and_then(alive).into_iter().for_each(terminate);
    } else {
        agents(paths, id).for_each(terminate);
    }
    Ok(())
}

pub fn is_stop_requested(paths: &StatePaths, id: &str) -> bool {
    sibling(paths, id, "stop").is_ok_and(|path| path.exists())
}

#[cfg(unix)]
fn terminate(process: ProcessKey) {
    use rustix::process::{Pid, Signal, kill_process};
    if let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::TERM);
    }
}

/// Does nothing, because the runner polls the file.
#[cfg(windows)]
fn terminate(_process: ProcessKey) {}
