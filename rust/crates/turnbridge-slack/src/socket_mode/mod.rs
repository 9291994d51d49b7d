//! Keeps a Socket Mode connection up: Slack sends events over a WebSocket that this process opens,
//! so this machine opens no port.
//!
//! `supervisor` decides when to open and close, without reading a clock; one thread runs it. Each
//! socket has a thread (`reader`) that gets its address, connects (`dial`), reads, passes every
//! envelope to the caller's callback for storing, and acks. Slack delivers at least once, and no
//! code here interprets or deduplicates envelopes: the callback has to.

mod dial;
mod envelope;
mod event;
mod reader;
mod supervisor;
mod timing;
mod wire;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::call_error::{CallError, ConnectObstacle};
use crate::token::Token;
use crate::web_api::WebApi;
use reader::{Control, EnvelopeHandler, SocketReader};
use supervisor::{ClockReading, SocketChange, SocketId, SocketStep, Supervisor};

pub use envelope::Envelope;
pub use event::{SocketEvent, SocketLoss, SocketWarning};
pub use timing::Timing;

/// The stack of a thread: enough for a TLS handshake of an unoptimised build. Only the used part
/// takes memory.
const STACK_BYTES: usize = 512 << 10;

/// The caller's result for an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accept {
    /// It survives a crash, so Slack may forget it.
    Kept,
    /// Slack should send it again.
    NotKept,
}

/// A connection that is kept up until it is stopped or dropped.
pub struct SocketMode {
    orders: Sender<SocketCommand>,
    thread: Option<JoinHandle<()>>,
}

enum SocketCommand {
    Change(SocketChange),
    /// The socket's thread has ended.
    Over(SocketId),
    Stop,
}

impl SocketMode {
    /// Starts the connection. `keep` runs in the thread of a socket, before the ack; Slack waits
    /// three seconds for the ack.
    pub fn start(
        api: Arc<WebApi>,
        app_token: Token,
        timing: Timing,
        keep: impl FnMut(&Envelope<'_>) -> Accept + Send + 'static,
    ) -> io::Result<(SocketMode, Receiver<SocketEvent>)> {
        let (sender, receiver) = mpsc::channel();
        let tell = move |event| drop(sender.send(event));
        Ok((SocketMode::start_telling(api, app_token, timing, keep, tell)?, receiver))
    }

    /// Starts the connection for a caller that has a channel already. `tell` must not block.
    pub fn start_telling(
        api: Arc<WebApi>,
        app_token: Token,
        timing: Timing,
        keep: impl FnMut(&Envelope<'_>) -> Accept + Send + 'static,
        tell: impl FnMut(SocketEvent) + Send + 'static,
    ) -> io::Result<SocketMode> {
        let (orders, incoming) = mpsc::channel();
        let runner = SocketRunner {
            supervisor: Supervisor::new(timing.clone(), Instant::now()),
            opener: SocketOpener {
                api,
                app_token,
                timing,
                keep: Arc::new(Mutex::new(Box::new(keep))),
                orders: orders.clone(),
            },
            tell: Box::new(tell),
            sockets: BTreeMap::new(),
        };
        let thread = spawn("slack-sockets", move || runner.run(&incoming))?;
        Ok(SocketMode { orders, thread: Some(thread) })
    }

    /// Retries after a fatal error. Otherwise it ends the backoff, unless Slack asked for the wait.
    pub fn retry(&self) {
        let _ = self.orders.send(SocketCommand::Change(SocketChange::Retry));
    }

    /// Closes the open sockets and waits for their end, for less than a second. When it returns,
    /// `keep` is not running and will not run again, unless one call of it took longer than that.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let _ = self.orders.send(SocketCommand::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for SocketMode {
    fn drop(&mut self) {
        self.end();
    }
}

struct SocketRunner {
    supervisor: Supervisor,
    opener: SocketOpener,
    tell: Box<dyn FnMut(SocketEvent) + Send>,
    sockets: BTreeMap<SocketId, (Arc<Control>, JoinHandle<()>)>,
}

impl SocketRunner {
    fn run(mut self, incoming: &Receiver<SocketCommand>) {
        let steps = self.supervisor.tick(Instant::now());
        self.take_steps(steps);
        loop {
            // If there is no time to wait for, an order may still come.
            let wake = self.supervisor.next_wake();
            let wait = wake.map_or(Duration::from_secs(3600), |wake| {
                wake.saturating_duration_since(Instant::now())
            });
            let steps = match incoming.recv_timeout(wait) {
                Ok(SocketCommand::Change(change)) => {
                    self.supervisor.handle(change, ClockReading::now(), jitter())
                }
                Ok(SocketCommand::Over(id)) => {
                    self.join(id);
                    Vec::new()
                }
                Err(RecvTimeoutError::Timeout) => self.supervisor.tick(Instant::now()),
                Ok(SocketCommand::Stop) | Err(RecvTimeoutError::Disconnected) => break,
            };
            self.take_steps(steps);
        }
        self.stop(incoming);
    }

    fn take_steps(&mut self, steps: Vec<SocketStep>) {
        for step in steps {
            match step {
                SocketStep::Report(event) => (self.tell)(event),
                SocketStep::Close(id) => {
                    if let Some((control, _)) = self.sockets.get(&id) {
                        control.close();
                    }
                }
                SocketStep::Open(id) => match self.opener.open(id) {
                    Ok(socket) => drop(self.sockets.insert(id, socket)),
                    Err(error) => {
                        let cause =
                            ConnectObstacle::Connection(format!("no thread for it: {error}"));
                        let error = CallError::NotSent { cause };
                        let change = SocketCommand::Change(SocketChange::Failed { id, error });
                        let _ = self.opener.orders.send(change);
                    }
                },
            }
        }
    }

    fn join(&mut self, id: SocketId) {
        if let Some((_, thread)) = self.sockets.remove(&id) {
            let _ = thread.join();
        }
    }

    fn stop(mut self, incoming: &Receiver<SocketCommand>) {
        let deadline = Instant::now() + self.opener.timing.stop_within;
        for (control, _) in self.sockets.values() {
            control.close();
            if !control.is_connected() {
                control.cut();
            }
        }
        // A thread that still waits for an address or a name cannot be interrupted, but does not
        // use the result.
        while self.sockets.values().any(|(control, _)| control.is_connected()) {
            match incoming.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(SocketCommand::Over(id)) => self.join(id),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        self.sockets.values().for_each(|(control, _)| control.cut());
    }
}

/// The data that the thread of a socket needs.
#[derive(Clone)]
struct SocketOpener {
    api: Arc<WebApi>,
    app_token: Token,
    timing: Timing,
    keep: Arc<EnvelopeHandler>,
    orders: Sender<SocketCommand>,
}

impl SocketOpener {
    fn open(&self, id: SocketId) -> io::Result<(Arc<Control>, JoinHandle<()>)> {
        let control = Arc::new(Control::default());
        let thread = {
            let (opener, control) = (self.clone(), Arc::clone(&control));
            spawn(&format!("slack-socket-{id}"), move || opener.serve(id, control))?
        };
        Ok((control, thread))
    }

    fn serve(self, id: SocketId, control: Arc<Control>) {
        // This also reports the end if the caller's callback panics.
        let _over = EndReporter(id, self.orders.clone());
        let on_connection = {
            let control = Arc::clone(&control);
            Arc::new(move |connection| control.watch(connection))
        };
        let opened = dial::open_web_socket(&self.api, &self.app_token, &self.timing, on_connection);
        match opened {
            Err(error) => {
                drop(self.orders.send(SocketCommand::Change(SocketChange::Failed { id, error })))
            }
            Ok(web_socket) if control.connected() => {
                let orders = self.orders.clone();
                let change =
                    Arc::new(move |change| drop(orders.send(SocketCommand::Change(change))));
                let (timing, keep) = (self.timing, self.keep);
                SocketReader { id, web_socket, control, timing, keep, change }.run();
            }
            Ok(_) => {}
        }
    }
}

struct EndReporter(SocketId, Sender<SocketCommand>);

impl Drop for EndReporter {
    fn drop(&mut self) {
        if thread::panicking() {
            let heard = ClockReading::now();
            let loss = SocketLoss::Broken { cause: "a panic in its thread".to_owned() };
            let _ =
                self.1.send(SocketCommand::Change(SocketChange::Ended { id: self.0, loss, heard }));
        }
        let _ = self.1.send(SocketCommand::Over(self.0));
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES).spawn(work)
}

/// Returns a number between 0 and 1, different for every program and every call.
fn jitter() -> f64 {
    (RandomState::new().hash_one(Instant::now()) >> 11) as f64 / (1_u64 << 53) as f64
}
