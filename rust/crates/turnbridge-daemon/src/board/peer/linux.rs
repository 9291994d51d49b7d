//! Linux: the kernel is asked for the one socket. Where it cannot be asked, `/proc/net/tcp` and
//! `/proc/net/tcp6` list the sockets of all users; reading them takes longer the more there are.

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

/// Looks in the tables that `read` reads. A table that is there and cannot be read, such as when this
/// process has too many files open, does not let anybody in.
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
            // Without IPv6 there is no second table.
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

/// Whether connections of another machine come in at 127.0.0.1: WSL with mirrored networking brings
/// those of Windows by this interface, and they are in no table of ours.
fn is_loopback_shared() -> bool {
    Path::new("/sys/class/net/loopback0").exists()
}

#[cfg(test)]
mod tests;
