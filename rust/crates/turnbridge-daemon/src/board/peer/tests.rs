//! Tests that the kernel's query and the tables in `/proc` report the same user of a socket, and
//! that an unreadable table refuses the connection.

use super::*;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use rustix::io::Errno;
use rustix::net::sockopt::set_socket_linger;

/// Returns the results of both methods for the other end, with addresses like `refusal` passes
/// them.
fn both(server: &TcpStream, theirs: SocketAddr) -> (Option<ConnectionOwner>, ConnectionOwner) {
    let plain = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    let (theirs, ours) = (plain(theirs), plain(server.local_addr().unwrap()));
    (sock_diag::owner(theirs, ours), in_tables(|path| fs::read(path), theirs, ours))
}

#[test]
fn the_kernel_and_the_tables_say_the_same_of_one_socket() {
    let own = ConnectionOwner::User(own_user());
    let mapped = Ipv4Addr::LOCALHOST.to_ipv6_mapped().into();
    for (listens_at, connects_to) in
        [("127.0.0.1:0", None), ("[::1]:0", None), ("127.0.0.1:0", Some(mapped))]
    {
        let Ok(listener) = TcpListener::bind(listens_at) else { continue };
        let mut address = listener.local_addr().unwrap();
        address.set_ip(connects_to.unwrap_or(address.ip()));
        for is_reset in [false, true] {
            let Ok(client) = TcpStream::connect(address) else { continue };
            let (server, theirs) = listener.accept().unwrap();
            let (Some(asked), listed) = both(&server, theirs) else {
                return testkit::skipped("the kernel cannot be asked for a socket here");
            };
            assert_eq!((asked, listed), (own, own), "{address}");
            // A reset removes the local end, too.
            let linger = is_reset.then_some(std::time::Duration::ZERO);
            set_socket_linger(&client, linger).unwrap();
            drop(client);
            let gone = (Some(ConnectionOwner::NoProcess), ConnectionOwner::NoProcess);
            assert_eq!(both(&server, theirs), gone, "{address} {is_reset}");
        }
    }
}

#[test]
fn a_table_that_is_there_and_cannot_be_read_lets_nobody_in() {
    let v4 = ("127.0.0.1:40000".parse().unwrap(), "127.0.0.1:4000".parse().unwrap());
    let v6 = ("[::1]:40000".parse().unwrap(), "[::1]:4000".parse().unwrap());
    let not_found = || io::Error::from(ErrorKind::NotFound);
    let too_many_files = || io::Error::from(Errno::MFILE);
    for (first, second, (theirs, ours), expected) in [
        (None, None, v4, ConnectionOwner::NoProcess),
        (None, Some(not_found()), v4, ConnectionOwner::NoProcess),
        (Some(not_found()), Some(not_found()), v4, ConnectionOwner::Unknown),
        (None, Some(not_found()), v6, ConnectionOwner::Unknown),
        (Some(too_many_files()), Some(too_many_files()), v4, ConnectionOwner::Unreadable),
        (None, Some(too_many_files()), v4, ConnectionOwner::Unreadable),
        (Some(not_found()), Some(too_many_files()), v4, ConnectionOwner::Unreadable),
        (None, Some(too_many_files()), v6, ConnectionOwner::Unreadable),
        (Some(ErrorKind::PermissionDenied.into()), None, v4, ConnectionOwner::Unreadable),
        (Some(Errno::NOMEM.into()), None, v4, ConnectionOwner::Unreadable),
    ] {
        let told = format!("{first:?} {second:?} {theirs}");
        let read = |path: &str| {
            let error = if path.ends_with('6') { &second } else { &first };
            error.as_ref().map_or(Ok(Vec::new()), |error| {
                Err(error.raw_os_error().map_or(error.kind().into(), io::Error::from_raw_os_error))
            })
        };
        assert_eq!(in_tables(read, theirs, ours), expected, "{told}");
    }
}
