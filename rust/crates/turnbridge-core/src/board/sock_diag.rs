//! Builds Linux's query for the owner of one TCP socket by its two addresses, and reads the answer
//! (`NETLINK_SOCK_DIAG`, the kernel's `linux/inet_diag.h`). The cost does not depend on the number
//! of sockets. The daemon's `board::peer` sends the query and receives the answer.

use core::net::{IpAddr, Ipv6Addr, SocketAddr};

const HEADER: usize = 16;
const ERROR: u16 = 2;
const BY_FAMILY: u16 = 20;
const ENOENT: i32 = 2;
const INET: u8 = 2;
const INET6: u8 = 10;

/// The kernel's answer about the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketOwner {
    /// A process of this user has it open.
    User(u32),
    /// No process has it open. A closed socket stays for a while without an inode, and its user is
    /// then 0, which is root. If the socket does not exist, the kernel may answer with a listener
    /// at the same port.
    NoProcess,
    /// The socket does not exist, or the kernel has no module that searches for it.
    NotFound,
    /// The answer cannot be used.
    Failed,
}

/// Returns the query for the socket at `local` that is connected to `remote`.
///
/// Returns `None` if the two are of different families. An IPv6 socket with IPv4 addresses is found
/// by the IPv4 addresses.
pub fn request(local: SocketAddr, remote: SocketAddr) -> Option<Vec<u8>> {
    const REQUEST: u16 = 1;
    const TCP: u8 = 6;
    let family = match (local, remote) {
        (SocketAddr::V4(_), SocketAddr::V4(_)) => INET,
        (SocketAddr::V6(_), SocketAddr::V6(_)) => INET6,
        _ => return None,
    };
    let mut body = vec![family, TCP, 0, 0];
    // In any state.
    body.extend(u32::MAX.to_ne_bytes());
    body.extend(local.port().to_be_bytes());
    body.extend(remote.port().to_be_bytes());
    body.extend(octets(local.ip()));
    body.extend(octets(remote.ip()));
    // On any interface, and no cookie.
    body.extend(0_u32.to_ne_bytes());
    body.extend([0xff; 8]);
    let length = u32::try_from(HEADER + body.len()).ok()?;
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(BY_FAMILY.to_ne_bytes());
    message.extend(REQUEST.to_ne_bytes());
    // The number of the request, and the kernel as its receiver.
    message.extend(1_u32.to_ne_bytes());
    message.extend(0_u32.to_ne_bytes());
    message.extend(body);
    Some(message)
}

/// Returns the owner of the socket, by the kernel's answer to `request(local, remote)`.
pub fn read_answer(answer: &[u8], local: SocketAddr, remote: SocketAddr) -> SocketOwner {
    read(answer, local, remote).unwrap_or(SocketOwner::Failed)
}

fn read(answer: &[u8], local: SocketAddr, remote: SocketAddr) -> Option<SocketOwner> {
    let length = usize::try_from(native_u32(answer, 0)?).ok()?;
    let kind = u16::from_ne_bytes(part(answer, 4)?);
    let body = answer.get(HEADER..length)?;
    match kind {
        ERROR => {
            let is_not_found = i32::from_ne_bytes(part(body, 0)?) == -ENOENT;
            Some(if is_not_found { SocketOwner::NotFound } else { SocketOwner::Failed })
        }
        BY_FAMILY => {
            let family = *body.first()?;
            let address = |port, ip| {
                let port = u16::from_be_bytes(part(body, port)?);
                Some(SocketAddr::new(address(family, part(body, ip)?)?, port))
            };
            let is_asked_for = (address(4, 8)?, address(6, 24)?) == (local, remote);
            let (user, inode) = (native_u32(body, 64)?, native_u32(body, 68)?);
            Some(match is_asked_for && inode != 0 {
                true => SocketOwner::User(user),
                false => SocketOwner::NoProcess,
            })
        }
        _ => None,
    }
}

/// Puts an address of IPv4 in the first four of sixteen bytes.
fn octets(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V6(ip) => ip.octets(),
        IpAddr::V4(ip) => {
            let [a, b, c, d] = ip.octets();
            [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        }
    }
}

fn address(family: u8, octets: [u8; 16]) -> Option<IpAddr> {
    match family {
        INET => Some(IpAddr::from([octets[0], octets[1], octets[2], octets[3]])),
        INET6 => Some(IpAddr::V6(Ipv6Addr::from(octets)).to_canonical()),
        _ => None,
    }
}

fn native_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(part(bytes, at)?))
}

fn part<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: (&str, &str) = ("127.0.0.1:40000", "127.0.0.1:4000");
    const V6: (&str, &str) = ("[::1]:40000", "[::1]:4000");

    fn pair((local, remote): (&str, &str)) -> (SocketAddr, SocketAddr) {
        (local.parse().unwrap(), remote.parse().unwrap())
    }

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(HEADER + body.len()).unwrap();
        [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 10], body].concat()
    }

    fn socket(family: u8, addresses: (&str, &str), user: u32, inode: u32) -> Vec<u8> {
        let (local, remote) = pair(addresses);
        let (ports, ips) = ([local.port(), remote.port()], [local.ip(), remote.ip()]);
        let octets = |ip| match (family, ip) {
            (INET6, IpAddr::V4(ip)) => ip.to_ipv6_mapped().octets(),
            (_, ip) => octets(ip),
        };
        let mut body = vec![family, 1, 0, 0];
        body.extend(ports.into_iter().flat_map(u16::to_be_bytes));
        body.extend(ips.into_iter().flat_map(octets));
        body.extend([0; 24]);
        body.extend(user.to_ne_bytes());
        body.extend(inode.to_ne_bytes());
        // An attribute that was not requested.
        body.extend([5, 0, 8, 0, 0]);
        message(BY_FAMILY, &body)
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn the_request_is_as_the_kernel_reads_it() {
        let (local, remote) = pair(V4);
        let request = request(local, remote).unwrap();
        let expected: [&[u8]; 7] = [
            &[72, 0, 0, 0, 20, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0],
            &[2, 6, 0, 0, 0xff, 0xff, 0xff, 0xff],
            &[0x9c, 0x40, 0x0f, 0xa0],
            &[127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0, 0, 0, 0],
            &[0xff; 8],
        ];
        assert_eq!(request, expected.concat());
        let (local6, remote6) = pair(V6);
        let request6 = super::request(local6, remote6).unwrap();
        assert_eq!((request6.len(), request6[16], request6[43], request6[59]), (72, 10, 1, 1));
        assert_eq!(super::request(local, remote6), None);
    }

    #[test]
    fn the_user_is_that_of_the_socket_that_was_asked_for_and_is_open() {
        let swapped = (V4.1, V4.0);
        for (answer, asked, expected) in [
            (socket(INET, V4, 1000, 5), V4, SocketOwner::User(1000)),
            (socket(INET, V4, 0, 5), V4, SocketOwner::User(0)),
            (socket(INET6, V6, 1001, 5), V6, SocketOwner::User(1001)),
            // A socket of IPv6 with addresses of IPv4.
            (socket(INET6, V4, 1002, 5), V4, SocketOwner::User(1002)),
            // Closed: there is no inode, and the user is 0, as for root.
            (socket(INET, V4, 0, 0), V4, SocketOwner::NoProcess),
            (socket(INET6, V6, 0, 0), V6, SocketOwner::NoProcess),
            // A listener of root at that port, the own end, and another connection.
            (socket(INET, (V4.0, "0.0.0.0:0"), 0, 5), V4, SocketOwner::NoProcess),
            (socket(INET, swapped, 0, 5), V4, SocketOwner::NoProcess),
            (socket(INET, ("127.0.0.1:40001", V4.1), 0, 5), V4, SocketOwner::NoProcess),
            (socket(1, V4, 0, 5), V4, SocketOwner::Failed),
            (message(ERROR, &(-2_i32).to_ne_bytes()), V4, SocketOwner::NotFound),
            (message(ERROR, &(-1_i32).to_ne_bytes()), V4, SocketOwner::Failed),
            (message(ERROR, &0_i32.to_ne_bytes()), V4, SocketOwner::Failed),
            (message(3, &[0; 72]), V4, SocketOwner::Failed),
        ] {
            let (local, remote) = pair(asked);
            assert_eq!(read_answer(&answer, local, remote), expected, "{answer:?}");
            for cut in 0..answer.len() {
                assert_eq!(
                    read_answer(&answer[..cut], local, remote),
                    SocketOwner::Failed,
                    "{cut}"
                );
            }
        }
        let (local, remote) = pair(V4);
        assert_eq!(read_answer(&[0; 200], local, remote), SocketOwner::Failed);
        assert_eq!(read_answer(&[0xff; 200], local, remote), SocketOwner::Failed);
    }
}
