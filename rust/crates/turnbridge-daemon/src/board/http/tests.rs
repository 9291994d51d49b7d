//! Tests that a request is parsed the same however it is split, and that invalid and too long
//! requests are refused.

use super::*;

/// Returns a request in pieces of `size` bytes.
struct Pieces<'a> {
    bytes: &'a [u8],
    size: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.size.min(self.bytes.len()).min(buffer.len());
        buffer[..count].copy_from_slice(&self.bytes[..count]);
        self.bytes = &self.bytes[count..];
        Ok(count)
    }
}

fn read(bytes: &[u8], size: usize) -> Result<(RequestHead, Vec<u8>), Refused> {
    let mut input = Pieces { bytes, size };
    let (head, begun) = read_head(&mut input)?;
    let body = read_body(&head, begun, &mut input)?;
    Ok((head, body))
}

#[track_caller]
fn refused(bytes: impl AsRef<[u8]>) -> Refused {
    read(bytes.as_ref(), 7).expect_err("a request")
}

const POST: &[u8] = b"POST /api/replies?a=1&before=42 HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\
                      content-LENGTH: 5\r\n\r\nhelloand more";

#[test]
fn a_request_is_the_same_however_it_is_cut() {
    let (whole, body) = read(POST, POST.len()).unwrap();
    assert_eq!((whole.method.as_str(), whole.path.as_str()), ("POST", "/api/replies"));
    assert_eq!((whole.number("before"), whole.number("b")), (Some(42), None));
    assert_eq!(body, b"hello");
    for size in 1..POST.len() {
        assert_eq!(read(POST, size).unwrap(), read(POST, POST.len()).unwrap(), "{size}");
    }
}

#[test]
fn a_header_that_is_there_twice_is_none() {
    let (head, _) = read(b"GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\nOrigin: c\r\n\r\n", 9).unwrap();
    assert!(head.has("HOST") && head.only("host").is_none());
    assert_eq!(head.only("origin"), Some("c"));
}

#[test]
fn garbage_and_halves_are_refused() {
    assert_eq!(refused(b""), Refused::Gone);
    assert_eq!(refused(b"GET / HTTP/1.1\r\nHost"), Refused::Status(400));
    for garbage in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"GET http://127.0.0.1/ HTTP/1.1\r\n\r\n",
        b"GET * HTTP/1.1\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHo st: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: +5\r\n\r\nhello",
        b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\nhello",
        b"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    ] {
        assert_eq!(refused(garbage), Refused::Status(400), "{garbage:?}");
    }
    assert_eq!(refused(b"POST / HTTP/1.1\r\nContent-Length: 6\r\n\r\nhello"), Refused::Gone);
    let chunked = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    assert_eq!(refused(chunked), Refused::Status(411));
}

#[test]
fn what_is_too_long_is_refused_before_it_is_read() {
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(LONGEST_HEAD));
    assert_eq!(refused(&long), Refused::Status(431));
    assert_eq!(refused("x".repeat(LONGEST_HEAD + 7)), Refused::Status(431));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(MOST_HEADERS + 1));
    assert_eq!(refused(&many), Refused::Status(431));
    for length in ["262145", "99999999999999999999999999"] {
        let big = format!("POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n");
        assert_eq!(refused(&big), Refused::Status(413), "{length}");
    }
    let mut most =
        format!("POST / HTTP/1.1\r\nContent-Length: {LONGEST_BODY}\r\n\r\n").into_bytes();
    most.resize(most.len() + LONGEST_BODY, b'x');
    assert_eq!(read(&most, 4_096).unwrap().1.len(), LONGEST_BODY);
}
