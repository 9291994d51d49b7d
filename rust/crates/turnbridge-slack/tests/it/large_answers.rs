//! Tests that the client reads only a bounded part of an answer that is larger than any of Slack's.

use std::io::Write;
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::server::read_request;
use crate::{bot_token, impatient_api};

const PIECES: usize = 10_240;

/// Returns 1 MiB of zeros, packed into about 1 KiB. Several of them in a row are one answer.
fn packed_mebibyte() -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&vec![0; 1 << 20]).unwrap();
    encoder.finish().unwrap()
}

/// Answers one request with `head` and `PIECES` pieces. Sends how many the client has taken.
fn serve(head: &'static str, piece: Vec<u8>) -> (String, Receiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/api/", listener.local_addr().unwrap());
    let (sender, taken) = channel();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        read_request(&mut stream, 0).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        let is_sent = |_: &usize| stream.write_all(&piece).is_ok();
        sender.send((0..PIECES).take_while(is_sent).count()).unwrap();
    });
    (url, taken)
}

#[track_caller]
fn check_is_refused(head: &'static str, piece: Vec<u8>) -> usize {
    let (url, taken) = serve(head, piece);
    let api = impatient_api(&url, Duration::from_secs(120));
    let error = api.auth_test(&bot_token()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Slack gave no clear answer: the answer is larger than 16 MiB",
        "{error:?}"
    );
    drop(api);
    taken.recv_timeout(Duration::from_secs(120)).unwrap()
}

/// 10 MiB that unpack to 10 GiB.
#[test]
fn a_gzip_bomb_is_unpacked_up_to_the_limit_only() {
    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n";
    let piece = packed_mebibyte();
    assert!(piece.len() < 2_000, "{}", piece.len());
    check_is_refused(head, piece);
    let refusal = "HTTP/1.1 500 Bad\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n";
    let (url, _taken) = serve(refusal, packed_mebibyte());
    let error = impatient_api(&url, Duration::from_secs(120)).auth_test(&bot_token()).unwrap_err();
    insta::assert_snapshot!(error, @"Slack gave no clear answer: HTTP 500, the answer is larger than 16 MiB");
}

#[test]
fn an_answer_without_end_is_left() {
    let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
    // The system's buffer for a slow reader is far smaller than the rest.
    let taken = check_is_refused(head, vec![b' '; 1 << 20]);
    assert!(taken < PIECES, "{taken}");
}
