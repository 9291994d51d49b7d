//! Runs the port and its connections: a thread that accepts, a thread per client, and a way to take
//! the port down.
//!
//! While the port is down it is bound but does not listen: the system refuses connections as if no
//! server existed, and still no other program can take the port.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustls::ServerConfig;
use socket2::{Domain, SockRef, Socket, Type};

use super::exchange::{Ending, SlackCall, exchange};
use super::faults::FaultPlan;
use super::socket_session::serve_socket;
use super::sockets::{Sockets, write_to_sockets};
use super::tls::SocketConnection;
use super::workspace::SlackWorkspace;
use crate::http_wire;

/// The state of the server's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Port {
    Up,
    Down,
    Stopped,
}

/// The state that all threads of the server share.
pub(super) struct SlackServerState {
    pub(super) workspace: SlackWorkspace,
    pub(super) faults: FaultPlan,
    pub(super) calls: Vec<SlackCall>,
    pub(super) sockets: Sockets,
    wanted: Port,
    actual: Port,
    connections: BTreeMap<u64, TcpStream>,
    connected: u64,
}

impl SlackServerState {
    /// Returns whether the port should accept connections.
    pub(super) fn is_up(&self) -> bool {
        self.wanted == Port::Up
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.wanted == Port::Stopped
    }
}

/// The state behind its lock, and the signal that it has changed.
pub(super) struct SlackServerShared {
    /// `ws://…` or `wss://…`, without a path.
    pub(super) socket_base: String,
    state: Mutex<SlackServerState>,
    changed: Condvar,
}

impl SlackServerShared {
    /// Locks the state, even if a thread has panicked while it held the lock.
    pub(super) fn lock(&self) -> MutexGuard<'_, SlackServerState> {
        // A panic in one connection's thread must not hide the test's own message behind a poisoned
        // lock.
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Sleeps. Returns early if the port goes down or the server stops.
    pub(super) fn pause(&self, duration: Duration) {
        let deadline = Instant::now() + duration;
        let mut state = self.lock();
        while state.is_up() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = match self.changed.wait_timeout(state, left) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    /// Wakes all waiting threads.
    pub(super) fn notify(&self) {
        self.changed.notify_all();
    }

    /// Waits for a change or the deadline.
    pub(super) fn wait_until<'a>(
        &self,
        state: MutexGuard<'a, SlackServerState>,
        deadline: Instant,
    ) -> MutexGuard<'a, SlackServerState> {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.changed.wait_timeout(state, left) {
            Ok((state, _)) => state,
            Err(poisoned) => poisoned.into_inner().0,
        }
    }

    /// Waits as long as the condition holds.
    pub(super) fn wait_while(&self, goes_on: impl Fn(&SlackServerState) -> bool) {
        let mut state = self.lock();
        while goes_on(&state) {
            state = self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    fn set_actual(&self, port: Port) {
        self.lock().actual = port;
        self.changed.notify_all();
    }
}

/// A running server. A drop stops it and waits for its threads.
pub(super) struct SlackServer {
    pub(super) address: SocketAddr,
    pub(super) shared: Arc<SlackServerShared>,
    threads: Vec<JoinHandle<()>>,
}

impl SlackServer {
    /// Starts the server on a free loopback port.
    #[track_caller]
    pub(super) fn start(workspace: SlackWorkspace, tls: Option<Arc<ServerConfig>>) -> SlackServer {
        let socket = bind((Ipv4Addr::LOCALHOST, 0).into()).expect("bind a loopback port");
        socket.listen(BACKLOG).expect("listen on the loopback port");
        let address = socket.local_addr().ok().and_then(|address| address.as_socket());
        let address = address.expect("address of the loopback port");
        let scheme = if tls.is_some() { "wss" } else { "ws" };
        let state = SlackServerState {
            workspace,
            faults: FaultPlan::default(),
            calls: Vec::new(),
            sockets: Sockets::default(),
            wanted: Port::Up,
            actual: Port::Up,
            connections: BTreeMap::new(),
            connected: 0,
        };
        let shared = Arc::new(SlackServerShared {
            socket_base: format!("{scheme}://{address}"),
            state: Mutex::new(state),
            changed: Condvar::new(),
        });
        let acceptor = thread::Builder::new()
            .name("slack-api".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || accept_connections(socket, address, &shared, tls.as_ref())
            })
            .expect("start the thread of the loopback Slack");
        let writer = thread::Builder::new()
            .name("slack-sockets".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || write_to_sockets(&shared)
            })
            .expect("start the thread of the loopback Slack's sockets");
        SlackServer { address, shared, threads: vec![acceptor, writer] }
    }

    /// Changes the port's state and waits for it. Returns `false` if the port was lost.
    pub(super) fn set_port(&self, port: Port) -> bool {
        let before = {
            let mut state = self.shared.lock();
            let before = state.actual;
            state.wanted = port;
            before
        };
        self.shared.changed.notify_all();
        if before == Port::Up && port != Port::Up {
            // Only a connection interrupts `accept`.
            let _ = TcpStream::connect(self.address);
        }
        self.shared.wait_while(|state| state.actual != port && state.actual != Port::Stopped);
        self.shared.lock().actual == port
    }
}

impl Drop for SlackServer {
    fn drop(&mut self) {
        self.set_port(Port::Stopped);
        self.shared.notify();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

const BACKLOG: i32 = 128;

fn bind(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    // Like std: ended connections must not keep the port on Unix; on Windows the option would let
    // other programs bind it.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

fn accept_connections(
    mut socket: Socket,
    address: SocketAddr,
    shared: &Arc<SlackServerShared>,
    tls: Option<&Arc<ServerConfig>>,
) {
    loop {
        let wanted = shared.lock().wanted;
        if wanted != Port::Up {
            drop(socket);
            end_connections(shared);
            if wanted == Port::Stopped {
                return shared.set_actual(Port::Stopped);
            }
            let Some(parked) = bind_again(address) else {
                return shared.set_actual(Port::Stopped);
            };
            shared.set_actual(Port::Down);
            shared.wait_while(|state| state.wanted == Port::Down);
            socket = parked;
            if shared.lock().is_up() {
                if socket.listen(BACKLOG).is_err() {
                    return shared.set_actual(Port::Stopped);
                }
                shared.set_actual(Port::Up);
            }
            continue;
        }
        if let Ok((connection, _)) = socket.accept() {
            begin_connection(connection.into(), shared, tls);
        }
    }
}

/// Binds the port again. The port is free for a moment meanwhile, and some systems notice that
/// late.
fn bind_again(address: SocketAddr) -> Option<Socket> {
    (0..100)
        .find_map(|_| bind(address).inspect_err(|_| thread::sleep(Duration::from_millis(10))).ok())
}

fn end_connections(shared: &SlackServerShared) {
    let connections = std::mem::take(&mut shared.lock().connections);
    for connection in connections.into_values() {
        let _ = connection.shutdown(Shutdown::Both);
    }
}

fn begin_connection(
    socket: TcpStream,
    shared: &Arc<SlackServerShared>,
    tls: Option<&Arc<ServerConfig>>,
) {
    let mut state = shared.lock();
    if !state.is_up() || state.faults.refuses_connection() {
        return reset(socket);
    }
    let Ok(kept) = socket.try_clone() else { return };
    state.connected += 1;
    let number = state.connected;
    state.connections.insert(number, kept);
    drop(state);
    let (shared, tls) = (Arc::clone(shared), tls.cloned());
    thread::spawn(move || {
        // The client may close a connection as often as the server: neither is an error.
        let connection = SocketConnection::new(socket, tls.as_ref());
        let left = connection.and_then(|connection| serve_connection(connection, &shared));
        // The client sees the end only when the last handle is closed.
        shared.lock().connections.remove(&number);
        if let Ok(Some(to_reset)) = left {
            let _ = SockRef::from(to_reset.socket()).set_linger(Some(Duration::ZERO));
        }
    });
}

/// Serves a connection. Returns it if it must be reset.
fn serve_connection(
    connection: SocketConnection,
    shared: &SlackServerShared,
) -> io::Result<Option<SocketConnection>> {
    connection.socket().set_nodelay(true)?;
    let mut reader = BufReader::new(connection);
    while let Some(request) = http_wire::read_request(&mut reader)? {
        if request.path == "/link/" {
            let read_ahead = reader.buffer().to_vec();
            return serve_socket(reader.into_inner(), read_ahead, &request, shared);
        }
        let ending = exchange(shared, &request);
        let connection = reader.get_mut();
        match ending {
            Ending::Respond(bytes) => {
                connection.write_all(&bytes)?;
                connection.flush()?;
                if !request.keep_alive {
                    break;
                }
            }
            Ending::Cut(bytes) => {
                connection.write_all(&bytes)?;
                connection.flush()?;
                return Ok(None);
            }
            Ending::Reset => return Ok(Some(reader.into_inner())),
            Ending::Hang => {
                let mut ignored = [0; 1024];
                while connection.read(&mut ignored)? > 0 {}
                return Ok(None);
            }
        }
    }
    reader.get_mut().finish();
    Ok(None)
}

fn reset(socket: TcpStream) {
    let _ = SockRef::from(&socket).set_linger(Some(Duration::ZERO));
}
