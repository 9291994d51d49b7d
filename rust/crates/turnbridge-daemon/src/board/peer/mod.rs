//! Refuses connections of other users' processes to the board before a byte is read. The modules
//! for Linux and macOS find the user at the other end. Where the system does not report the user,
//! only the token protects the board.

#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(target_os = "macos", path = "macos.rs")]
#[cfg_attr(not(any(target_os = "linux", target_os = "macos")), path = "other.rs")]
mod system;

use std::net::{SocketAddr, TcpStream};

use turnbridge_core::board::tcp_table::ConnectionOwner;

/// Returns the reason to refuse the connection, or `None` to accept it.
pub fn refusal(stream: &TcpStream) -> Option<PeerRefusal> {
    let (Ok(theirs), Ok(ours)) = (stream.peer_addr(), stream.local_addr()) else {
        return Some(PeerRefusal::Gone);
    };
    // Maps an IPv4 address that came through IPv6 to plain IPv4.
    let plain = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    let owner = system::owner(plain(theirs), plain(ours));
    match owner {
        _ if owner.may_use_board_of(system::own_user()) => None,
        ConnectionOwner::User(user) => Some(PeerRefusal::OtherUser(user)),
        ConnectionOwner::Unreadable => Some(PeerRefusal::Unreadable),
        ConnectionOwner::NoProcess | ConnectionOwner::Unknown => Some(PeerRefusal::Gone),
    }
}

/// The reason why a connection is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerRefusal {
    /// A process of this other user.
    OtherUser(u32),
    /// The client has closed its end, or the system does not know the connection.
    Gone,
    /// The system could report the user, but the query failed.
    Unreadable,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_process_of_our_own_is_let_in_and_one_that_has_left_is_not_on_linux() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (server, _) = listener.accept().unwrap();
            assert_eq!(refusal(&server), None, "{address}");
            // It has sent everything, and still reads.
            client.shutdown(std::net::Shutdown::Write).unwrap();
            assert_eq!(refusal(&server), None, "{address}");
            drop(client);
            if cfg!(target_os = "linux") {
                assert_eq!(refusal(&server), Some(PeerRefusal::Gone), "{address}");
            }
        }
    }

    /// A program may use IPv6 for an IPv4 address, and is then in the other table.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_client_of_ipv6_with_an_address_of_ipv4_is_found() {
        if TcpListener::bind("[::1]:0").is_err() {
            return;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mapped = std::net::Ipv4Addr::LOCALHOST.to_ipv6_mapped();
        let _client = TcpStream::connect((mapped, port)).unwrap();
        let (server, _) = listener.accept().unwrap();
        assert_eq!(refusal(&server), None);
    }
}
