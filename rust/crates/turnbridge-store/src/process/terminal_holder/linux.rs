//! Finds out on Linux whether a process alone reads its terminal: `/proc/<pid>/stat` has the
//! terminal's foreground group, `/proc/<pid>/fd` its readers.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use turnbridge_core::session::event::ProcessKey;

use super::HeldTerminal;
use crate::process::{ProcessInfo, ProcessStatus, inspect, pids_above};

pub fn held_by(process: ProcessKey) -> Option<HeldTerminal> {
    let own = inspect(process.pid)?;
    let is_in_front = own.start == process.start
        && own.standing == ProcessStatus::Running
        && own.terminal != 0
        && own.foreground == Some(own.group);
    if !is_in_front || is_shared(process.pid, &own) {
        return None;
    }
    let name = name_of(process.pid, own.terminal)?;
    Some(HeldTerminal { name: Some(name) })
}

/// Returns whether another process of the same group reads the terminal too. The ancestors of this
/// one wait for it, so they do not count. Only members of the foreground group can read at all.
fn is_shared(pid: u32, own: &ProcessInfo) -> bool {
    let ancestors = pids_above(own);
    let Ok(processes) = fs::read_dir("/proc") else { return true };
    let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut others = pids.filter(|other: &u32| *other != pid && !ancestors.contains(other));
    others.any(|other| {
        inspect(other).is_some_and(|info| {
            info.group == own.group
                && info.terminal == own.terminal
                && info.standing != ProcessStatus::Ended
                && reads(other, own.terminal)
        })
    })
}

/// Returns whether the process may read the terminal: by its standard input, or because it has
/// opened `/dev/tty`. A process that cannot be inspected (`sudo`) counts as a reader.
fn reads(pid: u32, terminal: u32) -> bool {
    let folder = folder_of(pid);
    let Ok(files) = fs::read_dir(&folder) else { return folder.exists() };
    is_terminal(&folder.join("0"), terminal)
        || files
            .flatten()
            .any(|file| fs::read_link(file.path()).is_ok_and(|to| to == Path::new("/dev/tty")))
}

fn name_of(pid: u32, terminal: u32) -> Option<String> {
    let folder = folder_of(pid);
    let mut streams = ["0", "1", "2"].into_iter().map(|stream| folder.join(stream));
    let stream = streams.find(|stream| is_terminal(stream, terminal))?;
    fs::read_link(stream).ok()?.into_os_string().into_string().ok()
}

fn folder_of(pid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/fd"))
}

fn is_terminal(stream: &Path, terminal: u32) -> bool {
    fs::metadata(stream).is_ok_and(|metadata| as_in_stat(metadata.rdev()) == terminal)
}

/// Converts the device to the 32-bit form in which the kernel writes it to `stat`.
fn as_in_stat(device: u64) -> u32 {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)
}
