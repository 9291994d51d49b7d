//! Floods the board with connections of the other user, while idle connections make the system's
//! table of sockets long. A board that reads the whole table for each connection would have no time
//! left for its owner.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use testkit::wait_until;

use super::SetWhenDropped;
use super::user::OtherUser;
use crate::board::site::{BoardSite, TIMEOUT};

/// The number of idle connections; each is two rows and two open files.
const MOST_IDLE: u64 = 6_000;
/// The number of other files that this process needs.
const OTHER_FILES: u64 = 500;
const THREADS: usize = 8;
/// The limit of connections, which ends the flood also when the owner's requests hang.
const MOST_CONNECTIONS_OF_THREAD: usize = 4_000;

/// Floods the board, and asserts that the owner's requests still succeed.
pub fn flood(site: &BoardSite, other_user: &OtherUser) {
    let idle = other_user.act(|_| hold_idle());
    let (is_over, made) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| other_user.act(|_| connect_in_a_loop(site.port, &is_over, &made)));
        }
        // Ends the flood also when this panics.
        let _over = SetWhenDropped(&is_over);
        let has_begun = || (made.load(Ordering::SeqCst) > THREADS * 10).then_some(());
        wait_until(TIMEOUT, "the flood", has_begun);
        for _ in 0..20 {
            assert_eq!(site.get("/api/sessions").status, 200);
        }
    });
    drop(idle);
}

fn hold_idle() -> Vec<(TcpStream, TcpStream)> {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let count = (files.saturating_sub(OTHER_FILES) / 2).min(MOST_IDLE);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let connect = |_| Some((TcpStream::connect(address).ok()?, listener.accept().ok()?.0));
    (0..count).map_while(connect).collect()
}

fn connect_in_a_loop(port: u16, is_over: &AtomicBool, made: &AtomicUsize) {
    let board = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    for _ in 0..MOST_CONNECTIONS_OF_THREAD {
        if is_over.load(Ordering::SeqCst) {
            return;
        }
        let _ = TcpStream::connect_timeout(&board, Duration::from_secs(1));
        made.fetch_add(1, Ordering::SeqCst);
    }
}
