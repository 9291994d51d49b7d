//! Writes and reads one WebSocket from two threads. TLS cannot be split into two halves, so both
//! threads lock it. The reader waits for bytes without the lock and then reads without blocking.
//! Also checks the upgrade request.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::frame::Frame;
use tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tungstenite::{Error, Message, WebSocket};

use super::deliveries::EnvelopeShape;
use super::tls::SocketConnection;
use crate::http_wire::HttpRequest;

/// The write timeout: a client that does not read must not block the others.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
const READ_TIMEOUT: Duration = Duration::from_millis(100);

/// A WebSocket that one thread writes and another one reads.
pub(super) struct SocketWire {
    /// The WebSocket, or `None` after its end.
    web_socket: Mutex<Option<WebSocket<SocketConnection>>>,
    socket: TcpStream,
}

/// The messages of a client, and the reason of the end if there is one.
pub(super) struct ReceivedMessages {
    pub(super) messages: Vec<Message>,
    pub(super) end: Option<Error>,
}

impl SocketWire {
    /// Takes over a connection after its upgrade. `read_ahead` contains the bytes after the
    /// request.
    pub(super) fn new(connection: SocketConnection, read_ahead: Vec<u8>) -> io::Result<SocketWire> {
        let socket = connection.socket().try_clone()?;
        socket.set_write_timeout(Some(WRITE_TIMEOUT))?;
        // Not every system wakes a reader whose side is shut down.
        socket.set_read_timeout(Some(READ_TIMEOUT))?;
        let config = WebSocketConfig::default().read_buffer_size(8 << 10).write_buffer_size(0);
        let web_socket =
            WebSocket::from_partially_read(connection, read_ahead, Role::Server, Some(config));
        Ok(SocketWire { web_socket: Mutex::new(Some(web_socket)), socket })
    }

    fn lock(&self) -> MutexGuard<'_, Option<WebSocket<SocketConnection>>> {
        self.web_socket.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends messages. An error is not returned here: the reader gets it too.
    pub(super) fn send(&self, messages: impl IntoIterator<Item = Message>) {
        if let Some(web_socket) = self.lock().as_mut() {
            let _ = messages.into_iter().try_for_each(|message| web_socket.send(message));
        }
    }

    /// Sends a message that is made while no other thread can write.
    pub(super) fn send_made(&self, make: impl FnOnce() -> Option<Message>) {
        if let Some(web_socket) = self.lock().as_mut()
            && let Some(message) = make()
        {
            let _ = web_socket.send(message);
        }
    }

    /// Sends a close frame with this code.
    pub(super) fn close(&self, code: u16) {
        if let Some(web_socket) = self.lock().as_mut() {
            let frame = CloseFrame { code: CloseCode::from(code), reason: "".into() };
            let _ = web_socket.close(Some(frame));
        }
    }

    /// Ends the stream to the client; later writes are lost.
    pub(super) fn finish_writing(&self) {
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    /// Wakes the server's own reader, without sending anything.
    pub(super) fn wake_reader(&self) {
        let _ = self.socket.shutdown(Shutdown::Read);
    }

    /// Waits until there are bytes, the end, or a timeout.
    pub(super) fn wait(&self) {
        let _ = self.socket.peek(&mut [0]);
    }

    /// Reads all messages that have arrived, without waiting for more.
    pub(super) fn receive(&self) -> ReceivedMessages {
        let mut received = ReceivedMessages { messages: Vec::new(), end: None };
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

    /// Takes the connection out, which then is no WebSocket any more.
    pub(super) fn take_connection(&self) -> Option<SocketConnection> {
        self.lock().take().map(WebSocket::into_inner)
    }
}

/// Returns the response to a WebSocket request, or `None` if the request is invalid.
pub(super) fn accept_upgrade(request: &HttpRequest) -> Option<String> {
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

/// Returns the frames by which a text is sent in this shape.
pub(super) fn shaped(text: String, shape: EnvelopeShape) -> Vec<Message> {
    match shape {
        EnvelopeShape::Whole => vec![Message::text(text)],
        EnvelopeShape::Twice => vec![Message::text(text.clone()), Message::text(text)],
        EnvelopeShape::Fragments(count) => {
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
