//! Finds the user at the other end of a TCP connection on this machine, in the system's table of
//! sockets (Linux, macOS), and decides whether that user may use the board. The daemon's
//! `board::peer` reads the table.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use memchr::memmem;

/// The user at the other end of a connection, as far as the system reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionOwner {
    User(u32),
    /// The table has no such socket: its process has closed it, or it is not on this machine.
    NoProcess,
    /// The system has no such table, or no reliable one.
    Unknown,
    /// The system has the table, but reading it failed.
    Unreadable,
}

impl ConnectionOwner {
    /// Returns whether the owner may use the board of `own_user`. Root may: it can read all files
    /// anyway, and relays such as WSL's run as root. An unknown owner may, too.
    pub fn may_use_board_of(self, own_user: u32) -> bool {
        match self {
            ConnectionOwner::User(user) => user == 0 || user == own_user,
            ConnectionOwner::NoProcess | ConnectionOwner::Unreadable => false,
            ConnectionOwner::Unknown => true,
        }
    }
}

/// Finds the row of the socket at `theirs` that is connected to `ours` in the text of Linux's
/// `/proc/net/tcp` or `/proc/net/tcp6`, and returns its user.
///
/// Returns `None` if there is no such row. A row without an inode does not count: once a process
/// has closed its socket, the kernel keeps the row for a while and writes 0 as its user, which is
/// root.
pub fn linux_user(
    table: &[u8],
    family: Family,
    theirs: SocketAddr,
    ours: SocketAddr,
) -> Option<u32> {
    let addresses = format!("{} {} ", hex(theirs, family)?, hex(ours, family)?);
    let found = memmem::find_iter(table, addresses.as_bytes());
    found.into_iter().find_map(|at| {
        let rest = &table[at + addresses.len()..];
        let line = rest.split(|byte| *byte == b'\n').next()?;
        // After the addresses: state, queues, timer, retransmits, user, timeout, inode.
        let fields: Vec<&str> = core::str::from_utf8(line).ok()?.split_ascii_whitespace().collect();
        let (user, inode) = (fields.get(4)?.parse().ok()?, fields.get(6)?.parse::<u64>().ok()?);
        (inode != 0).then_some(user)
    })
}

/// The two tables: a socket of IPv6 can be connected to an address of IPv4 and is then listed among
/// those of IPv6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    V4,
    V6,
}

/// Formats an address as the kernel does: words of 32 bits, each in the byte order of the machine.
fn hex(address: SocketAddr, family: Family) -> Option<String> {
    let words: Vec<[u8; 4]> = match (address.ip(), family) {
        (IpAddr::V4(ip), Family::V4) => vec![ip.octets()],
        (IpAddr::V6(_), Family::V4) => return None,
        (ip, Family::V6) => {
            let octets = match ip {
                IpAddr::V4(ip) => Ipv4Addr::to_ipv6_mapped(&ip).octets(),
                IpAddr::V6(ip) => ip.octets(),
            };
            octets.chunks_exact(4).filter_map(|word| word.try_into().ok()).collect()
        }
    };
    let words = words.into_iter().map(|word| format!("{:08X}", u32::from_ne_bytes(word)));
    Some(format!("{}:{:04X}", words.collect::<String>(), address.port()))
}

/// Finds the same socket in macOS's `net.inet.tcp.pcblist_n`, and returns its user.
///
/// The list contains records, each with its length and its kind: a connection's addresses come
/// right before its socket (xnu, `bsd/netinet/in_pcblist.c`; the offsets are those of `xinpcb_n`
/// and `xsocket_n`).
pub fn macos_user(list: &[u8], theirs: SocketAddr, ours: SocketAddr) -> Option<u32> {
    const SOCKET: u32 = 0x001;
    const ADDRESSES: u32 = 0x010;
    let mut rest = list;
    let mut is_theirs = false;
    loop {
        let (length, kind) = (native_u32(rest, 0)?, native_u32(rest, 4)?);
        match kind {
            ADDRESSES => {
                is_theirs = macos_address(rest, 64, 18) == Some(theirs)
                    && macos_address(rest, 48, 16) == Some(ours);
            }
            SOCKET if is_theirs => return native_u32(rest, 64),
            _ => {}
        }
        // A record whose length is shorter than its head would make the loop endless.
        let length = usize::try_from(length).ok()?.max(8).next_multiple_of(8);
        rest = rest.get(length..)?;
    }
}

fn native_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Reads an address. One of IPv4 is in the last four of its sixteen bytes.
fn macos_address(record: &[u8], ip: usize, port: usize) -> Option<SocketAddr> {
    const IS_IPV4: u8 = 1;
    let octets: [u8; 16] = record.get(ip..ip + 16)?.try_into().ok()?;
    let port = u16::from_be_bytes(record.get(port..port + 2)?.try_into().ok()?);
    let ip = match record.get(44)? & IS_IPV4 {
        0 => IpAddr::from(octets).to_canonical(),
        _ => IpAddr::from([octets[12], octets[13], octets[14], octets[15]]),
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of macOS's list, with these bytes at these places.
    fn record(kind: u32, length: u32, parts: &[(usize, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0; length.next_multiple_of(8) as usize];
        bytes[..4].copy_from_slice(&length.to_ne_bytes());
        bytes[4..8].copy_from_slice(&kind.to_ne_bytes());
        for (at, part) in parts {
            bytes[*at..*at + part.len()].copy_from_slice(part);
        }
        bytes
    }

    fn connection(from: SocketAddr, to: SocketAddr, user: u32) -> Vec<u8> {
        let octets = |ip| match ip {
            IpAddr::V4(ip) => ip.to_ipv6_compatible().octets(),
            IpAddr::V6(ip) => ip.octets(),
        };
        let addresses = record(
            0x010,
            100,
            &[
                (16, &to.port().to_be_bytes()),
                (18, &from.port().to_be_bytes()),
                (44, &[if from.is_ipv4() { 1 } else { 2 }]),
                (48, &octets(to.ip())),
                (64, &octets(from.ip())),
            ],
        );
        let socket = record(0x001, 76, &[(64, &user.to_ne_bytes())]);
        [addresses, socket, record(0x002, 32, &[]), record(0x020, 204, &[])].concat()
    }

    #[test]
    fn the_user_is_found_in_the_list_of_macos_too() {
        for (theirs, ours) in [("127.0.0.1:40000", "127.0.0.1:4000"), ("[::1]:40000", "[::1]:4000")]
        {
            let (theirs, ours): (SocketAddr, SocketAddr) =
                (theirs.parse().unwrap(), ours.parse().unwrap());
            let other = "127.0.0.1:40001".parse().unwrap();
            let list = [
                record(0, 24, &[]),
                connection(ours, theirs, 7),
                connection(other, ours, 8),
                connection(theirs, ours, 501),
                record(16, 24, &[]),
            ]
            .concat();
            assert_eq!(macos_user(&list, theirs, ours), Some(501));
            assert_eq!(macos_user(&list, other, "127.0.0.1:1".parse().unwrap()), None);
            for cut in 0..list.len() {
                assert!(matches!(macos_user(&list[..cut], theirs, ours), None | Some(501)));
            }
        }
        // A list of zeros ends too.
        assert_eq!(
            macos_user(&[0; 4_096], "127.0.0.1:1".parse().unwrap(), "127.0.0.1:2".parse().unwrap()),
            None
        );
    }

    const HEADER: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

    #[track_caller]
    fn check(row: &str, family: Family, expected: Option<u32>) {
        let table = format!(
            "{HEADER}   0: 0100007F:0FA0 00000000:0000 0A 00000000:00000000 00:00000000 00000000  7 0 11 1 0\n{row}\n"
        );
        let (theirs, ours) =
            ("127.0.0.1:40000".parse().unwrap(), "127.0.0.1:4000".parse().unwrap());
        assert_eq!(linux_user(table.as_bytes(), family, theirs, ours), expected, "{row}");
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn the_user_is_that_of_the_row_that_is_connected_to_us() {
        let rest = "00000000:00000000 00:00000000 00000000";
        let row = |local: &str, remote: &str, state: &str, user: u32, inode: u32| {
            format!(
                "   1: {local} {remote} {state} {rest}  {user}        0 {inode} 1 0000 20 4 30 10 -1"
            )
        };
        let (theirs, ours) = ("0100007F:9C40", "0100007F:0FA0");
        check(&row(theirs, ours, "01", 1000, 5), Family::V4, Some(1000));
        // It has closed its sending side, and still reads.
        check(&row(theirs, ours, "05", 1000, 5), Family::V4, Some(1000));
        // The own end of it, another's, and one to another port.
        check(&row(ours, theirs, "01", 1000, 5), Family::V4, None);
        check(&row("0100007F:9C41", ours, "01", 1000, 5), Family::V4, None);
        check(&row(theirs, "0100007F:0FA1", "01", 1000, 5), Family::V4, None);
        // Closed: the row still exists, without a socket, with root as its user.
        check(&row(theirs, ours, "05", 0, 0), Family::V4, None);
        check(&row(theirs, ours, "06", 0, 0), Family::V4, None);
        check("   1: 0100007F:9C40 0100007F:0FA0 01 half", Family::V4, None);
        check("", Family::V4, None);
        let mapped = "0000000000000000FFFF0000";
        let row = row(&format!("{mapped}{theirs}"), &format!("{mapped}{ours}"), "01", 1001, 6);
        check(&row, Family::V6, Some(1001));
        let loopback = "   1: 00000000000000000000000001000000:9C40 \
                        00000000000000000000000001000000:0FA0 01 0:0 0:0 0 1002 0 7 1";
        let (theirs, ours) = ("[::1]:40000".parse().unwrap(), "[::1]:4000".parse().unwrap());
        assert_eq!(linux_user(loopback.as_bytes(), Family::V6, theirs, ours), Some(1002));
        assert_eq!(linux_user(loopback.as_bytes(), Family::V4, theirs, ours), None);
    }

    #[test]
    fn own_user_and_root_are_let_in_and_whoever_is_gone_is_not() {
        for (owner, is_let_in) in [
            (ConnectionOwner::User(1000), true),
            (ConnectionOwner::User(0), true),
            (ConnectionOwner::User(1001), false),
            (ConnectionOwner::User(u32::MAX), false),
            (ConnectionOwner::NoProcess, false),
            (ConnectionOwner::Unknown, true),
            (ConnectionOwner::Unreadable, false),
        ] {
            assert_eq!(owner.may_use_board_of(1000), is_let_in, "{owner:?}");
        }
    }
}
