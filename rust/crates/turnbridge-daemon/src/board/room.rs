//! The connections that have not sent the token yet. Their number is limited, and a new one closes
//! the oldest. Idle connections therefore block no other client.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The limit of connections. A page opens six at most, and finishes each within milliseconds.
const MOST_GUESTS: usize = 32;

#[derive(Default)]
pub struct Room {
    guests: Mutex<Guests>,
}

#[derive(Default)]
struct Guests {
    next: u64,
    /// The connections, the oldest first.
    present: VecDeque<(u64, Arc<TcpStream>)>,
}

impl Room {
    pub fn enter(self: &Arc<Room>, stream: &Arc<TcpStream>) -> Guest {
        let mut guests = self.guests();
        while guests.present.len() >= MOST_GUESTS {
            if let Some((_, oldest)) = guests.present.pop_front() {
                // Its thread gets an error immediately and ends.
                let _ = oldest.shutdown(Shutdown::Both);
            }
        }
        let number = guests.next;
        guests.next += 1;
        guests.present.push_back((number, Arc::clone(stream)));
        Guest { room: Arc::clone(self), number }
    }

    fn guests(&self) -> MutexGuard<'_, Guests> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the room, which is released when it is dropped.
pub struct Guest {
    room: Arc<Room>,
    number: u64,
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.room.guests().present.retain(|(number, _)| *number != self.number);
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
        let room = Arc::new(Room::default());
        let connect = || {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            client.set_read_timeout(Some(std::time::Duration::from_millis(1))).unwrap();
            let stream = Arc::new(listener.accept().unwrap().0);
            (room.enter(&stream), stream, client)
        };
        let mut held: Vec<_> = (0..MOST_GUESTS).map(|_| connect()).collect();
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
