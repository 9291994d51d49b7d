//! Returns the TLS configuration of connections. It trusts the system's certificates, so that a
//! company's authority counts, or Mozilla's if there are none. If `SSL_CERT_FILE` or `SSL_CERT_DIR`
//! is set, only their certificates are trusted, and it is an error if they contain none.
//!
//! The configuration names the crypto provider: rustls panics if two are linked and none is named.

use std::sync::Arc;

use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};

use crate::address::ConnectionError;

pub(crate) fn tls_config() -> Result<TlsConfig, ConnectionError> {
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .root_certs(load_roots()?)
        .build())
}

fn load_roots() -> Result<RootCerts, ConnectionError> {
    let found = rustls_native_certs::load_native_certs();
    if !found.certs.is_empty() {
        return Ok(found.certs.iter().map(|der| Certificate::from_der(der).to_owned()).into());
    }
    // A user who names the trusted authorities must not get a hundred others because of a typing
    // mistake.
    let is_chosen = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if is_chosen("SSL_CERT_FILE") || is_chosen("SSL_CERT_DIR") {
        let cause = match found.errors.first() {
            Some(error) => error.to_string(),
            None => "there is none in it".to_owned(),
        };
        return Err(ConnectionError::NoCertificates { cause });
    }
    Ok(RootCerts::WebPki)
}
