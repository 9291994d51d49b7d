//! Finds the user of a connection on Linux: queries the kernel for the one socket. If that fails,
//! it searches `/proc/self/net/tcp` and `/proc/self/net/tcp6`. They list the sockets of all users,
//! so that the search takes longer the more there are.

mod sock_diag;

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

use turnbridge_core::board::tcp_table::{ConnectionOwner, Family, linux_user};

pub fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns the owner of the socket `theirs` that is connected to `ours`.
pub fn owner(theirs: SocketAddr, ours: SocketAddr) -> ConnectionOwner {
    let asked = sock_diag::owner(theirs, ours);
    match asked.unwrap_or_else(|| in_tables(|path| fs::read(path), theirs, ours)) {
        ConnectionOwner::NoProcess if is_loopback_shared() => ConnectionOwner::Unknown,
        owner => owner,
    }
}

/// Searches the tables that `read` returns. A table that exists and cannot be read, for example
/// because of too many open files, refuses the connection.
fn in_tables(
    read: impl Fn(&str) -> io::Result<Vec<u8>>,
    theirs: SocketAddr,
    ours: SocketAddr,
) -> ConnectionOwner {
    let tables = [(Family::V4, "/proc/self/net/tcp"), (Family::V6, "/proc/self/net/tcp6")];
    let mut owner = ConnectionOwner::NoProcess;
    for (family, path) in tables {
        if family == Family::V4 && theirs.is_ipv6() {
            continue;
        }
        match read(path) {
            Ok(table) => {
                if let Some(user) = linux_user(&table, family, theirs, ours) {
                    return ConnectionOwner::User(user);
                }
            }
            // A system without IPv6 has no second table.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if family == Family::V4 || theirs.is_ipv6() {
                    owner = ConnectionOwner::Unknown;
                }
            }
            Err(_) => return ConnectionOwner::Unreadable,
        }
    }
    owner
}

/// Returns whether connections of another machine arrive at 127.0.0.1: WSL with mirrored networking
/// uses this interface for those of Windows, and no local table lists them.
fn is_loopback_shared() -> bool {
    Path::new("/sys/class/net/loopback0").exists()
}

#[cfg(test)]
mod tests;
