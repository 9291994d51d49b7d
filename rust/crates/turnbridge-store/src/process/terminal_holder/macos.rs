//! Finds out on macOS whether a process alone reads its terminal: `proc_pidinfo` has the terminal's
//! foreground group, `proc_pidfdinfo` its readers.

use turnbridge_core::session::event::ProcessKey;

use super::HeldTerminal;
use crate::process::{ProcessInfo, ProcessStatus, inspect, pids_above};

const MOST_MEMBERS: usize = 1_024;

/// `PROC_PIDFDVNODEINFO` of `sys/proc_info.h`, which `libc` does not have.
const VNODE_INFO: libc::c_int = 1;
/// `PROC_PIDFDVNODEPATHINFO`.
const VNODE_PATH_INFO: libc::c_int = 2;

/// `vnode_fdinfo` of `sys/proc_info.h`.
#[repr(C)]
struct VnodeOfFile {
    open_flags: u32,
    status: u32,
    offset: i64,
    kind: i32,
    guard_flags: u32,
    stat: libc::vinfo_stat,
    vnode_kind: libc::c_int,
    padding: libc::c_int,
    file_system: [i32; 2],
}

/// `vnode_fdinfowithpath`.
#[repr(C)]
struct PathOfFile {
    vnode: VnodeOfFile,
    path: [u8; 1_024],
}

pub fn held_by(process: ProcessKey) -> Option<HeldTerminal> {
    let own = inspect(process.pid)?;
    let is_in_front = own.start == process.start
        && own.standing == ProcessStatus::Running
        && own.terminal != 0
        && own.foreground == Some(own.group);
    if !is_in_front || is_shared(process.pid, &own) {
        return None;
    }
    Some(HeldTerminal { name: name_of(process.pid, own.terminal) })
}

fn is_shared(pid: u32, own: &ProcessInfo) -> bool {
    let ancestors = pids_above(own);
    let Some(members) = members_of(own.group) else { return true };
    let mut others =
        members.into_iter().filter(|other| *other != pid && !ancestors.contains(other));
    others.any(|other| {
        inspect(other).is_some_and(|info| {
            info.terminal == own.terminal
                && info.standing != ProcessStatus::Ended
                && reads(other, own.terminal)
        })
    })
}

fn members_of(group: u32) -> Option<Vec<u32>> {
    let mut pids = vec![0_u32; MOST_MEMBERS];
    let group = libc::pid_t::try_from(group).ok()?;
    let size = libc::c_int::try_from(pids.len() * size_of::<u32>()).ok()?;
    // SAFETY: the buffer is local and `size` is its length; the call writes at most that.
    let count = unsafe { libc::proc_listpgrppids(group, pids.as_mut_ptr().cast(), size) };
    let count = usize::try_from(count).ok()?;
    pids.truncate(count);
    Some(pids.into_iter().filter(|pid| *pid > 0).collect())
}

/// Returns whether the process reads the terminal by its standard input. A process that cannot be
/// inspected is no reader: a file that is no vnode is a pipe or a socket.
fn reads(pid: u32, terminal: u32) -> bool {
    let Ok(pid) = libc::c_int::try_from(pid) else { return false };
    // SAFETY: all-zero is a valid value of this plain C struct.
    let mut info: VnodeOfFile = unsafe { std::mem::zeroed() };
    let size = size_of::<VnodeOfFile>() as libc::c_int;
    // SAFETY: the buffer is local and `size` is its length; the call writes at most that.
    let written = unsafe { libc::proc_pidfdinfo(pid, 0, VNODE_INFO, (&raw mut info).cast(), size) };
    written == size && info.stat.vst_rdev == terminal
}

fn name_of(pid: u32, terminal: u32) -> Option<String> {
    let pid = libc::c_int::try_from(pid).ok()?;
    (0..=2).find_map(|stream| {
        // SAFETY: all-zero is a valid value of this plain C struct.
        let mut info: PathOfFile = unsafe { std::mem::zeroed() };
        let size = size_of::<PathOfFile>() as libc::c_int;
        let buffer = (&raw mut info).cast();
        // SAFETY: the buffer is local and `size` is its length; the call writes at most that.
        let written = unsafe { libc::proc_pidfdinfo(pid, stream, VNODE_PATH_INFO, buffer, size) };
        let is_terminal = written == size && info.vnode.stat.vst_rdev == terminal;
        let path = std::ffi::CStr::from_bytes_until_nul(&info.path).ok()?.to_str().ok()?;
        (is_terminal && !path.is_empty()).then(|| path.to_owned())
    })
}
