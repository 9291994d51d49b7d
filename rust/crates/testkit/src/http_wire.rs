//! Reads HTTP/1.1 requests and writes responses, whole or as a stream of events, for the loopback
//! APIs. It has no compression, no pipelining and no `Expect: 100-continue`, because the tested
//! clients use none of them here.

use std::io::{self, BufRead, Read, Write};

/// A parsed request.
pub(crate) struct HttpRequest {
    pub(crate) method: String,
    /// The path without the query.
    pub(crate) path: String,
    /// The text after the `?`, still encoded.
    pub(crate) query: String,
    /// The headers in the order of receipt, with names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Whether the client keeps the connection open for another request.
    pub(crate) keep_alive: bool,
}

impl HttpRequest {
    /// Returns the first header of this name, which must be in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Reads the next request of a connection. Returns `None` if the client closed it between two
/// requests.
pub(crate) fn read_request(reader: &mut impl BufRead) -> io::Result<Option<HttpRequest>> {
    let Some(request_line) = read_line(reader)? else { return Ok(None) };
    let mut words = request_line.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(invalid(&format!("request line `{request_line}`")));
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = HttpRequest {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
        keep_alive: true,
    };

    let mut content_length = 0;
    let mut chunked = false;
    loop {
        let line = read_line(reader)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        if line.is_empty() {
            break;
        }
        let (name, value) =
            line.split_once(':').ok_or_else(|| invalid(&format!("header `{line}`")))?;
        let (name, value) = (name.to_ascii_lowercase(), value.trim());
        match name.as_str() {
            "content-length" => {
                content_length = value.parse().map_err(|_| invalid("content-length"))?
            }
            "transfer-encoding" => chunked = value.eq_ignore_ascii_case("chunked"),
            "connection" => request.keep_alive = !value.eq_ignore_ascii_case("close"),
            _ => {}
        }
        request.headers.push((name, value.to_owned()));
    }

    if chunked {
        request.body = read_chunks(reader)?;
    } else {
        request.body = vec![0; content_length];
        reader.read_exact(&mut request.body)?;
    }
    Ok(Some(request))
}

fn read_chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = read_line(reader)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(digits, 16).map_err(|_| invalid("chunk size"))?;
        if size == 0 {
            // Trailers, if any, end with an empty line like headers do.
            while !read_line(reader)?.ok_or(io::ErrorKind::UnexpectedEof)?.is_empty() {}
            return Ok(body);
        }
        if reader.take(size).read_to_end(&mut body)? as u64 != size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        read_line(reader)?;
    }
}

fn read_line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    Ok(Some(line))
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not HTTP/1.1: {what}"))
}

/// Writes a response whose whole body is known.
pub(crate) fn write_response(writer: &mut impl Write, status: u16, json: &[u8]) -> io::Result<()> {
    // The grammar requires the reason phrase, and no client reads it.
    let mut response = format!(
        "HTTP/1.1 {status} -\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        json.len()
    )
    .into_bytes();
    response.extend_from_slice(json);
    writer.write_all(&response)
}

/// Begins a response of server-sent events; `write_event` and `end_events` follow.
pub(crate) fn begin_events(writer: &mut impl Write) -> io::Result<()> {
    writer.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n",
    )
}

/// Writes one event as one chunk, so that the client receives it before the next one.
pub(crate) fn write_event(writer: &mut impl Write, name: &str, data: &str) -> io::Result<()> {
    let event = format!("event: {name}\ndata: {data}\n\n");
    writer.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())
}

/// Ends a response of server-sent events.
pub(crate) fn end_events(writer: &mut impl Write) -> io::Result<()> {
    writer.write_all(b"0\r\n\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunked_body_is_put_together_and_the_next_request_follows() {
        let mut input: &[u8] = b"POST /a?b=c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\nGET /next HTTP/1.1\r\nConnection: close\r\n\r\n";
        let first = read_request(&mut input).unwrap().unwrap();
        assert_eq!(
            (first.path.as_str(), first.body.as_slice(), first.keep_alive),
            ("/a", &b"abcde"[..], true)
        );
        assert_eq!(
            (first.query.as_str(), first.header("transfer-encoding")),
            ("b=c", Some("chunked"))
        );
        let second = read_request(&mut input).unwrap().unwrap();
        assert_eq!(
            (second.method.as_str(), second.path.as_str(), second.keep_alive),
            ("GET", "/next", false)
        );
        assert!(read_request(&mut input).unwrap().is_none());
    }
}
