//! Inspects processes on Windows: a tool-help snapshot has parents and names, `GetProcessTimes` the
//! start.

use std::mem::{size_of, zeroed};

use windows_sys::Win32::Foundation::{
    CloseHandle, ERROR_INVALID_PARAMETER, FILETIME, GetLastError, HANDLE, INVALID_HANDLE_VALUE,
};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
};
use windows_sys::Win32::System::Threading::{
    GetExitCodeProcess, GetProcessTimes, OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION,
};

use super::{ProcessInfo, ProcessStatus};

pub const CAN_INSPECT: bool = true;

/// The exit code that `GetExitCodeProcess` returns for a process that has not ended.
const STILL_ACTIVE: u32 = 259;

struct Handle(HANDLE);

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the handle is open, and this value owns it.
        unsafe { CloseHandle(self.0) };
    }
}

pub fn parent_id() -> u32 {
    snapshot_entry(std::process::id()).map_or(0, |(parent, _)| parent)
}

pub fn inspect(pid: u32) -> Option<ProcessInfo> {
    let (start, has_ended) = times(pid)?;
    let (parent, name) = snapshot_entry(pid).unwrap_or_default();
    let standing = if has_ended { ProcessStatus::Ended } else { ProcessStatus::Running };
    Some(ProcessInfo { parent, start, name, standing })
}

pub fn is_absent(pid: u32) -> bool {
    // SAFETY: plain call; the handle is closed by its owner.
    let handle = unsafe { OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, pid) };
    if !handle.is_null() {
        drop(Handle(handle));
        return false;
    }
    // SAFETY: plain call.
    unsafe { GetLastError() == ERROR_INVALID_PARAMETER }
}

/// Returns `None`: a Windows process can change its environment block, and the system keeps no copy
/// of the first one.
pub fn start_environment(_pid: u32) -> Option<Vec<u8>> {
    None
}

fn times(pid: u32) -> Option<(u64, bool)> {
    // SAFETY: plain call; a null handle means failure.
    let handle = unsafe { OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, pid) };
    if handle.is_null() {
        return None;
    }
    let handle = Handle(handle);
    // SAFETY: all-zero is a valid FILETIME.
    let (mut created, mut exited, mut kernel, mut user): (FILETIME, FILETIME, FILETIME, FILETIME) =
        unsafe { (zeroed(), zeroed(), zeroed(), zeroed()) };
    // SAFETY: the handle is open, the four targets are local.
    let times_read = unsafe {
        GetProcessTimes(handle.0, &raw mut created, &raw mut exited, &raw mut kernel, &raw mut user)
    };
    let mut code = 0;
    // SAFETY: as above.
    let code_read = unsafe { GetExitCodeProcess(handle.0, &raw mut code) };
    if times_read == 0 || code_read == 0 {
        return None;
    }
    let start = u64::from(created.dwHighDateTime) << 32 | u64::from(created.dwLowDateTime);
    Some((start, code != STILL_ACTIVE))
}

/// Returns parent and file name of a process in the system's list.
fn snapshot_entry(pid: u32) -> Option<(u32, String)> {
    // SAFETY: plain call.
    let snapshot = unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0) };
    if snapshot == INVALID_HANDLE_VALUE {
        return None;
    }
    let snapshot = Handle(snapshot);
    // SAFETY: all-zero is a valid value of this plain C struct.
    let mut entry: PROCESSENTRY32W = unsafe { zeroed() };
    entry.dwSize = size_of::<PROCESSENTRY32W>() as u32;
    // SAFETY: the snapshot is open and the entry knows its size.
    let mut more = unsafe { Process32FirstW(snapshot.0, &raw mut entry) } != 0;
    while more {
        if entry.th32ProcessID == pid {
            let length = entry.szExeFile.iter().position(|unit| *unit == 0);
            let name = &entry.szExeFile[..length.unwrap_or(entry.szExeFile.len())];
            return Some((entry.th32ParentProcessID, String::from_utf16_lossy(name)));
        }
        // SAFETY: as above.
        more = unsafe { Process32NextW(snapshot.0, &raw mut entry) } != 0;
    }
    None
}

/// Returns `None`: start times are times of day, and so unambiguous across starts of the machine.
pub fn boot() -> Option<String> {
    None
}

/// Returns false, because the system does not report the environments of other processes.
pub fn is_any_running(_programs: &[&str], _variable: &str) -> bool {
    false
}
