//! Makes calls of Slack's Web API, over connections that are kept. The typed calls are in
//! `methods`, `catch_up` and `find_message`; `answer` interprets the answers. There are no retries
//! here.

use std::fmt;
use std::io::Read;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use ureq::http::{HeaderValue, Response};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Body, Error, Proxy};

use crate::address::{ApiAddress, ApiConnection, ConnectionError};
use crate::answer::{ApiAnswer, interpret, plain_code};
use crate::call_error::{CallError, ConnectObstacle};
use crate::form::encode_form;
use crate::ids::check_method;
use crate::methods::TokenIdentity;
use crate::request_sent::{WatchingConnector, watch};
use crate::tls_roots;
use crate::token::Token;

/// The limit of an answer, larger than any that Turnbridge needs. It limits the received bytes and
/// the unpacked ones.
const ANSWER_BYTES: u64 = 16 << 20;

/// The header with the scopes of a token. Every answer to a token that Slack knows has it.
const SCOPES: &str = "x-oauth-scopes";

/// The encoding of arguments. Not every method accepts JSON; the `chat.` ones do, and a form would
/// need their blocks as a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Json,
    Form,
}

impl Encoding {
    fn content_type(self) -> &'static str {
        match self {
            // Without the charset Slack answers with a warning.
            Encoding::Json => "application/json; charset=utf-8",
            Encoding::Form => "application/x-www-form-urlencoded",
        }
    }

    fn encode(self, arguments: &Value) -> Result<String, CallError> {
        match (self, arguments) {
            (Encoding::Json, Value::Object(_)) => Ok(arguments.to_string()),
            (Encoding::Form, Value::Object(arguments)) => Ok(encode_form(arguments)),
            (Encoding::Form, Value::Null) => Ok(String::new()),
            _ => Err(CallError::Invalid { what: "arguments must be an object" }),
        }
    }
}

/// A client of the Web API, which threads may share.
pub struct WebApi {
    pub(crate) agent: Agent,
    /// Proxy and TLS, which Socket Mode shares.
    pub(crate) connector: Arc<DefaultConnector>,
    address: ApiAddress,
    /// The identity of the token that was checked last.
    pub(crate) identity: Mutex<Option<(Token, TokenIdentity)>>,
}

impl WebApi {
    pub fn new(connection: ApiConnection) -> Result<WebApi, ConnectionError> {
        let address = ApiAddress::parse(connection.api_url.as_deref())?;
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            // A redirect would carry the token or lose the body. Slack has none.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(connection.connect_timeout))
            .timeout_global(Some(connection.timeout))
            .user_agent(concat!("turnbridge/", env!("CARGO_PKG_VERSION")))
            .accept("application/json")
            .input_buffer_size(32 << 10)
            .output_buffer_size(16 << 10)
            .https_only(address.is_encrypted)
            // A proxy is another machine: it cannot reach this one, and must not see the token
            // that `http://` to this machine carries.
            .proxy(if address.is_loopback { None } else { Proxy::try_from_env() });
        if address.is_encrypted {
            config = config.tls_config(tls_roots::tls_config()?);
        }
        let connector = Arc::new(DefaultConnector::new());
        let watching = WatchingConnector::new(Arc::clone(&connector), &address.authority);
        let agent = Agent::with_parts(config.build(), watching, DefaultResolver::default());
        Ok(WebApi { agent, connector, address, identity: Mutex::new(None) })
    }

    /// Makes a call. Returns the answer's whole object, in which `ok` is true.
    pub fn call(
        &self,
        token: &Token,
        method: &str,
        arguments: Value,
        encoding: Encoding,
    ) -> Result<Value, CallError> {
        self.call_telling_scopes(token, method, arguments, encoding).map(|(answer, _)| answer)
    }

    /// Makes a call. Returns the answer and the scopes of the token.
    pub(crate) fn call_telling_scopes(
        &self,
        token: &Token,
        method: &str,
        arguments: Value,
        encoding: Encoding,
    ) -> Result<(Value, Option<Vec<String>>), CallError> {
        check_method(method)?;
        let body = encoding.encode(&arguments)?;
        let (response, was_handed_over) = watch(|| {
            self.agent
                .post(self.address.of_method(method))
                .header(AUTHORIZATION, bearer(token)?)
                .header(CONTENT_TYPE, encoding.content_type())
                .send(&body)
        });
        let result = match response {
            Ok(response) => read_answer(response),
            Err(error) if was_handed_over => Err(CallError::Ambiguous { cause: describe(&error) }),
            Err(error) => Err(CallError::NotSent { cause: obstacle(&error) }),
        };
        result.map_err(|error| error.without(token))
    }
}

impl fmt::Debug for WebApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebApi").field("address", &self.address).finish_non_exhaustive()
    }
}

fn bearer(token: &Token) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", token.expose()))
        .map_err(|error| Error::Http(error.into()))?;
    value.set_sensitive(true);
    Ok(value)
}

fn read_answer(response: Response<Body>) -> Result<(Value, Option<Vec<String>>), CallError> {
    let (parts, body) = response.into_parts();
    // ureq's limit counts bytes before they are unpacked, and gzip packs a thousand into one.
    let body = read_at_most(ANSWER_BYTES, body.into_with_config().limit(ANSWER_BYTES).reader());
    let header = |value: &'static str| parts.headers.get(value)?.to_str().ok();
    let answer = interpret(ApiAnswer {
        status: parts.status.as_u16(),
        retry_after: header(RETRY_AFTER.as_str()),
        body,
    })?;
    Ok((answer, header(SCOPES).map(scopes)))
}

/// Reads the answer, one byte more than `limit` at most. `Err` contains the problem.
fn read_at_most(limit: u64, reader: impl Read) -> Result<Vec<u8>, String> {
    let too_large = || format!("the answer is larger than {} MiB", limit >> 20);
    let mut bytes = Vec::new();
    match reader.take(limit + 1).read_to_end(&mut bytes).map_err(Error::from) {
        Ok(count) if count as u64 <= limit => Ok(bytes),
        Ok(_) | Err(Error::BodyExceedsLimit(_)) => Err(too_large()),
        Err(error) => Err(format!("the answer broke off: {}", describe(&error))),
    }
}

/// Parses `chat:write,im:write`, with or without blanks.
fn scopes(header: &str) -> Vec<String> {
    header.split(',').filter_map(|scope| plain_code(scope.trim())).collect()
}

/// Returns the obstacle that the error means.
pub(crate) fn obstacle(error: &Error) -> ConnectObstacle {
    match error {
        Error::HostNotFound => ConnectObstacle::HostNotFound,
        Error::ConnectProxyFailed(cause) => ConnectObstacle::Proxy(cause.clone()),
        error if is_about_certificate(error) => ConnectObstacle::Certificate(describe(error)),
        error => ConnectObstacle::Connection(describe(error)),
    }
}

fn is_about_certificate(error: &Error) -> bool {
    let tls = match error {
        Error::Rustls(tls) => Some(tls),
        Error::Io(io) => io.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()),
        _ => None,
    };
    tls.is_some_and(|tls| matches!(tls, rustls::Error::InvalidCertificate(_)))
}

fn describe(error: &Error) -> String {
    match error {
        Error::Timeout(_) => "no answer in time".to_owned(),
        Error::Io(cause) => cause.to_string(),
        Error::Rustls(cause) => cause.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_without_end_is_read_up_to_the_limit() {
        let mut zeros = std::io::repeat(0).take(1 << 40);
        let error = read_at_most(ANSWER_BYTES, &mut zeros).unwrap_err();
        assert_eq!(error, "the answer is larger than 16 MiB");
        assert_eq!((1 << 40) - zeros.limit(), ANSWER_BYTES + 1);
        assert_eq!(read_at_most(3, &b"abc"[..]), Ok(b"abc".to_vec()));
    }
}
