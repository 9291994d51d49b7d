//! Other processes: which one called us, and whether one still lives.
//! A pid alone is no name, since pids come again; with its start time it is one.

use turnbridge_core::event::ProcessKey;

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod platform;
#[cfg(target_os = "macos")]
#[path = "macos.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    Alive,
    Gone,
    /// It cannot be told, so nothing follows from it.
    Unknown,
}

struct ProcessInfo {
    parent: u32,
    start: u64,
    name: String,
    /// Ended, but its parent has not asked yet: as good as gone.
    is_zombie: bool,
}

/// The agent that runs this hook: the nearest ancestor that is no shell or other wrapper. In
/// exec form that is the parent itself; a command line in settings.json has `sh` in between.
pub fn calling_agent() -> ProcessKey {
    let mut pid = platform::parent_id();
    for _ in 0..6 {
        let Some(info) = platform::inspect(pid) else {
            break;
        };
        if !is_wrapper(&info.name) {
            return ProcessKey { pid, start: info.start };
        }
        pid = info.parent;
    }
    ProcessKey::UNKNOWN
}

/// The process that has this pid now.
pub fn identify(pid: u32) -> ProcessKey {
    platform::inspect(pid).map_or(ProcessKey::UNKNOWN, |info| ProcessKey { pid, start: info.start })
}

pub fn liveness(process: ProcessKey) -> Liveness {
    if process == ProcessKey::UNKNOWN || !platform::CAN_INSPECT {
        return Liveness::Unknown;
    }
    match platform::inspect(process.pid) {
        Some(info) if info.start == process.start && !info.is_zombie => Liveness::Alive,
        Some(_) => Liveness::Gone,
        None if platform::is_absent(process.pid) => Liveness::Gone,
        None => Liveness::Unknown,
    }
}

/// Programs that only run another one: shells, and what people put before a command.
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
