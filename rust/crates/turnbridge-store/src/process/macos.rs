//! Inspects processes on macOS by `proc_pidinfo`, and their environment by `sysctl`.

use super::{ProcessInfo, ProcessStatus};

pub const CAN_INSPECT: bool = true;

pub fn parent_id() -> u32 {
    std::os::unix::process::parent_id()
}

pub fn inspect(pid: u32) -> Option<ProcessInfo> {
    let pid = libc::c_int::try_from(pid).ok()?;
    // SAFETY: all-zero is a valid value of this plain C struct.
    let mut info: libc::proc_bsdinfo = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::proc_bsdinfo>() as libc::c_int;
    // SAFETY: the buffer is local and `size` is its length; the call writes at most that.
    let written =
        unsafe { libc::proc_pidinfo(pid, libc::PROC_PIDTBSDINFO, 0, (&raw mut info).cast(), size) };
    if written != size {
        return None;
    }
    let name: Vec<u8> =
        info.pbi_comm.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0).collect();
    Some(ProcessInfo {
        parent: info.pbi_ppid,
        start: info.pbi_start_tvsec * 1_000_000 + info.pbi_start_tvusec,
        name: String::from_utf8_lossy(&name).into_owned(),
        standing: match info.pbi_status {
            libc::SZOMB => ProcessStatus::Ended,
            libc::SSTOP => ProcessStatus::Stopped,
            _ => ProcessStatus::Running,
        },
        group: info.pbi_pgid,
        // Without a terminal all bits are set.
        terminal: if info.e_tdev == u32::MAX { 0 } else { info.e_tdev },
        foreground: Some(info.e_tpgid).filter(|group| *group != 0),
    })
}

/// Returns the environment that a process was started with, as `NAME=value` and a NUL each. It
/// lacks later changes. Returns `None` if the process is another user's, or the system does not
/// report it.
pub fn start_environment(pid: u32) -> Option<Vec<u8>> {
    let mut name = [libc::CTL_KERN, libc::KERN_PROCARGS2, libc::c_int::try_from(pid).ok()?];
    let mut buffer = vec![0_u8; usize::try_from(super::LONGEST_ENVIRONMENT).ok()?];
    let mut length = buffer.len();
    // SAFETY: name and buffer are local, and each is passed with its length; the call sets no
    // value.
    let answer = unsafe {
        libc::sysctl(
            name.as_mut_ptr(),
            name.len() as libc::c_uint,
            buffer.as_mut_ptr().cast(),
            &raw mut length,
            std::ptr::null_mut(),
            0,
        )
    };
    buffer.truncate(length);
    if answer == 0 { super::environment_in_procargs(&buffer) } else { None }
}

pub fn is_absent(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else {
        return true;
    };
    rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH)
}

/// Returns `None`: start times are times of day, and so unambiguous across starts of the machine.
pub fn boot() -> Option<String> {
    None
}

/// Returns false, because the system does not report the environments of other processes.
pub fn is_any_running(_programs: &[&str], _variable: &str) -> bool {
    false
}
