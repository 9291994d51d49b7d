//! Linux: `/proc/<pid>/stat`.

use std::fs::File;
use std::io::Read;

use super::ProcessInfo;

pub const CAN_INSPECT: bool = true;

pub fn parent_id() -> u32 {
    std::os::unix::process::parent_id()
}

pub fn inspect(pid: u32) -> Option<ProcessInfo> {
    // One read of a fixed buffer: the line has some 300 bytes, and this is on a hook's way.
    let mut buffer = [0; 1024];
    let length = File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut buffer).ok()?;
    parse_stat(&String::from_utf8_lossy(&buffer[..length]))
}

/// Without `/proc` nothing can be told; with it, a missing folder is a missing process.
pub fn is_absent(pid: u32) -> bool {
    std::path::Path::new("/proc/self/stat").exists()
        && !std::path::Path::new(&format!("/proc/{pid}")).exists()
}

/// The environment that a process was started with, as `NAME=value` and a NUL each. What it has set since is not in
/// there. Returns `None` if the process is another user's, or has ended.
pub fn start_environment(pid: u32) -> Option<Vec<u8>> {
    let mut environment = Vec::with_capacity(8 << 10);
    let file = File::open(format!("/proc/{pid}/environ")).ok()?;
    file.take(super::LONGEST_ENVIRONMENT).read_to_end(&mut environment).ok()?;
    Some(environment)
}

/// `pid (name) state ppid …`: the name may hold spaces and parentheses, so the last one counts.
/// Field 22 is the start time in clock ticks since boot.
fn parse_stat(stat: &str) -> Option<ProcessInfo> {
    let (head, rest) = stat.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let start = fields.nth(17)?.parse().ok()?;
    Some(ProcessInfo {
        parent,
        start,
        name: name.to_owned(),
        is_zombie: matches!(state, "Z" | "X"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_is_read() {
        let stat = "42 (a (b) c) S 7 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2 3";
        let info = parse_stat(stat).unwrap();
        assert_eq!((info.parent, info.start, info.name.as_str()), (7, 987_654, "a (b) c"));
        assert!(!info.is_zombie);
        assert!(parse_stat("42 (x) S 7").is_none());
        assert!(parse_stat("").is_none());
    }
}
