//! Tests that a Socket Mode connection is set up like a call of the Web API. It trusts the same
//! certificates (`SSL_CERT_FILE`), uses the same proxy (`HTTPS_PROXY`) and honours `NO_PROXY`.

use std::path::Path;
use std::thread;

use testkit::slack::SocketState;
use testkit::{SlackApi, SlackSetup, wait_until};

use crate::child::listen_in_child;
use crate::proxy::Proxy;
use crate::socket_mode::{TIMEOUT, check_clean};

/// Listens in a separate process, and sends it a message as soon as it listens.
fn listen(slack: &SlackApi, folder: &Path, url: &str, variables: &[(&str, &str)]) -> String {
    let file = folder.join("authority.pem");
    slack.ca_file(&file);
    let variables = [&[("SSL_CERT_FILE", file.to_str().unwrap())], variables].concat();
    thread::scope(|scope| {
        let child = scope.spawn(|| listen_in_child(folder, url, &variables));
        slack.wait_for_sockets(1, TIMEOUT);
        slack.say(None, "over TLS");
        child.join().unwrap()
    })
}

fn port(slack: &SlackApi) -> u16 {
    let url = slack.base_url();
    url.trim_end_matches("/api/").rsplit(':').next().unwrap().parse().unwrap()
}

#[track_caller]
fn check_one_clean_socket(slack: &SlackApi) {
    slack.wait_for_all_acked(TIMEOUT);
    wait_until(TIMEOUT, "a closed socket", || {
        (slack.sockets().pop()?.state == SocketState::Closed).then_some(())
    });
    assert_eq!(slack.sockets().len(), 1);
    check_clean(slack);
}

#[test]
fn a_socket_is_encrypted() {
    let slack = SlackApi::start_tls(SlackSetup::default());
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(listen(&slack, folder.path(), &slack.base_url(), &[]), "events_api");
    check_one_clean_socket(&slack);
}

#[test]
fn a_socket_goes_through_the_proxy_of_the_web_api() {
    let socket_host = Some("slack.test".to_owned());
    let slack = SlackApi::start_tls(SlackSetup { socket_host, ..SlackSetup::default() });
    let proxy = Proxy::leading_to(Some(port(&slack)));
    let folder = tempfile::tempdir().unwrap();
    let variables = [("HTTPS_PROXY", &*proxy.address())];
    let outcome = listen(&slack, folder.path(), "https://slack.test/api/", &variables);
    assert_eq!(outcome, "events_api");
    let asked = proxy.asked();
    assert_eq!(asked.len(), 2, "{asked:?}");
    for head in asked {
        assert!(head.starts_with("CONNECT slack.test:443 HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("Proxy-Authorization: Basic bWU6cGFzcyB3b3Jk\r\n"), "{head}");
    }
    check_one_clean_socket(&slack);
}

#[test]
fn a_socket_honours_no_proxy() {
    let slack = SlackApi::start_tls(SlackSetup::default());
    // A name of this machine that does not look like it.
    let host = format!("0x7f000001:{}", port(&slack));
    slack.change(|setup| setup.socket_host = Some(host.clone()));
    let proxy = Proxy::leading_to(None);
    let folder = tempfile::tempdir().unwrap();
    let variables = [("HTTPS_PROXY", &*proxy.address()), ("NO_PROXY", "0x7f000001")];
    let outcome = listen(&slack, folder.path(), &format!("https://{host}/api/"), &variables);
    assert_eq!(outcome, "events_api");
    assert_eq!(proxy.asked(), Vec::<String>::new());
    check_one_clean_socket(&slack);
}
