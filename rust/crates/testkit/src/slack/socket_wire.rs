//! One WebSocket of the loopback Slack, written to by one thread and read by another.
//! TLS cannot be cut in two halves, so both lock it. The reader waits for bytes without the lock and takes what is
//! there without waiting.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::frame::Frame;
use tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tungstenite::{Error, Message, WebSocket};

use super::deliveries::Shape;
use super::tls::Connection;
use crate::http_wire::Request;

/// A client that reads nothing must not hold up the others for ever.
const WRITE_PATIENCE: Duration = Duration::from_secs(5);
const READ_PATIENCE: Duration = Duration::from_millis(100);

pub(super) struct Line {
    /// `None` when it is over.
    web_socket: Mutex<Option<WebSocket<Connection>>>,
    socket: TcpStream,
}

/// What a client sent, and why there will be no more of it.
pub(super) struct Received {
    pub(super) messages: Vec<Message>,
    pub(super) end: Option<Error>,
}

impl Line {
    /// `read_ahead` is what came behind the request.
    pub(super) fn new(connection: Connection, read_ahead: Vec<u8>) -> io::Result<Line> {
        let socket = connection.socket().try_clone()?;
        socket.set_write_timeout(Some(WRITE_PATIENCE))?;
        // Not every system wakes a reader when its side is shut down.
        socket.set_read_timeout(Some(READ_PATIENCE))?;
        let config = WebSocketConfig::default().read_buffer_size(8 << 10).write_buffer_size(0);
        let web_socket =
            WebSocket::from_partially_read(connection, read_ahead, Role::Server, Some(config));
        Ok(Line { web_socket: Mutex::new(Some(web_socket)), socket })
    }

    fn lock(&self) -> MutexGuard<'_, Option<WebSocket<Connection>>> {
        self.web_socket.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A failure shows in what the reader gets.
    pub(super) fn send(&self, messages: impl IntoIterator<Item = Message>) {
        if let Some(web_socket) = self.lock().as_mut() {
            let _ = messages.into_iter().try_for_each(|message| web_socket.send(message));
        }
    }

    /// The same with a message that is made while nobody else can write.
    pub(super) fn send_made(&self, make: impl FnOnce() -> Option<Message>) {
        if let Some(web_socket) = self.lock().as_mut()
            && let Some(message) = make()
        {
            let _ = web_socket.send(message);
        }
    }

    pub(super) fn close(&self, code: u16) {
        if let Some(web_socket) = self.lock().as_mut() {
            let frame = CloseFrame { code: CloseCode::from(code), reason: "".into() };
            let _ = web_socket.close(Some(frame));
        }
    }

    /// The client sees the end of the stream; what it sends goes nowhere.
    pub(super) fn finish_writing(&self) {
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    /// Sends nothing: only our own reader notices.
    pub(super) fn wake_reader(&self) {
        let _ = self.socket.shutdown(Shutdown::Read);
    }

    /// Waits until there is something to receive, or the end, or for a while.
    pub(super) fn wait(&self) {
        let _ = self.socket.peek(&mut [0]);
    }

    pub(super) fn receive(&self) -> Received {
        let mut received = Received { messages: Vec::new(), end: None };
        let mut guard = self.lock();
        let Some(web_socket) = guard.as_mut() else { return received };
        let _ = self.socket.set_nonblocking(true);
        loop {
            match web_socket.read() {
                Ok(message) => received.messages.push(message),
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => {
                    received.end = Some(error);
                    break;
                }
            }
        }
        let _ = self.socket.set_nonblocking(false);
        received
    }

    /// The connection under it, which is then no WebSocket any more.
    pub(super) fn take(&self) -> Option<Connection> {
        self.lock().take().map(WebSocket::into_inner)
    }
}

/// The answer to a request for a WebSocket; `None` when it is no proper one.
pub(super) fn accept_upgrade(request: &Request) -> Option<String> {
    let says = |name: &str, wanted: &str| {
        let value = request.header(name).unwrap_or_default();
        value.split(',').any(|word| word.trim().eq_ignore_ascii_case(wanted))
    };
    let is_proper = request.method == "GET"
        && says("upgrade", "websocket")
        && says("connection", "upgrade")
        && says("sec-websocket-version", "13");
    let key = request.header("sec-websocket-key").filter(|_| is_proper)?;
    let accept = derive_accept_key(key.as_bytes());
    Some(format!(
        "HTTP/1.1 101 -\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: {accept}\r\n\r\n"
    ))
}

/// One text as the frames that the shape asks for.
pub(super) fn shaped(text: String, shape: Shape) -> Vec<Message> {
    match shape {
        Shape::Whole => vec![Message::text(text)],
        Shape::Twice => vec![Message::text(text.clone()), Message::text(text)],
        Shape::Fragments(count) => {
            let bytes = text.into_bytes();
            let parts: Vec<&[u8]> = bytes.chunks(bytes.len().div_ceil(count.max(1))).collect();
            let frame = |(index, part): (usize, &&[u8])| {
                let kind = if index == 0 { Data::Text } else { Data::Continue };
                let is_last = index + 1 == parts.len();
                Message::Frame(Frame::message(part.to_vec(), OpCode::Data(kind), is_last))
            };
            parts.iter().enumerate().map(frame).collect()
        }
    }
}
