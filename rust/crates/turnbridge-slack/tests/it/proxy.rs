//! Tests the proxies that environment variables name: CONNECT, its refusal, and the hosts that need
//! no proxy. Other modules use its `Proxy` too.

use std::io::{Write, copy};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::child::call_in_child;
use crate::support::server::{ScriptedServer, ServerReply, read_request};
use crate::tls::{ALIAS, CertificateAuthority, TEAM};

pub struct Proxy {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Connects every request to `port` of this machine; without a port it refuses.
    pub fn leading_to(port: Option<u16>) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Proxy { port: listener.local_addr().unwrap().port(), asked: Arc::default() };
        let asked = proxy.asked.clone();
        thread::spawn(move || {
            for mut client in listener.incoming().map_while(Result::ok) {
                let Some(head) = read_request(&mut client, 0) else { continue };
                asked.lock().unwrap().push(head);
                let Some(port) = port else {
                    let refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n";
                    let _ = client.write_all(refusal);
                    continue;
                };
                client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
                tunnel(client, TcpStream::connect(("127.0.0.1", port)).unwrap());
            }
        });
        proxy
    }

    pub fn address(&self) -> String {
        format!("http://me:pass%20word@127.0.0.1:{}", self.port)
    }

    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn tunnel(client: TcpStream, server: TcpStream) {
    for (from, to) in [(&client, &server), (&server, &client)] {
        let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        thread::spawn(move || {
            let _ = copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
    }
}

#[test]
fn a_call_goes_through_the_proxy_and_stays_encrypted() {
    let authority = CertificateAuthority::new();
    let server = authority.serve([ServerReply::json(TEAM), ServerReply::json(TEAM)]);
    for variable in ["HTTPS_PROXY", "ALL_PROXY"] {
        let proxy = Proxy::leading_to(Some(server.port));
        let variables = [(variable, &*proxy.address())];
        let outcome = authority.call("https://slack.test/api/", &variables);
        assert_eq!(outcome, "hello over TLS");
        let asked = proxy.asked().concat().replace('\r', "");
        let asked = asked.replace(env!("CARGO_PKG_VERSION"), "VERSION");
        insta::allow_duplicates!(insta::assert_snapshot!(asked, @r"
        CONNECT slack.test:443 HTTP/1.1
        Host: slack.test:443
        User-Agent: turnbridge/VERSION
        Proxy-Connection: Keep-Alive
        Proxy-Authorization: Basic bWU6cGFzcyB3b3Jk
        "));
    }
}

#[test]
fn a_proxy_that_refuses_has_passed_nothing_on() {
    let proxy = Proxy::leading_to(None);
    let outcome = CertificateAuthority::new()
        .call("https://slack.test/", &[("HTTPS_PROXY", &proxy.address())]);
    insta::assert_snapshot!(outcome, @r"
    Slack could not be reached: the proxy is in the way: proxy server responded 407/407
    hint: check `ALL_PROXY`, `HTTPS_PROXY` and `NO_PROXY`
    ");
}

#[test]
fn a_proxy_that_is_away_has_passed_nothing_on() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let proxy = format!("http://127.0.0.1:{port}");
    let outcome =
        CertificateAuthority::new().call("https://slack.test/", &[("HTTPS_PROXY", &proxy)]);
    assert!(outcome.starts_with("Slack could not be reached: "), "{outcome}");
}

#[test]
fn a_handshake_that_fails_behind_the_proxy_has_sent_nothing() {
    let server = CertificateAuthority::new().serve([ServerReply::json(TEAM)]);
    let proxy = Proxy::leading_to(Some(server.port));
    let outcome = CertificateAuthority::new()
        .call("https://slack.test/", &[("HTTPS_PROXY", &proxy.address())]);
    assert!(outcome.starts_with("Slack could not be reached: its certificate"), "{outcome}");
}

#[test]
fn an_answer_that_is_lost_behind_the_proxy_is_ambiguous() {
    let authority = CertificateAuthority::new();
    let server = authority.serve([ServerReply::CloseAfterReading]);
    let proxy = Proxy::leading_to(Some(server.port));
    let outcome = authority.call("https://slack.test/", &[("HTTPS_PROXY", &proxy.address())]);
    assert!(outcome.starts_with("Slack gave no clear answer: "), "{outcome}");
}

#[test]
fn no_proxy_is_honoured() {
    let authority = CertificateAuthority::new();
    let server = authority.serve([ServerReply::json(TEAM), ServerReply::json(TEAM)]);
    let url = format!("https://{ALIAS}:{}/api/", server.port);
    for (exceptions, asked) in [("other.test", 1), (&*format!("other.test,{ALIAS}"), 0)] {
        let proxy = Proxy::leading_to(Some(server.port));
        let variables = [("HTTPS_PROXY", &*proxy.address()), ("NO_PROXY", exceptions)];
        assert_eq!(authority.call(&url, &variables), "hello over TLS");
        assert_eq!(proxy.asked().len(), asked, "{exceptions}");
    }
}

#[test]
fn this_machine_is_reached_without_a_proxy() {
    let proxy = Proxy::leading_to(None);
    let server = ScriptedServer::playing([ServerReply::json(r#"{"ok":true,"team":"here"}"#)]);
    let folder = tempfile::tempdir().unwrap();
    let variables = [("ALL_PROXY", &*proxy.address()), ("HTTP_PROXY", &*proxy.address())];
    assert_eq!(call_in_child(folder.path(), &server.url(), &variables), "hello here");
    assert_eq!(proxy.asked(), Vec::<String>::new());
}
