//! Reads one socket until its end, in a separate thread; no other thread writes to it. It reads an
//! envelope, lets the caller store it, then acks it. An envelope that could not be stored is not
//! acked, so Slack sends it again.

use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use tungstenite::error::ProtocolError;
use tungstenite::protocol::CloseFrame;
use tungstenite::protocol::WebSocket;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Error, Message};
use ureq::unversioned::transport::ShutdownHandle;

use super::Accept;
use super::envelope::{Envelope, Incoming, format_ack, parse_incoming};
use super::event::SocketLoss;
use super::supervisor::{ClockReading, SocketChange, SocketId};
use super::timing::Timing;
use super::wire::Wire;

/// The callback that stores an envelope. It runs in the thread of the socket; while two are open
/// they wait for each other.
pub(crate) type EnvelopeHandler = Mutex<Box<dyn FnMut(&Envelope<'_>) -> Accept + Send>>;

/// The handle by which the owner controls a socket's thread.
#[derive(Default)]
pub(crate) struct Control(Mutex<ControlState>);

#[derive(Default)]
struct ControlState {
    is_closing: bool,
    is_connected: bool,
    connection: Option<Weak<dyn ShutdownHandle>>,
}

impl Control {
    fn lock(&self) -> MutexGuard<'_, ControlState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the socket to close with a handshake at its next check.
    pub fn close(&self) {
        self.lock().is_closing = true;
    }

    /// Shuts down the network connection, whatever the thread does with it.
    pub fn cut(&self) {
        let connection = self.lock().connection.take();
        if let Some(connection) = connection.and_then(|connection| connection.upgrade()) {
            connection.shutdown();
        }
    }

    pub fn is_connected(&self) -> bool {
        self.lock().is_connected
    }

    fn is_closing(&self) -> bool {
        self.lock().is_closing
    }

    /// Records a TCP connection; called for every one on the way. Returns an error if the socket is
    /// to close.
    pub fn watch(&self, connection: Weak<dyn ShutdownHandle>) -> Result<(), ureq::Error> {
        let mut state = self.lock();
        if state.is_closing {
            return Err(ureq::Error::ConnectionFailed);
        }
        state.connection = Some(connection);
        Ok(())
    }

    /// Marks the socket as connected. Returns `false` if it is not wanted any more.
    pub fn connected(&self) -> bool {
        let mut state = self.lock();
        state.is_connected = true;
        !state.is_closing
    }
}

pub(crate) struct SocketReader {
    pub id: SocketId,
    pub web_socket: WebSocket<Wire>,
    pub control: Arc<Control>,
    pub timing: Timing,
    pub keep: Arc<EnvelopeHandler>,
    pub change: Arc<dyn Fn(SocketChange) + Send + Sync>,
}

impl SocketReader {
    /// Reads until the end, and reports why the socket ended.
    pub fn run(mut self) {
        let loss = match self.read_to_the_end() {
            Ok(()) => SocketLoss::Closed { code: None },
            Err(loss) => loss,
        };
        let heard = self.web_socket.get_ref().heard;
        (self.change)(SocketChange::Ended { id: self.id, loss, heard });
    }

    fn read_to_the_end(&mut self) -> Result<(), SocketLoss> {
        let started = Instant::now();
        let mut has_hello = false;
        let mut pinged = started;
        let mut ticked = ClockReading::now();
        while !self.control.is_closing() {
            match self.web_socket.read() {
                Ok(Message::Text(text)) => has_hello |= self.handle(&text)?,
                Ok(Message::Close(frame)) => {
                    let _ = self.web_socket.flush();
                    return Err(SocketLoss::Closed { code: frame.map(|frame| frame.code.into()) });
                }
                // A ping's pong leaves with the next read. The other messages need no action.
                Ok(_) => {}
                Err(Error::Io(error)) if is_wait(&error) => {
                    let now = ClockReading::now();
                    if now.has_slept_since(ticked, self.timing.sleep_gap) {
                        return Err(SocketLoss::Slept);
                    }
                    ticked = now;
                    let heard = self.web_socket.get_ref().heard.at;
                    if now.at.saturating_duration_since(heard) >= self.timing.dead_after {
                        return Err(SocketLoss::Silent);
                    }
                }
                Err(error) => return Err(SocketLoss::Broken { cause: describe(&error) }),
            }
            let now = Instant::now();
            if !has_hello && now.saturating_duration_since(started) >= self.timing.hello_within {
                return Err(SocketLoss::NoHello);
            }
            if now.saturating_duration_since(pinged) >= self.timing.ping_every {
                pinged = now;
                let payload = format!("turnbridge {}", self.id);
                let sent = self.web_socket.send(Message::Ping(payload.into()));
                sent.map_err(|error| SocketLoss::Broken { cause: describe(&error) })?;
            }
        }
        self.say_goodbye();
        Ok(())
    }

    /// Returns `true` for a hello.
    fn handle(&mut self, text: &str) -> Result<bool, SocketLoss> {
        match parse_incoming(text) {
            Incoming::Hello { num_connections, app_id } => {
                (self.change)(SocketChange::Hello { id: self.id, num_connections, app_id });
                return Ok(true);
            }
            Incoming::Disconnect { reason } => {
                (self.change)(SocketChange::Disconnect { id: self.id, reason });
            }
            Incoming::Envelope(envelope) => {
                let accept = (self.keep.lock().unwrap_or_else(PoisonError::into_inner))(&envelope);
                if accept == Accept::Kept {
                    let ack = Message::text(format_ack(&envelope.id));
                    let sent = self.web_socket.send(ack);
                    sent.map_err(|error| SocketLoss::NotAcked { cause: describe(&error) })?;
                }
            }
            Incoming::Ignored => {}
        }
        Ok(false)
    }

    /// Makes the closing handshake, as far as Slack answers within one tick.
    fn say_goodbye(&mut self) {
        let frame = CloseFrame { code: CloseCode::Normal, reason: "".into() };
        if self.web_socket.close(Some(frame)).is_err() {
            return;
        }
        let deadline = Instant::now() + self.timing.tick;
        // Messages that come now cannot be acked any more, so Slack sends them again to another
        // socket.
        while Instant::now() < deadline {
            match self.web_socket.read() {
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }
}

fn is_wait(error: &io::Error) -> bool {
    error.kind() == ErrorKind::WouldBlock
}

fn describe(error: &Error) -> String {
    match error {
        // The end of the connection, over TLS and without it.
        Error::Io(cause) if cause.kind() == ErrorKind::UnexpectedEof => "it ended".to_owned(),
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => "it ended".to_owned(),
        Error::Io(cause) => cause.to_string(),
        other => other.to_string(),
    }
}
