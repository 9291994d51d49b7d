//! The port behind a loopback model API: a thread that accepts, a thread for each connection, and what they share.
//! Which paths there are and how an answer looks is each API's own matter.

use std::io::{self, BufReader};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use crate::http_wire::{self, Request};
use crate::reply::Script;
use crate::wait::wait_until;

/// Answers one request of a connection.
pub(crate) type Answer = fn(&mut TcpStream, &Request, &Shared) -> io::Result<()>;

/// Stopped when dropped.
pub(crate) struct ModelServer {
    pub(crate) address: SocketAddr,
    pub(crate) shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) script: Script,
    /// The bodies of the requests that the script answered.
    pub(crate) requests: Vec<Value>,
    /// Method and path of all that was asked and not found.
    pub(crate) strays: Vec<String>,
    connections: Vec<TcpStream>,
    stopped: bool,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic in one connection's thread must not hide the test's own message behind a poisoned lock.
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Says that there is nothing at this path, and remembers that it was asked for.
    pub(crate) fn refuse(&self, writer: &mut TcpStream, request: &Request) -> io::Result<()> {
        self.lock().strays.push(format!("{} {}", request.method, request.path));
        http_wire::write_response(writer, 404, b"")
    }
}

impl ModelServer {
    #[track_caller]
    pub(crate) fn start(name: &str, script: Script, answer: Answer) -> ModelServer {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind a loopback port");
        let address = listener.local_addr().expect("address of the loopback port");
        let shared = Arc::new(Shared::default());
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

    pub(crate) fn requests(&self) -> Vec<Value> {
        self.shared.lock().requests.clone()
    }

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
        // `accept` cannot be interrupted by anything but a connection.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

fn accept_connections(listener: &TcpListener, shared: &Arc<Shared>, answer: Answer) {
    for connection in listener.incoming().flatten() {
        let mut state = shared.lock();
        if state.stopped {
            return;
        }
        let Ok(kept) = connection.try_clone() else { continue };
        state.connections.push(kept);
        drop(state);
        let shared = Arc::clone(shared);
        // A connection ends by the client leaving (Esc, a kill) as often as by its own end: neither is a fault.
        thread::spawn(move || serve_connection(connection, &shared, answer));
    }
}

fn serve_connection(mut connection: TcpStream, shared: &Shared, answer: Answer) -> io::Result<()> {
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
