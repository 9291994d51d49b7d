//! Implements the part of HTTP/1.1 that the board needs: reads one whole request per connection
//! within limits, and writes its response. It supports neither chunked bodies nor keep-alive,
//! because a new local connection costs little.

use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// The limit of a head. No browser sends a longer one.
pub const LONGEST_HEAD: usize = 16 << 10;
pub const LONGEST_BODY: usize = 256 << 10;
const MOST_HEADERS: usize = 64;

#[derive(Debug, PartialEq, Eq)]
pub struct RequestHead {
    pub method: String,
    pub path: String,
    /// The text after the `?`, unparsed.
    pub query: String,
    headers: Vec<(String, String)>,
}

/// The reason why there is no request.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// The client has disconnected: no response is possible.
    Gone,
    Status(u16),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Refused {
        match error.kind() {
            // The kind depends on the operating system.
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Refused::Status(408),
            _ => Refused::Gone,
        }
    }
}

impl RequestHead {
    /// Returns a header's only value. Returns `None` also for several values, because two parsers
    /// might use different ones.
    pub fn only(&self, name: &str) -> Option<&str> {
        let mut values = self.values(name);
        values.next().filter(|_| values.next().is_none())
    }

    pub fn has(&self, name: &str) -> bool {
        self.values(name).next().is_some()
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        let is_it = move |header: &&(String, String)| header.0.eq_ignore_ascii_case(name);
        self.headers.iter().filter(is_it).map(|(_, value)| value.as_str())
    }

    /// Returns a number in the query.
    pub fn number(&self, name: &str) -> Option<usize> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(key, _)| *key == name).find_map(|(_, value)| value.parse().ok())
    }
}

/// Reads the head. Also returns the part of the body that was read with it.
pub fn read_head(input: &mut impl Read) -> Result<(RequestHead, Vec<u8>), Refused> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4_096];
    loop {
        let count = match input.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // A browser opened this connection ahead of need.
            Err(_) if bytes.is_empty() => return Err(Refused::Gone),
            count => count?,
        };
        if count == 0 {
            return Err(if bytes.is_empty() { Refused::Gone } else { Refused::Status(400) });
        }
        bytes.extend_from_slice(&chunk[..count]);
        if let Some((head, length)) = parse_head(&bytes)? {
            bytes.drain(..length);
            return Ok((head, bytes));
        }
        if bytes.len() > LONGEST_HEAD {
            return Err(Refused::Status(431));
        }
    }
}

/// Parses the head. Returns `None` if it is incomplete.
fn parse_head(bytes: &[u8]) -> Result<Option<(RequestHead, usize)>, Refused> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length > LONGEST_HEAD => {
            return Err(Refused::Status(431));
        }
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Refused::Status(431)),
        Err(_) => return Err(Refused::Status(400)),
    };
    let target = request.path.filter(|target| target.starts_with('/'));
    let (Some(method), Some(target)) = (request.method, target) else {
        return Err(Refused::Status(400));
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let text = |header: &httparse::Header<'_>| {
        (header.name.to_owned(), String::from_utf8_lossy(header.value).trim().to_owned())
    };
    let head = RequestHead {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: request.headers.iter().map(text).collect(),
    };
    Ok(Some((head, length)))
}

/// Reads the body, of which `begun` was read already.
pub fn read_body(
    head: &RequestHead,
    begun: Vec<u8>,
    input: &mut impl Read,
) -> Result<Vec<u8>, Refused> {
    if head.has("transfer-encoding") {
        return Err(Refused::Status(411));
    }
    let length = match (head.has("content-length"), head.only("content-length")) {
        (false, _) => 0,
        (true, Some(length)) if length.bytes().all(|byte| byte.is_ascii_digit()) => {
            length.parse().unwrap_or(usize::MAX)
        }
        (true, _) => return Err(Refused::Status(400)),
    };
    if length > LONGEST_BODY {
        return Err(Refused::Status(413));
    }
    let mut body = begun;
    body.truncate(length);
    let missing = length - body.len();
    let more = input.take(missing as u64).read_to_end(&mut body)?;
    if more < missing { Err(Refused::Gone) } else { Ok(body) }
}

/// A reader with one deadline for all reads, however slowly the client sends.
pub struct Deadline<'a> {
    pub stream: &'a TcpStream,
    pub until: Instant,
}

impl Read for Deadline<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut stream = self.stream;
        stream.read(buffer)
    }
}

#[derive(Debug)]
pub struct HttpResponse {
    pub status: u16,
    pub content_type: &'static str,
    pub body: Cow<'static, [u8]>,
}

/// The headers that prevent other origins from reading, framing or running the response, and caches
/// from storing it.
const SAFE: &str = "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; \
                    connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; \
                    frame-ancestors 'none'\r\n\
                    X-Content-Type-Options: nosniff\r\n\
                    Referrer-Policy: no-referrer\r\n\
                    Cache-Control: no-store\r\n\
                    Cross-Origin-Resource-Policy: same-origin\r\n\
                    Cross-Origin-Opener-Policy: same-origin\r\n";

impl HttpResponse {
    pub fn json(status: u16, value: &serde_json::Value) -> HttpResponse {
        let body = Cow::Owned(value.to_string().into_bytes());
        HttpResponse { status, content_type: "application/json", body }
    }

    /// Returns an error response with a text for users and the page.
    pub fn error(status: u16, error: &str) -> HttpResponse {
        HttpResponse::json(status, &serde_json::json!({ "error": error }))
    }

    /// Returns an error response whose text is the status's own.
    pub fn of_status(status: u16) -> HttpResponse {
        HttpResponse::error(status, reason(status))
    }

    pub fn send(&self, mut stream: &TcpStream) -> io::Result<()> {
        let length = format!("Content-Length: {}\r\n", self.body.len());
        let mut bytes = head_of(self.status, self.content_type, &length).into_bytes();
        bytes.extend_from_slice(&self.body);
        stream.write_all(&bytes)
    }
}

/// Returns the head of a response that has no length, such as a stream of events.
pub fn stream_head() -> String {
    head_of(200, "text/event-stream", "")
}

fn head_of(status: u16, content_type: &str, more: &str) -> String {
    format!(
        "HTTP/1.1 {status} {}\r\nContent-Type: {content_type}; charset=utf-8\r\n{more}{SAFE}\
         Connection: close\r\n\r\n",
        reason(status)
    )
}

/// Closes after the client has read the response: data unread by the server would make the system
/// discard it.
pub fn close(stream: &TcpStream, timeout: Duration) {
    let _ = stream.shutdown(Shutdown::Write);
    let mut rest = Deadline { stream, until: Instant::now() + timeout };
    let mut chunk = [0; 4_096];
    let mut seen = 0;
    while let Ok(count @ 1..) = rest.read(&mut chunk) {
        seen += count;
        if seen > 4 * LONGEST_BODY {
            break;
        }
    }
}

const fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        411 => "Length Required",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Content",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}

#[cfg(test)]
mod tests;
