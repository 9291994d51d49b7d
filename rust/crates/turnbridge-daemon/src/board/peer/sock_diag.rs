//! Queries the Linux kernel for the user of one socket. Each query has its own netlink socket, so
//! that a late response is never taken for another connection's and threads share no state.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::{Errno, Result, retry_on_intr};
use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, recv, send, socket_with,
};
use turnbridge_core::board::sock_diag::{SocketOwner, read_answer, request};
use turnbridge_core::board::tcp_table::ConnectionOwner;

/// The timeout. The kernel normally responds before `send` returns.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Returns the owner of a socket. Returns `None` if the kernel cannot be queried: a container or a
/// sandbox may forbid it, and a kernel may be built without it.
pub fn owner(theirs: SocketAddr, ours: SocketAddr) -> Option<ConnectionOwner> {
    match ask_all(theirs, ours) {
        Ok(SocketOwner::User(user)) => Some(ConnectionOwner::User(user)),
        Ok(SocketOwner::NoProcess) => Some(ConnectionOwner::NoProcess),
        Ok(SocketOwner::NotFound | SocketOwner::Failed) => None,
        // A temporary failure. Its cause must not also make this process read the whole table.
        Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS | Errno::AGAIN) => {
            Some(ConnectionOwner::Unreadable)
        }
        Err(_) => None,
    }
}

fn ask_all(theirs: SocketAddr, ours: SocketAddr) -> Result<SocketOwner> {
    let netlink = open()?;
    let found = ask(&netlink, theirs, ours)?;
    if found != SocketOwner::NotFound {
        return Ok(found);
    }
    // The kernel returns the same error if it cannot search. The listener certainly exists, so a
    // second query tells the cases apart. This end of the connection may not exist, because the
    // other end can reset it.
    let nowhere: IpAddr = match ours {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    Ok(match ask(&netlink, ours, SocketAddr::new(nowhere, 0))? {
        SocketOwner::User(_) | SocketOwner::NoProcess => SocketOwner::NoProcess,
        cannot_look => cannot_look,
    })
}

/// Opens a socket connected to the kernel, so that no process can forge a response.
fn open() -> Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    let netlink = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(SOCK_DIAG))?;
    set_socket_timeout(&netlink, Timeout::Recv, Some(TIMEOUT))?;
    set_socket_timeout(&netlink, Timeout::Send, Some(TIMEOUT))?;
    connect(&netlink, &SocketAddrNetlink::new(0, 0))?;
    Ok(netlink)
}

fn ask(netlink: &OwnedFd, local: SocketAddr, remote: SocketAddr) -> Result<SocketOwner> {
    let Some(request) = request(local, remote) else { return Ok(SocketOwner::Failed) };
    retry_on_intr(|| send(netlink, &request, SendFlags::empty()))?;
    let mut answer = [0_u8; 4_096];
    let (length, _) = retry_on_intr(|| recv(netlink, &mut answer, RecvFlags::empty()))?;
    Ok(read_answer(&answer[..length], local, remote))
}
