//! Tests that only a certificate by a named authority is trusted, and whether a call that fails
//! over TLS has been sent.

use std::io::Read;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tempfile::TempDir;

use crate::child::call_in_child;
use crate::support::server::{ScriptedServer, ServerReply};

static COUNT: AtomicUsize = AtomicUsize::new(0);

pub const TEAM: &str = r#"{"ok":true,"team":"over TLS"}"#;

/// A name of this machine that does not look like it: it resolves without a name server.
pub const ALIAS: &str = "0x7f000001";

/// An authority of the test, and a certificate by it.
pub struct CertificateAuthority {
    pub folder: TempDir,
    pub file: PathBuf,
    pub server: Arc<ServerConfig>,
}

impl CertificateAuthority {
    pub fn new() -> CertificateAuthority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        // Only their signatures would distinguish two authorities of one name.
        let name = format!("authority {}", COUNT.fetch_add(1, Ordering::Relaxed));
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let names = ["127.0.0.1", "slack.test", ALIAS].map(str::to_owned);
        let leaf = CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![leaf.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("authority.pem");
        std::fs::write(&file, issuer.pem()).unwrap();
        CertificateAuthority { folder, file, server: Arc::new(server) }
    }

    pub fn serve(&self, replies: impl IntoIterator<Item = ServerReply>) -> ScriptedServer {
        ScriptedServer::playing_with_tls(replies, self.server.clone())
    }

    pub fn call(&self, url: &str, variables: &[(&str, &str)]) -> String {
        let file = self.file.to_str().unwrap();
        let variables = [&[("SSL_CERT_FILE", file)], variables].concat();
        call_in_child(self.folder.path(), url, &variables)
    }
}

#[test]
fn an_authority_in_ssl_cert_file_is_trusted() {
    let authority = CertificateAuthority::new();
    let server = authority.serve([ServerReply::json(TEAM)]);
    let url = format!("https://127.0.0.1:{}/api/", server.port);
    assert_eq!(authority.call(&url, &[]), "hello over TLS");
}

#[test]
fn an_unknown_authority_gets_no_request() {
    let server = CertificateAuthority::new().serve([ServerReply::json(TEAM)]);
    let url = format!("https://127.0.0.1:{}/api/", server.port);
    insta::assert_snapshot!(CertificateAuthority::new().call(&url, &[]), @r"
    Slack could not be reached: its certificate is not trusted: invalid peer certificate: UnknownIssuer
    hint: if your company inspects TLS, add its certificate to the system's, or name it in `SSL_CERT_FILE`
    ");
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[test]
fn a_certificate_for_another_name_gets_no_request() {
    let authority = CertificateAuthority::new();
    let server = authority.serve([ServerReply::json(TEAM)]);
    let outcome = authority.call(&format!("https://localhost:{}/", server.port), &[]);
    assert!(
        outcome.starts_with("Slack could not be reached: its certificate is not trusted:"),
        "{outcome}"
    );
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[test]
fn a_connection_that_ends_during_the_handshake_has_sent_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://127.0.0.1:{}/", listener.local_addr().unwrap().port());
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 16]);
        }
    });
    let outcome = CertificateAuthority::new().call(&url, &[]);
    assert!(outcome.starts_with("Slack could not be reached: "), "{outcome}");
}

#[test]
fn a_handshake_that_does_not_end_has_sent_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://127.0.0.1:{}/", listener.local_addr().unwrap().port());
    let outcome = CertificateAuthority::new().call(&url, &[("TEST_CONNECT_TIMEOUT", "200")]);
    insta::assert_snapshot!(outcome, @r"
    Slack could not be reached: no answer in time
    hint: -
    ");
}

#[test]
fn an_answer_that_is_lost_over_tls_is_ambiguous() {
    let authority = CertificateAuthority::new();
    let server = authority.serve([ServerReply::CloseAfterReading]);
    let outcome = authority.call(&format!("https://127.0.0.1:{}/", server.port), &[]);
    assert!(outcome.starts_with("Slack gave no clear answer: "), "{outcome}");
}

#[test]
fn a_certificate_file_without_certificates_is_said_at_once() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("empty.pem");
    std::fs::write(&file, "nothing").unwrap();
    let variables = [("SSL_CERT_FILE", file.to_str().unwrap())];
    let outcome = call_in_child(folder.path(), "https://127.0.0.1:1/", &variables);
    insta::assert_snapshot!(outcome, @"no certificate was found by `SSL_CERT_FILE` and `SSL_CERT_DIR`: there is none in it");
}
