//! macOS: the list that `netstat` reads, which names the user of every socket.

use std::ffi::CStr;
use std::net::SocketAddr;
use std::ptr;

use turnbridge_core::board::tcp_table::{Owner, macos_user};

const LIST: &CStr = c"net.inet.tcp.pcblist_n";

pub fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// One that is not in the list is let in, unlike on Linux: whether the list is always whole for users
/// other than root is not documented.
pub fn owner(theirs: SocketAddr, ours: SocketAddr) -> Owner {
    let user = read().and_then(|list| macos_user(&list, theirs, ours));
    user.map_or(Owner::Unknown, Owner::User)
}

fn read() -> Option<Vec<u8>> {
    let mut length = 0;
    // SAFETY: without a buffer it only says how long the list is.
    let asked = unsafe {
        libc::sysctlbyname(LIST.as_ptr(), ptr::null_mut(), &mut length, ptr::null_mut(), 0)
    };
    // Some more, for connections that come meanwhile.
    let mut list = vec![0_u8; length + length / 4 + 4_096];
    length = list.len();
    // SAFETY: the buffer is `length` bytes long, and that is what it is told.
    let read = unsafe {
        let buffer = list.as_mut_ptr().cast();
        libc::sysctlbyname(LIST.as_ptr(), buffer, &mut length, ptr::null_mut(), 0)
    };
    list.truncate(length);
    (asked == 0 && read == 0).then_some(list)
}
