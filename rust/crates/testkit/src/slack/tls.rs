//! Creates a certificate authority for one server, and wraps a connection with or without TLS. Ring
//! is named as the provider everywhere: with two in one program rustls would refuse to choose.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, SanType};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A certificate authority, and a server's configuration with a certificate of it.
pub(super) struct LoopbackAuthority {
    /// The certificate that a client must trust.
    pub(super) pem: String,
    pub(super) server: Arc<ServerConfig>,
}

impl LoopbackAuthority {
    /// Creates an authority, and its certificate for this machine's loopback address.
    #[track_caller]
    pub(super) fn new() -> LoopbackAuthority {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.distinguished_name.push(DnType::CommonName, "Loopback Slack");
        let key = KeyPair::generate().expect("make a key for the loopback authority");
        let root = authority.self_signed(&key).expect("sign the loopback authority");
        let issuer = Issuer::new(authority, key);

        // The other names are for clients that must not recognise loopback: one that only a proxy
        // resolves, and a spelling of this machine that resolves without a name server.
        let names = ["localhost", "slack.test", "0x7f000001"].map(str::to_owned);
        let mut leaf = CertificateParams::new(names).expect("name the loopback Slack");
        leaf.subject_alt_names.push(SanType::IpAddress(Ipv4Addr::LOCALHOST.into()));
        let leaf_key = KeyPair::generate().expect("make a key for the loopback Slack");
        let certificate =
            leaf.signed_by(&leaf_key, &issuer).expect("sign the loopback Slack's certificate");

        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(leaf_key.serialize_der()));
        let server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("choose TLS versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .expect("use the loopback Slack's certificate");
        LoopbackAuthority { pem: root.pem(), server: Arc::new(server) }
    }
}

/// A client's connection, plain or TLS.
pub(super) enum SocketConnection {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ServerConnection, TcpStream>>),
}

impl SocketConnection {
    pub(super) fn new(
        socket: TcpStream,
        tls: Option<&Arc<ServerConfig>>,
    ) -> io::Result<SocketConnection> {
        let Some(config) = tls else { return Ok(SocketConnection::Plain(socket)) };
        let session = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
        Ok(SocketConnection::Tls(Box::new(StreamOwned::new(session, socket))))
    }

    /// Returns the TCP socket of the connection.
    pub(super) fn socket(&self) -> &TcpStream {
        match self {
            SocketConnection::Plain(socket) => socket,
            SocketConnection::Tls(stream) => &stream.sock,
        }
    }

    /// Sends the end of the stream, so that the client can tell it from a cut.
    pub(super) fn finish(&mut self) {
        if let SocketConnection::Tls(stream) = self {
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
    }
}

impl Read for SocketConnection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            SocketConnection::Plain(socket) => socket.read(buffer),
            SocketConnection::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for SocketConnection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            SocketConnection::Plain(socket) => socket.write(bytes),
            SocketConnection::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            SocketConnection::Plain(socket) => socket.flush(),
            SocketConnection::Tls(stream) => stream.flush(),
        }
    }
}
