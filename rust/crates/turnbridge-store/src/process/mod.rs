//! Inspects other processes: which one called this one, with which environment one was started, and
//! whether one is still alive. Pids are reused, so only a pid with its start time identifies a
//! process.

pub mod agent_environment;
pub mod detached_process;
pub mod system_home;
pub mod terminal_holder;

use std::ffi::OsString;
use std::sync::OnceLock;

use turnbridge_core::session::event::ProcessKey;
use turnbridge_core::system::environment_rules::is_agent;

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod platform;
#[cfg(target_os = "macos")]
#[path = "macos.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;

/// Whether a process is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    Alive,
    Gone,
    /// The state cannot be found out, so no conclusion follows from it.
    Unknown,
}

/// The limit of an environment. Linux allows 6 MB of arguments and environment at most, unless the
/// stack was made larger.
#[cfg(any(target_os = "linux", target_os = "macos"))]
const LONGEST_ENVIRONMENT: u64 = 8 << 20;

/// The limit of ancestors, more than any terminal has. On Windows a reused pid can make a cycle.
const MOST_ANCESTORS: usize = 64;

/// The process that called this one.
#[derive(Debug, Clone)]
pub struct CallingProcess {
    pub process: ProcessKey,
    pub name: String,
}

pub(crate) struct ProcessInfo {
    pub(crate) parent: u32,
    pub(crate) start: u64,
    name: String,
    pub(crate) standing: ProcessStatus,
    #[cfg(unix)]
    pub(crate) group: u32,
    /// The device number of its terminal; 0 without one.
    #[cfg(unix)]
    pub(crate) terminal: u32,
    /// The group that may read from that terminal.
    #[cfg(unix)]
    pub(crate) foreground: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessStatus {
    Running,
    /// Stopped by a signal (Ctrl-Z), until another signal continues it.
    Stopped,
    /// A zombie, which its parent has not reaped: it counts as gone.
    Ended,
}

#[cfg(unix)]
pub(crate) use platform::inspect;

/// Returns the agent that runs this hook: the nearest ancestor that is no shell or other wrapper.
/// In exec form that is the parent itself; a command line in settings.json has `sh` in between.
pub fn calling_agent() -> ProcessKey {
    caller().map_or(ProcessKey::UNKNOWN, |caller| caller.process)
}

/// Returns the calling agent with its name. It is searched for once, because later it may have
/// ended, and this process may have another parent.
pub fn caller() -> Option<&'static CallingProcess> {
    static CALLER: OnceLock<Option<CallingProcess>> = OnceLock::new();
    CALLER.get_or_init(|| find_caller(platform::parent_id(), platform::inspect)).as_ref()
}

fn find_caller(
    parent: u32,
    inspect: impl Fn(u32) -> Option<ProcessInfo>,
) -> Option<CallingProcess> {
    let mut pid = parent;
    for _ in 0..6 {
        let info = inspect(pid)?;
        // The first process adopts a hook whose agent was killed. In a container it may be the
        // agent.
        if cfg!(unix) && pid == 1 && !is_agent(&info.name) {
            return None;
        }
        if !is_wrapper(&info.name) {
            return Some(CallingProcess {
                process: ProcessKey { pid, start: info.start },
                name: info.name,
            });
        }
        pid = info.parent;
    }
    None
}

/// Returns the processes above this one whose names `is_wanted` accepts, nearest first.
pub fn ancestors(is_wanted: impl Fn(&str) -> bool) -> Vec<CallingProcess> {
    let wanted = chain_from(platform::parent_id()).filter(|(_, info)| is_wanted(&info.name));
    let caller = |(pid, info): (u32, ProcessInfo)| CallingProcess {
        process: ProcessKey { pid, start: info.start },
        name: info.name,
    };
    wanted.map(caller).collect()
}

/// Returns the processes above `process`, nearest first.
#[cfg(unix)]
pub(crate) fn pids_above(process: &ProcessInfo) -> Vec<u32> {
    chain_from(process.parent).map(|(pid, _)| pid).collect()
}

/// Returns the process `pid` and those above it, nearest first, up to one that the system does not
/// report.
fn chain_from(pid: u32) -> impl Iterator<Item = (u32, ProcessInfo)> {
    let known = |pid: u32| Some((pid, platform::inspect(pid).filter(|_| pid > 0)?));
    std::iter::successors(known(pid), move |(_, info)| known(info.parent)).take(MOST_ANCESTORS)
}

/// Returns the variables that a process was started with, without its later changes. Returns `None`
/// if the system does not report them, or if they are no environment: a process may overwrite them.
pub fn start_environment(process: ProcessKey) -> Option<Vec<(OsString, OsString)>> {
    let variables = parse_environment(&platform::start_environment(process.pid)?);
    let has = |wanted: &str| variables.iter().any(|(name, _)| name == wanted);
    let is_whole = has("HOME") && has("PATH") && identify(process.pid) == process;
    is_whole.then_some(variables)
}

#[cfg(unix)]
fn parse_environment(bytes: &[u8]) -> Vec<(OsString, OsString)> {
    use std::os::unix::ffi::OsStringExt;
    let text = |bytes: &[u8]| OsString::from_vec(bytes.to_owned());
    let variables = bytes.split(|byte| *byte == 0).filter_map(|variable| {
        let end = variable.iter().position(|byte| *byte == b'=').filter(|end| *end > 0)?;
        Some((text(&variable[..end]), text(&variable[end + 1..])))
    });
    variables.collect()
}

#[cfg(not(unix))]
fn parse_environment(_bytes: &[u8]) -> Vec<(OsString, OsString)> {
    Vec::new()
}

/// Returns the part behind the arguments of macOS's answer to `KERN_PROCARGS2`. The answer has a
/// number of arguments, the program's path, NULs, the arguments, the environment.
#[cfg(any(target_os = "macos", test))]
fn environment_in_procargs(answer: &[u8]) -> Option<Vec<u8>> {
    let (count, rest) = answer.split_first_chunk()?;
    let arguments = usize::try_from(i32::from_ne_bytes(*count)).ok()?;
    let path_end = rest.iter().position(|byte| *byte == 0)?;
    let rest = &rest[path_end..];
    let mut rest = &rest[rest.iter().position(|byte| *byte != 0)?..];
    for _ in 0..arguments {
        rest = &rest[rest.iter().position(|byte| *byte == 0)? + 1..];
    }
    Some(rest.to_owned())
}

/// Returns the process that has this pid now.
pub fn identify(pid: u32) -> ProcessKey {
    platform::inspect(pid).map_or(ProcessKey::UNKNOWN, |info| ProcessKey { pid, start: info.start })
}

pub fn liveness(process: ProcessKey) -> Liveness {
    if process == ProcessKey::UNKNOWN || !platform::CAN_INSPECT {
        return Liveness::Unknown;
    }
    match platform::inspect(process.pid) {
        Some(info) if info.start == process.start && info.standing != ProcessStatus::Ended => {
            Liveness::Alive
        }
        Some(_) => Liveness::Gone,
        None if platform::is_absent(process.pid) => Liveness::Gone,
        None => Liveness::Unknown,
    }
}

/// Returns whether a signal has stopped the process (`kill -STOP`, Ctrl-Z). It does nothing until
/// another signal continues it.
pub fn is_suspended(pid: u32) -> bool {
    platform::inspect(pid).is_some_and(|info| info.standing == ProcessStatus::Stopped)
}

/// Continues a suspended process.
#[cfg(unix)]
pub fn let_go_on(pid: u32) {
    use rustix::process::{Pid, Signal, kill_process};
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::CONT);
    }
}

/// Does nothing: Windows has no such processes.
#[cfg(windows)]
pub fn let_go_on(_pid: u32) {}

/// Returns whether one of these programs runs with this variable (`NAME=value`) in its environment,
/// as far as the system reports it.
pub fn is_any_running(programs: &[&str], variable: &str) -> bool {
    platform::is_any_running(programs, variable)
}

/// Returns the id of this start of the machine, if start times count from it.
pub fn boot() -> Option<String> {
    platform::boot()
}

/// Returns whether the program only runs another one: a shell, or a program that users put before a
/// command.
fn is_wrapper(name: &str) -> bool {
    const WRAPPERS: [&str; 17] = [
        "sh",
        "bash",
        "dash",
        "zsh",
        "ash",
        "busybox",
        "ksh",
        "fish",
        "cmd",
        "pwsh",
        "powershell",
        "timeout",
        "env",
        "nice",
        "ionice",
        "nohup",
        "setsid",
    ];
    let name = name.to_ascii_lowercase();
    WRAPPERS.contains(&name.strip_suffix(".exe").unwrap_or(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_one_with_another_start_time_does_not() {
        let own = std::process::id();
        let Some(info) = platform::inspect(own) else { panic!("cannot inspect {own}") };
        assert_eq!(liveness(ProcessKey { pid: own, start: info.start }), Liveness::Alive);
        assert_eq!(liveness(ProcessKey { pid: own, start: info.start + 1 }), Liveness::Gone);
        assert_eq!(liveness(ProcessKey::UNKNOWN), Liveness::Unknown);
    }

    #[test]
    fn a_child_that_was_killed_is_gone_even_before_it_is_waited_for() {
        let program = if cfg!(windows) { "cmd" } else { "sleep" };
        let argument: &[&str] = if cfg!(windows) { &["/c", "pause"] } else { &["60"] };
        let mut child = std::process::Command::new(program)
            .args(argument)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let start = platform::inspect(child.id()).unwrap().start;
        let process = ProcessKey { pid: child.id(), start };
        assert_eq!(liveness(process), Liveness::Alive);
        child.kill().unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while liveness(process) != Liveness::Gone {
            assert!(std::time::Instant::now() < deadline, "still seen as alive");
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert_eq!(liveness(process), Liveness::Gone);
    }

    #[test]
    fn macos_tells_the_environment_behind_the_arguments() {
        let mut answer = 2_i32.to_ne_bytes().to_vec();
        answer.extend(b"/bin/claude\0\0\0\0claude\0-p\0HOME=/home/user\0PATH=/bin\0");
        let environment = environment_in_procargs(&answer).unwrap();
        assert_eq!(environment, b"HOME=/home/user\0PATH=/bin\0");
        for length in 0..answer.len() {
            let _ = environment_in_procargs(&answer[..length]);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_environment_of_a_start_does_not_show_what_the_process_has_set_since() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "HOME=/evil; export HOME; echo; read line"])
            .env_clear()
            .envs([("HOME", "/home/user"), ("PATH", "/usr/bin:/bin"), ("EMPTY", "")])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = [0];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut said).unwrap();
        let variables = start_environment(identify(child.id())).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let home = variables.iter().find(|(name, _)| name == "HOME").unwrap();
        assert_eq!(home.1, "/home/user");
        assert!(variables.contains(&("EMPTY".into(), "".into())));
        assert!(start_environment(ProcessKey::UNKNOWN).is_none());
    }

    #[cfg(unix)]
    #[test]
    fn the_first_process_is_the_caller_only_if_it_is_an_agent() {
        let caller_below = |first: &'static str| {
            let inspect = |pid| {
                let name = if pid == 1 { first } else { "sh" };
                Some(ProcessInfo {
                    parent: pid - 1,
                    start: 7,
                    name: name.to_owned(),
                    standing: ProcessStatus::Running,
                    group: 1,
                    terminal: 0,
                    foreground: None,
                })
            };
            [1, 2].map(|parent| find_caller(parent, inspect).map(|caller| caller.process))
        };
        for agent in ["claude", "codex"] {
            assert_eq!(caller_below(agent), [Some(ProcessKey { pid: 1, start: 7 }); 2], "{agent}");
        }
        for adopter in ["systemd", "tini", "node", "sh"] {
            assert_eq!(caller_below(adopter), [None; 2], "{adopter}");
        }
    }

    #[test]
    fn the_caller_is_the_nearest_ancestor_that_is_no_shell() {
        let caller = calling_agent();
        assert_ne!(caller, ProcessKey::UNKNOWN);
        assert_ne!(caller.pid, std::process::id());
        for wrapper in ["sh", "bash", "zsh", "cmd.exe", "PowerShell.exe", "timeout"] {
            assert!(is_wrapper(wrapper));
        }
        for agent in ["claude", "claude.exe", "node", "codex", "bun"] {
            assert!(!is_wrapper(agent));
        }
    }
}
