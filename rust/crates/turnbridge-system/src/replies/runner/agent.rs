//! Prepares the agent's process (its group and environment), and waits for its end or ends it.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use turnbridge_core::agents::foreign_environment::is_anothers;

/// The interval at which the process is polled for its end, and for a request to end it.
const TICK: Duration = Duration::from_millis(50);

/// The time that an agent gets to end itself before the next, stronger signal.
const GRACE: Duration = Duration::from_secs(3);

/// How the agent's process has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentExit {
    Exit(i64),
    /// Windows has no signals.
    Signal(i64),
    /// It was asked to end.
    Stopped,
}

/// Waits for the agent's end, and ends it if `is_stopping` returns true: first with the signal of
/// Ctrl-C, then with that of a system shutdown, then with a kill.
pub fn wait(mut child: Child, is_stopping: impl Fn() -> bool) -> io::Result<AgentExit> {
    let mut words = [StopSignal::Interrupt, StopSignal::Terminate, StopSignal::Kill].into_iter();
    let mut next_word: Option<Instant> = None;
    loop {
        let is_stopped = next_word.is_some();
        if is_stopped {
            end_what_it_left(&mut child);
        }
        if let Some(status) = child.try_wait()? {
            return Ok(if is_stopped { AgentExit::Stopped } else { end_of(status) });
        }
        let is_due = next_word.map_or_else(&is_stopping, |at| Instant::now() >= at);
        if is_due && let Some(word) = words.next() {
            say(&mut child, word);
            next_word = Some(Instant::now() + GRACE);
        }
        std::thread::sleep(TICK);
    }
}

#[derive(Debug, Clone, Copy)]
enum StopSignal {
    Interrupt,
    Terminate,
    Kill,
}

/// Removes the variables of the daemon's environment that an agent would use by mistake.
pub fn clear_environment(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if is_anothers(&name.to_string_lossy()) {
            command.env_remove(&name);
        }
    }
}

/// Makes the child call `save` with its pid before it becomes the agent. So a running agent is
/// always known, whichever process is killed at whatever moment. A child whose runner has died
/// meanwhile does not become the agent.
#[cfg(unix)]
pub fn name_itself(
    command: &mut Command,
    save: impl Fn(u32) -> io::Result<()> + Send + Sync + 'static,
) {
    use std::os::unix::process::{CommandExt, parent_id};
    let runner = std::process::id();
    let name = move || {
        save(std::process::id())?;
        if parent_id() == runner { Ok(()) } else { Err(io::ErrorKind::Interrupted.into()) }
    };
    // SAFETY: the closure runs between fork and exec. This process has one thread, so no other
    // thread can hold a lock of the allocator or of the standard library.
    unsafe { command.pre_exec(name) };
}

#[cfg(unix)]
fn end_of(status: ExitStatus) -> AgentExit {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => AgentExit::Exit(code.into()),
        (None, signal) => AgentExit::Signal(signal.unwrap_or_default().into()),
    }
}

#[cfg(not(unix))]
fn end_of(status: ExitStatus) -> AgentExit {
    AgentExit::Exit(status.code().unwrap_or(-1).into())
}

/// Signals the whole group, so that the processes that the agent has started end with it.
#[cfg(unix)]
fn say(child: &mut Child, word: StopSignal) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let signal = match word {
        StopSignal::Interrupt => Signal::INT,
        StopSignal::Terminate => Signal::TERM,
        StopSignal::Kill => Signal::KILL,
    };
    // It has not been reaped, so its id still belongs to it.
    let _ = kill_process_group(Pid::from_child(child), signal);
}

/// Ends the background jobs of the agent's shells, which ignore Ctrl-C. This runs before the agent
/// is reaped: until then no other process can have its id.
#[cfg(unix)]
fn end_what_it_left(child: &mut Child) {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if let Ok(Some(_)) = waitid(WaitId::Pid(Pid::from_child(child)), options) {
        say(child, StopSignal::Terminate);
    }
}

#[cfg(not(unix))]
fn end_what_it_left(_child: &mut Child) {}

#[cfg(not(unix))]
fn say(child: &mut Child, _word: StopSignal) {
    let _ = child.kill();
}

#[cfg(unix)]
pub fn in_its_own_group(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

#[cfg(windows)]
pub fn in_its_own_group(command: &mut Command) {
    // CREATE_NO_WINDOW and CREATE_NEW_PROCESS_GROUP.
    std::os::windows::process::CommandExt::creation_flags(command, 0x0800_0200);
}

/// Starts a new session, so that a closed terminal or the daemon's end does not end this process.
#[cfg(unix)]
pub fn leave_session() {
    // It fails for the leader of a group, which was already started apart.
    let _ = rustix::process::setsid();
}

#[cfg(not(unix))]
pub fn leave_session() {}
