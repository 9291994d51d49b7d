//! Finds the user of a connection on macOS, in the list that `netstat` uses. It contains the user
//! of every socket.

use std::ffi::CStr;
use std::net::SocketAddr;
use std::ptr;

use turnbridge_core::board::tcp_table::{ConnectionOwner, macos_user};

const LIST: &CStr = c"net.inet.tcp.pcblist_n";

pub fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns the owner of the socket `theirs` that is connected to `ours`. A missing one is accepted,
/// unlike on Linux: no documentation guarantees that users other than root get the whole list.
pub fn owner(theirs: SocketAddr, ours: SocketAddr) -> ConnectionOwner {
    let user = read().and_then(|list| macos_user(&list, theirs, ours));
    user.map_or(ConnectionOwner::Unknown, ConnectionOwner::User)
}

fn read() -> Option<Vec<u8>> {
    let mut length = 0;
    // SAFETY: without a buffer the call only returns the list's length.
    let asked = unsafe {
        libc::sysctlbyname(LIST.as_ptr(), ptr::null_mut(), &mut length, ptr::null_mut(), 0)
    };
    // The extra space is for connections that open meanwhile.
    let mut list = vec![0_u8; length + length / 4 + 4_096];
    length = list.len();
    // SAFETY: the buffer is `length` bytes long, and the call gets this length.
    let read = unsafe {
        let buffer = list.as_mut_ptr().cast();
        libc::sysctlbyname(LIST.as_ptr(), buffer, &mut length, ptr::null_mut(), 0)
    };
    list.truncate(length);
    (asked == 0 && read == 0).then_some(list)
}
