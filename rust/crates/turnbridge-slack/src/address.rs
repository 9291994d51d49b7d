//! Checks the address of the Web API, and that of a socket. A token may be sent only encrypted, or
//! to this machine.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use ureq::http::Uri;

const SLACK: &str = "https://slack.com/api/";

/// The connection to Slack. It must not be printed: `api_url` is as the user wrote it, perhaps with
/// a password.
#[derive(Clone)]
pub struct ApiConnection {
    /// An address that replaces Slack's, with or without a slash at its end.
    pub api_url: Option<String>,
    /// The timeout for reaching the server: TCP, proxy and TLS together.
    pub connect_timeout: Duration,
    /// The timeout of a whole call, from the look-up of the name to the last byte of the answer.
    pub timeout: Duration,
}

impl Default for ApiConnection {
    fn default() -> ApiConnection {
        ApiConnection {
            api_url: None,
            connect_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(30),
        }
    }
}

/// The reason why there is no client. An address with a password in it is not repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionError {
    NotAnAddress {
        url: String,
    },
    HasUserOrPassword,
    HasQueryOrFragment {
        url: String,
    },
    NotEncrypted {
        url: String,
    },
    /// `SSL_CERT_FILE` or `SSL_CERT_DIR` is set and gives no certificate.
    NoCertificates {
        cause: String,
    },
}

impl fmt::Display for ConnectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConnectionError::NotAnAddress { url } => {
                write!(f, "`{url}` is not an `https://` address")
            }
            ConnectionError::HasUserOrPassword => {
                f.write_str("the address of the Slack API must not hold a user or a password")
            }
            ConnectionError::HasQueryOrFragment { url } => {
                write!(f, "`{url}` must end with a path: no `?` and no `#`")
            }
            ConnectionError::NotEncrypted { url } => {
                write!(
                    f,
                    "`{url}` would carry the token unencrypted: use `https://` (`http://` is for this machine alone)"
                )
            }
            ConnectionError::NoCertificates { cause } => {
                write!(f, "no certificate was found by `SSL_CERT_FILE` and `SSL_CERT_DIR`: {cause}")
            }
        }
    }
}

impl std::error::Error for ConnectionError {}

/// The checked address, which ends with a slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiAddress {
    base: String,
    /// Host and port, as in the address.
    pub authority: String,
    pub is_encrypted: bool,
    pub is_loopback: bool,
}

impl ApiAddress {
    pub fn parse(api_url: Option<&str>) -> Result<ApiAddress, ConnectionError> {
        let url = api_url.unwrap_or(SLACK).trim();
        let text = || url.to_owned();
        // This check is the first, so that no other error repeats a password.
        let authority_and_path = url.split_once("://").map_or(url, |(_, rest)| rest);
        if authority_and_path.split(['/', '?', '#']).next().unwrap_or_default().contains('@') {
            return Err(ConnectionError::HasUserOrPassword);
        }
        if url.contains(['?', '#']) {
            return Err(ConnectionError::HasQueryOrFragment { url: text() });
        }
        let uri: Uri = url.parse().map_err(|_| ConnectionError::NotAnAddress { url: text() })?;
        let (Some(scheme), Some(authority), Some(host)) =
            (uri.scheme_str(), uri.authority(), uri.host())
        else {
            return Err(ConnectionError::NotAnAddress { url: text() });
        };
        let is_loopback = is_loopback_host(host);
        let is_encrypted = match scheme {
            "https" => true,
            "http" if is_loopback => false,
            "http" => return Err(ConnectionError::NotEncrypted { url: text() }),
            _ => return Err(ConnectionError::NotAnAddress { url: text() }),
        };
        let path = uri.path().trim_end_matches('/');
        Ok(ApiAddress {
            base: format!("{scheme}://{authority}{path}/"),
            authority: authority.as_str().to_owned(),
            is_encrypted,
            is_loopback,
        })
    }

    pub fn of_method(&self, method: &str) -> String {
        format!("{}{method}", self.base)
    }
}

/// Returns whether the address is `wss://`, or `ws://` to this machine.
pub(crate) fn is_socket_address(url: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else { return false };
    match (uri.scheme_str(), uri.host()) {
        (Some("wss"), Some(_)) => true,
        (Some("ws"), Some(host)) => is_loopback_host(host),
        _ => false,
    }
}

fn is_loopback_host(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn base(url: &str) -> String {
        ApiAddress::parse(Some(url)).unwrap().base
    }

    #[track_caller]
    fn problem(url: &str) -> String {
        ApiAddress::parse(Some(url)).unwrap_err().to_string()
    }

    #[test]
    fn an_address_ends_with_one_slash() {
        assert_eq!(ApiAddress::parse(None).unwrap().of_method("a.b"), "https://slack.com/api/a.b");
        assert_eq!(base("https://slack.example/api"), "https://slack.example/api/");
        assert_eq!(base("https://slack.example/api//"), "https://slack.example/api/");
        assert_eq!(base("https://slack.example"), "https://slack.example/");
    }

    #[test]
    fn without_encryption_only_this_machine_is_reached() {
        for url in
            ["http://127.0.0.1:1", "http://127.9.9.9/x", "http://[::1]:1", "http://LocalHost"]
        {
            let address = ApiAddress::parse(Some(url)).unwrap();
            assert!(address.is_loopback && !address.is_encrypted, "{url}");
        }
        for host in ["slack.com", "128.0.0.1", "localhost.example", "[::2]", "127.0.0.1.example"] {
            let url = format!("http://{host}/api/");
            assert_eq!(
                problem(&url),
                format!(
                    "`{url}` would carry the token unencrypted: use `https://` (`http://` is for this machine alone)"
                )
            );
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        insta::assert_snapshot!(problem("slack.com"), @"`slack.com` is not an `https://` address");
        insta::assert_snapshot!(problem(""), @"`` is not an `https://` address");
        insta::assert_snapshot!(problem("ftp://slack.com/"), @"`ftp://slack.com/` is not an `https://` address");
        insta::assert_snapshot!(problem("https://slack.com/api?x=1"), @"`https://slack.com/api?x=1` must end with a path: no `?` and no `#`");
        insta::assert_snapshot!(problem("https://slack.com/api#x"), @"`https://slack.com/api#x` must end with a path: no `?` and no `#`");
        for url in
            ["https://me:secret@slack.com/", "http://secret@slack.com", "me:secret@slack.com"]
        {
            assert_eq!(
                problem(url),
                "the address of the Slack API must not hold a user or a password"
            );
        }
    }

    #[test]
    fn a_socket_is_encrypted_or_on_this_machine() {
        for url in ["wss://wss-primary.slack.com/link/?ticket=1", "ws://127.0.0.1:80/"] {
            assert!(is_socket_address(url), "{url}");
        }
        for url in ["ws://slack.com/", "https://slack.com/", "", "wss:", "/link"] {
            assert!(!is_socket_address(url), "{url}");
        }
    }
}
