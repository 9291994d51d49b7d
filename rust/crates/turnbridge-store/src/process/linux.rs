//! Inspects processes on Linux by their files in `/proc`.

use std::fs::File;
use std::io::Read;

use super::{ProcessInfo, ProcessStatus};

pub const CAN_INSPECT: bool = true;

pub fn parent_id() -> u32 {
    std::os::unix::process::parent_id()
}

pub fn inspect(pid: u32) -> Option<ProcessInfo> {
    // One read into a fixed buffer: the line has some 300 bytes, and every hook does this.
    let mut buffer = [0; 1024];
    let length = File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut buffer).ok()?;
    parse_stat(&String::from_utf8_lossy(&buffer[..length]))
}

/// Returns whether the process is gone. Without `/proc` this is unknown; with it, a missing folder
/// is a missing process.
pub fn is_absent(pid: u32) -> bool {
    std::path::Path::new("/proc/self/stat").exists()
        && !std::path::Path::new(&format!("/proc/{pid}")).exists()
}

/// Returns the environment that a process was started with, as `NAME=value` and a NUL each. It
/// lacks later changes. Returns `None` if the process is another user's, or has ended.
pub fn start_environment(pid: u32) -> Option<Vec<u8>> {
    let mut environment = Vec::with_capacity(8 << 10);
    let file = File::open(format!("/proc/{pid}/environ")).ok()?;
    file.take(super::LONGEST_ENVIRONMENT).read_to_end(&mut environment).ok()?;
    Some(environment)
}

/// Parses `pid (name) state ppid …`. The name may contain spaces and parentheses, so the last one
/// counts. Field 5 is its group, 7 the terminal, 8 the terminal's foreground group, 22 the start
/// time in clock ticks since boot.
fn parse_stat(stat: &str) -> Option<ProcessInfo> {
    let (head, rest) = stat.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let mut fields = rest.split_ascii_whitespace();
    let standing = match fields.next()? {
        "Z" | "X" | "x" => ProcessStatus::Ended,
        "T" | "t" => ProcessStatus::Stopped,
        _ => ProcessStatus::Running,
    };
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let _session = fields.next()?;
    let terminal = fields.next()?.parse::<i32>().ok()?.cast_unsigned();
    // -1 without a terminal.
    let foreground = fields.next()?.parse::<i32>().ok()?;
    let start = fields.nth(13)?.parse().ok()?;
    Some(ProcessInfo {
        parent,
        start,
        name: name.to_owned(),
        standing,
        group,
        terminal,
        foreground: u32::try_from(foreground).ok(),
    })
}

/// Returns the id of this start of the machine, from which start times count.
pub fn boot() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}

/// Returns whether one of these programs runs with this variable (`NAME=value`) in its environment.
pub fn is_any_running(programs: &[&str], variable: &str) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    let mut processes = processes.flatten().map(|process| process.path());
    processes.any(|process| {
        let program = std::fs::read_link(process.join("exe")).unwrap_or_default();
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        programs.contains(&name.as_str())
            && std::fs::read(process.join("environ"))
                .is_ok_and(|all| all.split(|byte| *byte == 0).any(|own| own == variable.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_is_read() {
        let stat = "42 (a (b) c) T 7 8 1 34816 9 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2 3";
        let info = parse_stat(stat).unwrap();
        assert_eq!((info.parent, info.start, info.name.as_str()), (7, 987_654, "a (b) c"));
        assert_eq!((info.standing, info.group), (ProcessStatus::Stopped, 8));
        assert_eq!((info.terminal, info.foreground), (34_816, Some(9)));
        assert!(parse_stat("42 (x) S 7").is_none());
        assert!(parse_stat("").is_none());
    }
}
