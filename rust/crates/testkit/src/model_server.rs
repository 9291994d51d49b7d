//! Runs the server of a loopback model API: a thread that accepts, a thread per connection, and
//! their shared state. Each API (`messages_api.rs`, `responses_api.rs`) defines its own paths and
//! responses.

use std::io::{self, BufReader};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use crate::http_wire::{self, HttpRequest};
use crate::reply::Script;
use crate::wait::wait_until;

/// The function that responds to one request of a connection.
pub(crate) type RequestHandler =
    fn(&mut TcpStream, &HttpRequest, &ModelServerShared) -> io::Result<()>;

/// A running server. A drop stops it and ends its connections.
pub(crate) struct ModelServer {
    pub(crate) address: SocketAddr,
    pub(crate) shared: Arc<ModelServerShared>,
    acceptor: Option<JoinHandle<()>>,
}

/// The state that all connections share, behind a lock.
#[derive(Default)]
pub(crate) struct ModelServerShared {
    state: Mutex<ModelServerState>,
}

/// The script of a server and the records of its requests.
#[derive(Default)]
pub(crate) struct ModelServerState {
    pub(crate) script: Script,
    /// The bodies of the requests that got a scripted reply.
    pub(crate) requests: Vec<Value>,
    /// The method and path of all refused requests.
    pub(crate) strays: Vec<String>,
    connections: Vec<TcpStream>,
    stopped: bool,
}

impl ModelServerShared {
    /// Locks the state, even if a thread has panicked while it held the lock.
    pub(crate) fn lock(&self) -> MutexGuard<'_, ModelServerState> {
        // A panic in one connection's thread must not hide the test's own message behind a poisoned
        // lock.
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Responds with 404, and records the request.
    pub(crate) fn refuse(&self, writer: &mut TcpStream, request: &HttpRequest) -> io::Result<()> {
        self.lock().strays.push(format!("{} {}", request.method, request.path));
        http_wire::write_response(writer, 404, b"")
    }
}

impl ModelServer {
    /// Starts the server on a free loopback port. `name` is the name of its thread.
    #[track_caller]
    pub(crate) fn start(name: &str, script: Script, answer: RequestHandler) -> ModelServer {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind a loopback port");
        let address = listener.local_addr().expect("address of the loopback port");
        let shared = Arc::new(ModelServerShared::default());
        shared.lock().script = script;
        let acceptor = thread::Builder::new()
            .name(name.to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || accept_connections(&listener, &shared, answer)
            })
            .expect("start the thread of the loopback model API");
        ModelServer { address, shared, acceptor: Some(acceptor) }
    }

    /// Returns the bodies of the requests that got a scripted reply, in the order of receipt.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.shared.lock().requests.clone()
    }

    /// Waits until there are `count` such requests, and returns all of them.
    #[track_caller]
    pub(crate) fn wait_for_requests(&self, count: usize, timeout: Duration) -> Vec<Value> {
        wait_until(timeout, &format!("model request number {count}"), || {
            let requests = self.requests();
            (requests.len() >= count).then_some(requests)
        })
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        let connections = {
            let mut state = self.shared.lock();
            state.stopped = true;
            std::mem::take(&mut state.connections)
        };
        for connection in connections {
            let _ = connection.shutdown(Shutdown::Both);
        }
        // Only a connection interrupts `accept`.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

fn accept_connections(
    listener: &TcpListener,
    shared: &Arc<ModelServerShared>,
    answer: RequestHandler,
) {
    for connection in listener.incoming().flatten() {
        let mut state = shared.lock();
        if state.stopped {
            return;
        }
        let Ok(kept) = connection.try_clone() else { continue };
        state.connections.push(kept);
        drop(state);
        let shared = Arc::clone(shared);
        // The client may close a connection (Esc, a kill) as often as the server: neither is an
        // error.
        thread::spawn(move || serve_connection(connection, &shared, answer));
    }
}

fn serve_connection(
    mut connection: TcpStream,
    shared: &ModelServerShared,
    answer: RequestHandler,
) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut reader = BufReader::new(connection.try_clone()?);
    while let Some(request) = http_wire::read_request(&mut reader)? {
        answer(&mut connection, &request, shared)?;
        if !request.keep_alive {
            break;
        }
    }
    connection.shutdown(Shutdown::Both)
}
