//! Tests the loopback Slack over TLS: a client that trusts its authority is served, another one
//! refuses the connection.

use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::json;
use testkit::slack::{FaultMoment, SlackFault};
use testkit::{Hermetic, SlackApi, SlackSetup};

use crate::support::slack_client::{SlackClient, SlackRequest, address};

type TlsClient = SlackClient<StreamOwned<ClientConnection, TcpStream>>;

fn connect(api: &SlackApi, trusted: &SlackApi) -> TlsClient {
    let hermetic = Hermetic::new();
    let file = hermetic.root().join("ca.pem");
    trusted.ca_file(&file);
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&file).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::from(std::net::IpAddr::from(Ipv4Addr::LOCALHOST));
    let session = ClientConnection::new(Arc::new(config), name).unwrap();
    let socket = TcpStream::connect(address(api)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    SlackClient::over(StreamOwned::new(session, socket))
}

#[test]
fn a_client_that_trusts_the_authority_is_served() {
    let api = SlackApi::start_tls(SlackSetup::default());
    assert!(api.base_url().starts_with("https://127.0.0.1:"));
    let channel = api.direct_message();
    let mut client = connect(&api, &api);
    let post = SlackRequest::json(
        "chat.postMessage",
        &json!({"channel": channel, "text": "é".repeat(30_000)}),
    );
    for count in 1..3 {
        assert_eq!(client.ask(&post).unwrap().json()["ok"], true);
        assert_eq!(api.messages(&channel).len(), count);
    }
    let open = SlackRequest::form("apps.connections.open", &[]).with_token("xapp-loopback-app");
    let url = client.ask(&open).unwrap().json()["url"].as_str().unwrap().to_owned();
    assert!(url.starts_with("wss://127.0.0.1:"), "{url}");
    api.fail("chat.postMessage", [SlackFault::Reset(FaultMoment::After)]);
    client.ask(&post).unwrap_err();
    assert_eq!(api.messages(&channel).len(), 3);
    drop(api);
}

#[test]
fn another_servers_authority_is_not_trusted() {
    let api = SlackApi::start_tls(SlackSetup::default());
    let other = SlackApi::start_tls(SlackSetup::default());
    let error = connect(&api, &other).ask(&SlackRequest::form("auth.test", &[])).unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
    assert_eq!(api.calls().len(), 0);
}
