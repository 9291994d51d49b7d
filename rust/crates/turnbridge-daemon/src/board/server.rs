//! Runs the board's HTTP server, on loopback only. One thread per address accepts connections, and
//! each request has a short-lived thread; their number and time are limited. A connection of
//! another user's process is refused before anything is read (`peer`). Connections without the
//! token do not count against the limit of those with it (`unauthenticated`).

use std::io::{self, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::api::{BoardAnswer, BoardState};
use super::guard::{has_token, is_ours};
use super::http::{Deadline, HttpResponse, Refused, close, read_body, read_head, stream_head};
use super::live::Frames;
use super::peer;
use super::unauthenticated::{UnauthenticatedConnection, UnauthenticatedPool};

/// The limit of concurrent requests with the token. A page has six connections at most.
const MOST_REQUESTS: usize = 32;
/// The limit of concurrent event streams; they do not count as requests.
const MOST_STREAMS: usize = 16;
/// The timeout for the arrival of a request, and for the write of its response.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The time in which a client reads a response that has arrived.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);
/// The interval of keep-alive comments on a stream, whose write fails if the page has gone.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// The stack of a request's thread, which renders JSON of long turns. The main thread has sixteen
/// times as much.
const STACK: usize = 512 << 10;

/// The limit of tries to find a port that is free at both addresses.
const MOST_PORTS: usize = 64;

/// The sockets on which the board listens.
pub struct Listening {
    pub listeners: Vec<TcpListener>,
    pub port: u16,
    /// Another program has this port at `[::1]`.
    pub is_ipv6_taken: bool,
}

/// Listens at 127.0.0.1, and at ::1 if it exists. Port 0 selects one that is free at both, because
/// a browser may resolve `localhost` to either. A requested port is used even if ::1 is taken.
pub fn listen(wanted: u16) -> io::Result<Listening> {
    let mut last = None;
    for _ in 0..MOST_PORTS {
        let main = TcpListener::bind((Ipv4Addr::LOCALHOST, wanted))?;
        let port = main.local_addr()?.port();
        let second = TcpListener::bind((Ipv6Addr::LOCALHOST, port));
        let is_ipv6_taken =
            second.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse);
        let listening = Listening {
            listeners: [main].into_iter().chain(second).collect(),
            port,
            is_ipv6_taken,
        };
        if !is_ipv6_taken || wanted != 0 {
            return Ok(listening);
        }
        // Stays bound until the next one is bound, which therefore gets another port.
        last = Some(listening);
    }
    last.ok_or_else(|| io::ErrorKind::AddrInUse.into())
}

pub struct BoardServer {
    is_stopping: Arc<AtomicBool>,
    threads: Vec<(SocketAddr, JoinHandle<()>)>,
}

impl BoardServer {
    pub fn start(listeners: Vec<TcpListener>, state: Arc<BoardState>) -> io::Result<BoardServer> {
        let is_stopping = Arc::new(AtomicBool::new(false));
        let counts = Arc::new(ConnectionCounts::default());
        let unauthenticated = Arc::new(UnauthenticatedPool::default());
        let mut threads = Vec::new();
        for listener in listeners {
            let address = listener.local_addr()?;
            let door = BoardListener {
                state: Arc::clone(&state),
                counts: Arc::clone(&counts),
                unauthenticated: Arc::clone(&unauthenticated),
                is_stopping: Arc::clone(&is_stopping),
            };
            let builder = thread::Builder::new().name("board".to_owned()).stack_size(STACK);
            threads.push((address, builder.spawn(move || door.accept(&listener))?));
        }
        Ok(BoardServer { is_stopping, threads })
    }

    /// Stops accepting. Requests that have begun finish by themselves.
    pub fn stop(&mut self) {
        self.is_stopping.store(true, Ordering::SeqCst);
        for (address, thread) in self.threads.drain(..) {
            // A blocking accept returns only for a connection.
            if TcpStream::connect_timeout(&address, TIMEOUT).is_ok() {
                let _ = thread.join();
            }
        }
    }
}

#[derive(Default)]
struct ConnectionCounts {
    requests: AtomicUsize,
    streams: AtomicUsize,
}

/// One of a limited number of places, which is released when it is dropped.
struct Slot<'a>(&'a AtomicUsize);

impl<'a> Slot<'a> {
    fn acquire(count: &'a AtomicUsize, most: usize) -> Option<Slot<'a>> {
        let place = Slot(count);
        (count.fetch_add(1, Ordering::SeqCst) < most).then_some(place)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The limit against which a connection counts while it is served. Without the token, newer
/// connections may close it.
enum ConnectionHold<'a> {
    Unauthenticated(#[expect(dead_code, reason = "held, not read")] UnauthenticatedConnection),
    Request(#[expect(dead_code, reason = "held, not read")] Slot<'a>),
}

#[derive(Clone)]
struct BoardListener {
    state: Arc<BoardState>,
    counts: Arc<ConnectionCounts>,
    unauthenticated: Arc<UnauthenticatedPool>,
    is_stopping: Arc<AtomicBool>,
}

impl BoardListener {
    fn accept(&self, listener: &TcpListener) {
        loop {
            let stream = listener.accept().map(|(stream, _)| stream);
            if self.is_stopping.load(Ordering::SeqCst) {
                return;
            }
            match stream {
                Ok(stream) => self.admit(stream),
                // Most likely too many open files. The pause prevents a busy loop.
                Err(_) => thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    fn admit(&self, stream: TcpStream) {
        if let Some(refusal) = peer::refusal(&stream) {
            return (self.state.refused)(refusal);
        }
        let stream = Arc::new(stream);
        let connection = self.unauthenticated.enter(&stream);
        let door = self.clone();
        let serve = move || door.serve(&stream, connection);
        let builder = thread::Builder::new().name("board-request".to_owned()).stack_size(STACK);
        // Without a thread the connection closes, and its place is free.
        let _ = builder.spawn(serve);
    }

    fn serve(&self, stream: &TcpStream, connection: UnauthenticatedConnection) {
        let _ = stream.set_write_timeout(Some(TIMEOUT));
        let _ = stream.set_nodelay(true);
        let mut place = ConnectionHold::Unauthenticated(connection);
        let answer = match self.answer(stream, &mut place) {
            Ok(answer) => answer,
            Err(Refused::Gone) => return,
            Err(Refused::Status(status)) => BoardAnswer::Whole(HttpResponse::of_status(status)),
        };
        match answer {
            BoardAnswer::Whole(response) => {
                if response.send(stream).is_ok() {
                    close(stream, CLOSE_TIMEOUT);
                }
            }
            BoardAnswer::Stream => {
                drop(place);
                match Slot::acquire(&self.counts.streams, MOST_STREAMS) {
                    Some(_place) => drop(self.stream(stream)),
                    None => refuse_busy(stream),
                }
            }
        }
    }

    /// Handles a request. An unauthorised client cannot make the server read a body.
    fn answer<'a>(
        &'a self,
        stream: &TcpStream,
        place: &mut ConnectionHold<'a>,
    ) -> Result<BoardAnswer, Refused> {
        let mut input = Deadline { stream, until: Instant::now() + TIMEOUT };
        let (head, begun) = read_head(&mut input)?;
        if !is_ours(&head, self.state.address) {
            return Err(Refused::Status(403));
        }
        if head.path.starts_with("/api/") {
            if !has_token(&head, &self.state.token) {
                return Err(Refused::Status(403));
            }
            let taken = Slot::acquire(&self.counts.requests, MOST_REQUESTS);
            *place = ConnectionHold::Request(taken.ok_or(Refused::Status(503))?);
        }
        let body = read_body(&head, begun, &mut input)?;
        Ok(self.state.answer(&head, &body))
    }

    /// Writes changes until the client disconnects.
    fn stream(&self, mut stream: &TcpStream) -> io::Result<()> {
        let frames: Frames = self.state.live.subscribe(self.state.language());
        stream.write_all(stream_head().as_bytes())?;
        loop {
            match frames.recv_timeout(KEEP_ALIVE) {
                Ok(frame) => stream.write_all(frame.as_bytes())?,
                Err(RecvTimeoutError::Timeout) => stream.write_all(b": still here\n\n")?,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }
}

/// Sends 503 with a short timeout, so that a refused client cannot block the thread.
fn refuse_busy(stream: &TcpStream) {
    let _ = stream.set_write_timeout(Some(Duration::from_millis(50)));
    if HttpResponse::of_status(503).send(stream).is_ok() {
        close(stream, Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has_ipv6() -> bool {
        TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok()
    }

    #[test]
    fn nobody_but_this_machine_is_listened_to() {
        for listener in listen(0).unwrap().listeners {
            let address = listener.local_addr().unwrap();
            assert!(address.ip().is_loopback(), "{address}");
        }
    }

    #[test]
    fn a_port_that_another_has_at_the_other_address_is_said_and_not_chosen() {
        if !has_ipv6() {
            return;
        }
        let other = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).unwrap();
        let taken = other.local_addr().unwrap().port();
        let listening = listen(taken).unwrap();
        assert!(listening.is_ipv6_taken && listening.listeners.len() == 1);
        assert_eq!(listening.port, taken);
        drop(listening);
        drop(other);
        let listening = listen(taken).unwrap();
        assert!(!listening.is_ipv6_taken && listening.listeners.len() == 2);
        let free = listen(0).unwrap();
        assert!(!free.is_ipv6_taken && free.listeners.len() == 2);
    }
}
