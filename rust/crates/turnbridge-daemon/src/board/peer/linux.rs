//! Linux: `/proc/net/tcp` and `/proc/net/tcp6` list the sockets of all users.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use turnbridge_core::tcp_table::{Family, Owner, linux_user};

pub fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

pub fn owner(theirs: SocketAddr, ours: SocketAddr) -> Owner {
    let tables = [(Family::V4, "/proc/self/net/tcp"), (Family::V6, "/proc/self/net/tcp6")];
    let mut is_readable = true;
    for (family, path) in tables {
        if family == Family::V4 && theirs.is_ipv6() {
            continue;
        }
        match fs::read(path) {
            Ok(table) => {
                if let Some(user) = linux_user(&table, family, theirs, ours) {
                    return Owner::User(user);
                }
            }
            // Without IPv6 there is no second table.
            Err(_) => is_readable &= family == Family::V6 && theirs.is_ipv4(),
        }
    }
    match is_readable && !is_loopback_shared() {
        true => Owner::Nobody,
        false => Owner::Unknown,
    }
}

/// Whether connections of another machine come in at 127.0.0.1: WSL with mirrored networking brings
/// those of Windows by this interface, and they are in no table of ours.
fn is_loopback_shared() -> bool {
    Path::new("/sys/class/net/loopback0").exists()
}
