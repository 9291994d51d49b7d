//! Systems that do not report the user. Windows lists the processes with a connection, but does not
//! return the user of another user's process, so that a stranger looks like a service.

use std::net::SocketAddr;

use turnbridge_core::board::tcp_table::ConnectionOwner;

pub fn own_user() -> u32 {
    0
}

pub fn owner(_theirs: SocketAddr, _ours: SocketAddr) -> ConnectionOwner {
    ConnectionOwner::Unknown
}
