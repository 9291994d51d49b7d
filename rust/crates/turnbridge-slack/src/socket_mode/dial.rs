//! Opens a WebSocket: requests an address from Slack, which is valid for one connection, and
//! connects.

use std::sync::{Arc, Weak};

use tungstenite::client::{IntoClientRequest, client_with_config};
use tungstenite::error::ProtocolError;
use tungstenite::handshake::HandshakeError;
use tungstenite::http::HeaderValue;
use tungstenite::http::header::USER_AGENT;
use tungstenite::protocol::{WebSocket, WebSocketConfig};
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, Resolver};
use ureq::unversioned::transport::time::Instant;
use ureq::unversioned::transport::{
    ConnectionDetails, Connector, NextTimeout, ShutdownHandle, Transport,
};
use ureq::{Error, Timeout};

use super::timing::Timing;
use super::wire::{Wire, timeout};
use crate::call_error::{CallError, ConnectObstacle};
use crate::methods::SocketUrl;
use crate::token::Token;
use crate::web_api::{WebApi, obstacle};

/// The limit of a message. A click's message contains the whole message that was clicked on.
const MESSAGE_BYTES: usize = 16 << 20;

/// The callback for every TCP connection on the way, by which another thread can end it. If it
/// returns an error, no connection is made.
pub(crate) type OnConnection =
    Arc<dyn Fn(Weak<dyn ShutdownHandle>) -> Result<(), Error> + Send + Sync>;

pub(crate) fn open_web_socket(
    api: &WebApi,
    app_token: &Token,
    timing: &Timing,
    on_connection: OnConnection,
) -> Result<WebSocket<Wire>, CallError> {
    let url = api.open_socket(app_token)?;
    dial(api, &url, timing, on_connection).map_err(|cause| CallError::NotSent { cause })
}

fn dial(
    api: &WebApi,
    url: &SocketUrl,
    timing: &Timing,
    on_connection: OnConnection,
) -> Result<WebSocket<Wire>, ConnectObstacle> {
    let transport = connect(api, url, timing, on_connection).map_err(|error| obstacle(&error))?;
    let mut request = url.expose().into_client_request().map_err(|_| refused("its address"))?;
    let agent = HeaderValue::from_static(concat!("turnbridge/", env!("CARGO_PKG_VERSION")));
    request.headers_mut().insert(USER_AGENT, agent);
    let config = WebSocketConfig::default()
        .read_buffer_size(4 << 10)
        .write_buffer_size(0)
        .max_message_size(Some(MESSAGE_BYTES))
        .max_frame_size(Some(MESSAGE_BYTES));
    let wire = Wire::new(transport, timing.upgrade_within);
    match client_with_config(request, wire, Some(config)) {
        Ok((mut web_socket, _)) => {
            web_socket.get_mut().read_within = timing.tick;
            web_socket.get_mut().write_within = timing.write_within;
            Ok(web_socket)
        }
        Err(HandshakeError::Interrupted(_)) => Err(refused("no answer in time")),
        Err(HandshakeError::Failure(error)) => Err(refused(&describe_failure(&error))),
    }
}

/// Connects as ureq itself does for a call.
fn connect(
    api: &WebApi,
    url: &SocketUrl,
    timing: &Timing,
    on_connection: OnConnection,
) -> Result<Box<dyn Transport>, Error> {
    // `ws` and `wss` are no schemes to ureq. Their ports are those of HTTP.
    let http_url = url.expose().replacen("ws", "http", 1);
    let uri: Uri = http_url.parse().map_err(|_| Error::BadUri("no address".to_owned()))?;
    let config = api.agent.config();
    let resolver = DefaultResolver::default();
    let wait = timeout(timing.connect_within);
    let proxy = config.proxy().filter(|proxy| !proxy.is_no_proxy(&uri));
    let addrs = match proxy {
        // A proxy resolves the name itself.
        Some(proxy) if !proxy.resolve_target() => resolver.empty(),
        _ => resolver.resolve(&uri, config, wait)?,
    };
    let connector = Arc::clone(&api.connector);
    let run_connector = {
        let connector = Arc::clone(&connector);
        move |details: &ConnectionDetails| {
            connector.connect(details, None)?.ok_or(Error::ConnectionFailed)
        }
    };
    let details = ConnectionDetails {
        uri: &uri,
        addrs,
        config,
        request_level: false,
        resolver: &resolver,
        now: Instant::now(),
        timeout: NextTimeout { reason: Timeout::Connect, ..wait },
        current_time: Arc::new(Instant::now),
        run_connector: Arc::new(run_connector),
        register_shutdown: on_connection,
    };
    let transport = connector.connect(&details, None)?.ok_or(Error::ConnectionFailed)?;
    if details.needs_tls() && !transport.is_tls() {
        return Err(Error::TlsRequired);
    }
    Ok(transport)
}

fn refused(why: &str) -> ConnectObstacle {
    ConnectObstacle::Connection(format!("it gave no WebSocket: {why}"))
}

fn describe_failure(error: &tungstenite::Error) -> String {
    match error {
        tungstenite::Error::Http(response) => format!("HTTP {}", response.status().as_u16()),
        tungstenite::Error::Protocol(ProtocolError::HandshakeIncomplete) => {
            "the connection ended".to_owned()
        }
        tungstenite::Error::Io(cause) => cause.to_string(),
        other => other.to_string(),
    }
}
