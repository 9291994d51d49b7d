//! Limits the connections that have not sent the token yet: a new one above the limit closes the
//! oldest. Idle connections therefore block no other client.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The limit of connections. A page opens six at most, and finishes each within milliseconds.
const MOST_CONNECTIONS: usize = 32;

#[derive(Default)]
pub struct UnauthenticatedPool {
    connections: Mutex<ConnectionQueue>,
}

#[derive(Default)]
struct ConnectionQueue {
    next: u64,
    /// The connections, the oldest first.
    present: VecDeque<(u64, Arc<TcpStream>)>,
}

impl UnauthenticatedPool {
    /// Adds a connection. Above the limit it closes the oldest one.
    pub fn enter(
        self: &Arc<UnauthenticatedPool>,
        stream: &Arc<TcpStream>,
    ) -> UnauthenticatedConnection {
        let mut connections = self.connections();
        while connections.present.len() >= MOST_CONNECTIONS {
            if let Some((_, oldest)) = connections.present.pop_front() {
                // Its thread gets an error immediately and ends.
                let _ = oldest.shutdown(Shutdown::Both);
            }
        }
        let number = connections.next;
        connections.next += 1;
        connections.present.push_back((number, Arc::clone(stream)));
        UnauthenticatedConnection { unauthenticated: Arc::clone(self), number }
    }

    fn connections(&self) -> MutexGuard<'_, ConnectionQueue> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection in the pool, which leaves the pool when it is dropped.
pub struct UnauthenticatedConnection {
    unauthenticated: Arc<UnauthenticatedPool>,
    number: u64,
}

impl Drop for UnauthenticatedConnection {
    fn drop(&mut self) {
        self.unauthenticated.connections().present.retain(|(number, _)| *number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    #[test]
    fn the_oldest_leaves_when_another_one_comes() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let unauthenticated = Arc::new(UnauthenticatedPool::default());
        let connect = || {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            client.set_read_timeout(Some(std::time::Duration::from_millis(1))).unwrap();
            let stream = Arc::new(listener.accept().unwrap().0);
            (unauthenticated.enter(&stream), stream, client)
        };
        let mut held: Vec<_> = (0..MOST_CONNECTIONS).map(|_| connect()).collect();
        let gone = held.remove(1);
        drop(gone.0);
        held.push(connect());
        let is_closed = |client: &mut TcpStream| matches!(client.read(&mut [0]), Ok(0));
        assert!(!held.iter_mut().any(|(_, _, client)| is_closed(client)));
        held.push(connect());
        let closed: Vec<bool> = held.iter_mut().map(|(.., client)| is_closed(client)).collect();
        assert!(closed[0] && !closed[1..].contains(&true), "{closed:?}");
    }
}
