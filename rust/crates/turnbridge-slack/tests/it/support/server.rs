//! Serves scripted replies over raw sockets, and can fail as networks do. It plays one reply for
//! each request, in order, over as many connections as the client makes.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

pub enum ServerReply {
    /// A whole answer, as it is sent.
    Raw(String),
    /// The same, then the connection is closed.
    RawThenClose(String),
    ResetBeforeReading,
    /// The whole request has arrived, except for one unread byte, which makes the close a reset.
    ResetAfterReading,
    CloseAfterReading,
    Silence(Duration),
}

impl ServerReply {
    pub fn json(body: &str) -> ServerReply {
        ServerReply::with(200, "", body)
    }

    /// `headers` are whole lines.
    pub fn with(status: u16, headers: &str, body: &str) -> ServerReply {
        let length = body.len();
        ServerReply::Raw(format!(
            "HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        ))
    }
}

pub struct ScriptedServer {
    pub port: u16,
    requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
}

impl ScriptedServer {
    pub fn playing(replies: impl IntoIterator<Item = ServerReply>) -> ScriptedServer {
        ScriptedServer::start(replies, None)
    }

    pub fn playing_with_tls(
        replies: impl IntoIterator<Item = ServerReply>,
        config: Arc<ServerConfig>,
    ) -> ScriptedServer {
        ScriptedServer::start(replies, Some(config))
    }

    fn start(
        replies: impl IntoIterator<Item = ServerReply>,
        tls: Option<Arc<ServerConfig>>,
    ) -> ScriptedServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = ScriptedServer {
            port: listener.local_addr().unwrap().port(),
            requests: Arc::default(),
            connections: Arc::default(),
        };
        let replies: Arc<Mutex<VecDeque<ServerReply>>> =
            Arc::new(Mutex::new(replies.into_iter().collect()));
        let (requests, connections) = (server.requests.clone(), server.connections.clone());
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                connections.fetch_add(1, Ordering::SeqCst);
                let (replies, requests, tls) = (replies.clone(), requests.clone(), tls.clone());
                thread::spawn(move || match tls {
                    None => play(&mut stream, &replies, &requests),
                    Some(config) => {
                        let connection = ServerConnection::new(config).unwrap();
                        play(&mut StreamOwned::new(connection, stream), &replies, &requests);
                    }
                });
            }
        });
        server
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/api/", self.port)
    }

    /// Returns head and body of each request, as they came.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

trait Socket: Read + Write {
    /// Returns `false` at the end of the connection, if that is visible without reading.
    fn wait_for_bytes(&mut self) -> bool {
        true
    }
}

impl Socket for TcpStream {
    fn wait_for_bytes(&mut self) -> bool {
        self.peek(&mut [0]).is_ok_and(|count| count > 0)
    }
}

impl Socket for StreamOwned<ServerConnection, TcpStream> {}

fn play(
    stream: &mut impl Socket,
    replies: &Mutex<VecDeque<ServerReply>>,
    requests: &Mutex<Vec<String>>,
) {
    // A connection that the client has left must not take the next one's reply.
    while stream.wait_for_bytes() {
        let next = replies.lock().unwrap().front().map(std::mem::discriminant);
        if next == Some(std::mem::discriminant(&ServerReply::ResetBeforeReading)) {
            replies.lock().unwrap().pop_front();
            return;
        }
        let unread = next == Some(std::mem::discriminant(&ServerReply::ResetAfterReading));
        let Some(request) = read_request(stream, usize::from(unread)) else { return };
        requests.lock().unwrap().push(request);
        let Some(reply) = replies.lock().unwrap().pop_front() else { return };
        match reply {
            ServerReply::Raw(answer) => {
                let _ = stream.write_all(answer.as_bytes()).and_then(|()| stream.flush());
            }
            ServerReply::RawThenClose(answer) => {
                let _ = stream.write_all(answer.as_bytes()).and_then(|()| stream.flush());
                return;
            }
            ServerReply::ResetAfterReading => {
                stream.wait_for_bytes();
                return;
            }
            ServerReply::Silence(duration) => return thread::sleep(duration),
            ServerReply::CloseAfterReading | ServerReply::ResetBeforeReading => return,
        }
    }
}

/// Returns `None` at the end of the connection.
pub fn read_request(stream: &mut impl Read, leave_unread: usize) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
    });
    let mut body = vec![0; length.unwrap_or_default().saturating_sub(leave_unread)];
    stream.read_exact(&mut body).ok()?;
    Some(head + &String::from_utf8(body).unwrap())
}
