//! Tests that clients without the token, or of another origin, get no data, and that slow or many
//! clients do not keep others out.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use serde_json::json;
use testkit::wait_until;

use super::site::{BoardSite, SESSION, TIMEOUT, read_response};

#[test]
fn without_the_whole_token_nothing_under_api_is_answered() {
    let site = BoardSite::start();
    site.turn("fix it");
    let host = format!("Host: {}\r\nContent-Type: application/json\r\n", site.host());
    let reply = json!({
        "id": "11111111-2222-4333-8444-555555555555", "tool": "claude", "session_id": SESSION,
        "text": "let me in",
    });
    let session = format!("/api/sessions/claude/{SESSION}");
    let wrong = [
        String::new(),
        "Authorization: Bearer \r\n".to_owned(),
        format!("Authorization: Bearer {}\r\n", &site.token[..63]),
        format!("Authorization: Bearer {}0\r\n", site.token),
        format!("Authorization: Basic {}\r\n", site.token),
        format!("Cookie: token={}\r\n", site.token),
    ];
    for authorization in &wrong {
        let headers = format!("{host}{authorization}");
        for path in ["/api/sessions", &session, "/api/events", "/api/settings", "/api/nothing"] {
            let answer = site.request("GET", path, &headers, "");
            assert_eq!(answer.status, 403, "{path} {authorization}");
            assert_eq!(answer.body, r#"{"error":"Forbidden"}"#);
        }
        for path in ["/api/replies", "/api/settings/claude-hooks", "/api/focus"] {
            let answer = site.request("POST", path, &headers, &reply.to_string());
            assert_eq!(answer.status, 403, "{path} {authorization}");
        }
        let asked = format!("/api/sessions?token={}", site.token);
        assert_eq!(site.request("GET", &asked, &headers, "").status, 403);
    }
    assert_eq!(site.session()["replies"], json!([]));
}

#[test]
fn another_host_or_origin_is_refused_token_or_not() {
    let site = BoardSite::start();
    let (port, token) = (site.port, &site.token);
    let right = format!("Authorization: Bearer {token}\r\nContent-Type: application/json\r\n");
    for headers in [
        String::new(),
        "Host: evil.example\r\n".to_owned(),
        format!("Host: evil.example:{port}\r\n"),
        format!("Host: 127.0.0.1.evil.example:{port}\r\n"),
        "Host: 127.0.0.1\r\n".to_owned(),
        format!("Host: 127.0.0.1:{port}\r\nOrigin: http://evil.example\r\n"),
        format!("Host: 127.0.0.1:{port}\r\nOrigin: null\r\n"),
        format!("Host: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:1\r\n"),
        format!("Host: 127.0.0.1:{port}\r\nSec-Fetch-Site: cross-site\r\n"),
        format!("Host: 127.0.0.1:{port}\r\nSec-Fetch-Site: same-site\r\n"),
        format!("Host: 127.0.0.1:{port}\r\nHost: evil.example\r\n"),
    ] {
        let headers = format!("{headers}{right}");
        for (method, path) in [
            ("GET", "/"),
            ("GET", "/board.js"),
            ("GET", "/api/sessions"),
            ("POST", "/api/replies"),
            ("OPTIONS", "/api/replies"),
        ] {
            let answer = site.request(method, path, &headers, "");
            assert_eq!(answer.status, 403, "{method} {path}\n{headers}");
            assert!(!answer.head.to_lowercase().contains("access-control"), "{}", answer.head);
        }
    }
    for own in [format!("localhost:{port}"), format!("[::1]:{port}")] {
        let headers = format!("Host: {own}\r\nOrigin: http://{own}\r\n{right}");
        assert_eq!(site.request("GET", "/api/sessions", &headers, "").status, 200, "{own}");
    }
    if let Ok(mut stream) = TcpStream::connect(("::1", port)) {
        let request = format!("GET /api/sessions HTTP/1.1\r\nHost: [::1]:{port}\r\n{right}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        assert_eq!(read_response(&mut stream).status, 200);
    }
}

#[test]
fn what_is_no_request_or_too_much_of_one_is_refused() {
    let site = BoardSite::start();
    let right = site.right();
    assert_eq!(site.raw(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n").status, 400);
    assert_eq!(site.raw(b"GET http://127.0.0.1/ HTTP/1.1\r\n\r\n").status, 400);
    let long = format!("GET /{} HTTP/1.1\r\n{right}\r\n", "x".repeat(20 << 10));
    assert_eq!(site.raw(long.as_bytes()).status, 431);
    let long = format!("GET / HTTP/1.1\r\n{right}X: {}\r\n\r\n", "x".repeat(20 << 10));
    assert_eq!(site.raw(long.as_bytes()).status, 431);
    let many = format!("GET / HTTP/1.1\r\n{right}{}\r\n", "X: y\r\n".repeat(100));
    assert_eq!(site.raw(many.as_bytes()).status, 431);
    let body = "x".repeat((256 << 10) + 1);
    assert_eq!(site.request("POST", "/api/replies", &right, &body).status, 413);
    let chunked =
        format!("POST /api/replies HTTP/1.1\r\n{right}Transfer-Encoding: chunked\r\n\r\n");
    assert_eq!(site.raw(format!("{chunked}0\r\n\r\n").as_bytes()).status, 411);
    assert_eq!(site.request("PUT", "/api/replies", &right, "{}").status, 405);
    assert_eq!(site.request("DELETE", "/", &right, "").status, 405);
    assert_eq!(site.request("POST", "/api/replies", &right, "[1]").status, 400);
    assert_eq!(site.request("POST", "/api/replies", &right, "{").status, 400);
    let form = right.replace("application/json", "application/x-www-form-urlencoded");
    assert_eq!(site.request("POST", "/api/replies", &form, "{}").status, 415);
    let text = right.replace("application/json", "text/plain");
    assert_eq!(site.request("POST", "/api/replies", &text, "{}").status, 415);
    assert_eq!(site.get("/api/sessions").status, 200);
}

#[test]
fn two_hundred_slow_connections_keep_nobody_out_and_are_let_go() {
    let site = BoardSite::start();
    let host = format!("Host: {}\r\n", site.host());
    let mut slow: Vec<TcpStream> = (0..200).map(|_| site.connect()).collect();
    for stream in &mut slow {
        // Closed connections fail here.
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: ");
    }
    let mut events = site.events();
    events.next("snapshot").unwrap();
    for _ in 0..40 {
        assert_eq!(site.request("GET", "/", &host, "").status, 200);
        assert_eq!(site.get("/api/sessions").status, 200);
    }
    // All of them are closed, however slowly one keeps sending.
    wait_until(TIMEOUT, "an end of the slow ones", || {
        slow.retain_mut(|stream| {
            stream.set_read_timeout(Some(std::time::Duration::from_millis(1))).unwrap();
            let read = stream.read(&mut [0; 512]);
            let is_open = read.is_err_and(|error| {
                [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&error.kind())
            });
            is_open && stream.write_all(b"x").is_ok()
        });
        slow.is_empty().then_some(())
    });
}

#[test]
fn one_that_is_too_slow_is_told_so() {
    let site = BoardSite::start();
    let mut slow = site.connect();
    slow.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
    assert_eq!(read_response(&mut slow).status, 408);
}

#[test]
fn open_pages_take_no_place_from_requests_and_are_limited_themselves() {
    let site = BoardSite::start();
    let mut pages: Vec<_> = (0..16).map(|_| site.events()).collect();
    for page in &mut pages {
        page.next("snapshot").unwrap();
    }
    assert_eq!(site.get("/api/events").status, 503);
    assert_eq!(site.get("/api/sessions").status, 200);
    site.turn("fix it");
    for page in &mut pages {
        assert_eq!(page.next("session").unwrap()["session_id"], SESSION);
    }
}
