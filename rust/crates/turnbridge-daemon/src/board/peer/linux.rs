//! Linux: queries the kernel for the one socket. If that fails, it reads `/proc/net/tcp` and
//! `/proc/net/tcp6`, which list the sockets of all users and take longer the more there are.

mod sock_diag;

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

use turnbridge_core::board::tcp_table::{Family, Owner, linux_user};

pub fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

pub fn owner(theirs: SocketAddr, ours: SocketAddr) -> Owner {
    let asked = sock_diag::owner(theirs, ours);
    match asked.unwrap_or_else(|| in_tables(|path| fs::read(path), theirs, ours)) {
        Owner::Nobody if is_loopback_shared() => Owner::Unknown,
        owner => owner,
    }
}

/// Searches the tables that `read` returns. A table that exists and cannot be read, for example
/// because of too many open files, refuses the connection.
fn in_tables(
    read: impl Fn(&str) -> io::Result<Vec<u8>>,
    theirs: SocketAddr,
    ours: SocketAddr,
) -> Owner {
    let tables = [(Family::V4, "/proc/self/net/tcp"), (Family::V6, "/proc/self/net/tcp6")];
    let mut owner = Owner::Nobody;
    for (family, path) in tables {
        if family == Family::V4 && theirs.is_ipv6() {
            continue;
        }
        match read(path) {
            Ok(table) => {
                if let Some(user) = linux_user(&table, family, theirs, ours) {
                    return Owner::User(user);
                }
            }
            // A system without IPv6 has no second table.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if family == Family::V4 || theirs.is_ipv6() {
                    owner = Owner::Unknown;
                }
            }
            Err(_) => return Owner::Unreadable,
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
