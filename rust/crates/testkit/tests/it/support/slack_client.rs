//! Sends raw HTTP requests to the loopback Slack's Web API, so that tests control every byte, and
//! parses the responses.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;
use testkit::SlackApi;

pub const BOT: &str = "xoxb-loopback-bot";
pub const APP: &str = "xapp-loopback-app";
pub const JSON: &str = "application/json; charset=utf-8";
pub const FORM: &str = "application/x-www-form-urlencoded";

#[derive(Debug)]
pub struct SlackResponse {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl SlackResponse {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// One connection, kept alive between requests.
pub struct SlackClient<S = TcpStream> {
    reader: BufReader<S>,
}

impl SlackClient {
    /// Connects to a server without TLS.
    pub fn connect(api: &SlackApi) -> io::Result<SlackClient> {
        let socket = TcpStream::connect(address(api))?;
        socket.set_read_timeout(Some(Duration::from_secs(20)))?;
        Ok(SlackClient::over(socket))
    }

    pub fn set_timeout(&self, timeout: Duration) {
        self.reader.get_ref().set_read_timeout(Some(timeout)).unwrap();
    }
}

impl<S: Read + Write> SlackClient<S> {
    /// Uses an existing stream, for example one with TLS.
    pub fn over(stream: S) -> SlackClient<S> {
        SlackClient { reader: BufReader::new(stream) }
    }

    /// Sends a request and reads its response.
    pub fn ask(&mut self, request: &SlackRequest) -> io::Result<SlackResponse> {
        self.reader.get_mut().write_all(request.to_bytes().as_bytes())?;
        self.reader.get_mut().flush()?;
        self.read_response()
    }

    fn read_response(&mut self) -> io::Result<SlackResponse> {
        let status_line = self.read_line()?;
        let status = status_line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or(io::ErrorKind::InvalidData)?;
        let mut response = SlackResponse { status, headers: Vec::new(), body: String::new() };
        loop {
            let line = self.read_line()?;
            let Some((name, value)) = line.split_once(':') else { break };
            response.headers.push((name.to_owned(), value.trim().to_owned()));
        }
        let length = response.header("content-length").and_then(|length| length.parse().ok());
        let mut body = vec![0; length.ok_or(io::ErrorKind::InvalidData)?];
        self.reader.read_exact(&mut body)?;
        response.body = String::from_utf8(body).map_err(io::Error::other)?;
        Ok(response)
    }

    fn read_line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.reader.read_line(&mut line)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(line.trim_end().to_owned()),
        }
    }
}

/// A request that tests can change before it is sent.
#[derive(Clone)]
pub struct SlackRequest {
    pub http_method: &'static str,
    pub method: String,
    pub bearer: Option<String>,
    pub content_type: Option<String>,
    pub body: String,
}

impl SlackRequest {
    /// Returns a POST request with JSON and the bot's token.
    pub fn json(method: &str, arguments: &Value) -> SlackRequest {
        SlackRequest {
            http_method: "POST",
            method: method.to_owned(),
            bearer: Some(BOT.to_owned()),
            content_type: Some(JSON.to_owned()),
            body: arguments.to_string(),
        }
    }

    /// Returns a POST request with a form and the bot's token.
    pub fn form(method: &str, arguments: &[(&str, &str)]) -> SlackRequest {
        let content_type = Some(FORM.to_owned());
        let body = encode_form(arguments);
        SlackRequest { content_type, body, ..SlackRequest::json(method, &Value::Null) }
    }

    /// Returns a GET request with the bot's token.
    pub fn get(method: &str, arguments: &[(&str, &str)]) -> SlackRequest {
        SlackRequest {
            http_method: "GET",
            method: format!("{method}?{}", encode_form(arguments)),
            bearer: Some(BOT.to_owned()),
            content_type: None,
            body: String::new(),
        }
    }

    pub fn with_token(self, token: &str) -> SlackRequest {
        SlackRequest { bearer: Some(token.to_owned()), ..self }
    }

    pub fn without_token(self) -> SlackRequest {
        SlackRequest { bearer: None, ..self }
    }

    pub fn with_content_type(self, content_type: &str) -> SlackRequest {
        SlackRequest { content_type: Some(content_type.to_owned()), ..self }
    }

    /// Sends over a new connection.
    #[track_caller]
    pub fn send(&self, api: &SlackApi) -> SlackResponse {
        SlackClient::connect(api).and_then(|mut client| client.ask(self)).unwrap()
    }

    /// Sends over a new connection, and returns the JSON of the response.
    #[track_caller]
    pub fn answer(&self, api: &SlackApi) -> Value {
        self.send(api).json()
    }

    /// Returns the error of a refused request.
    #[track_caller]
    pub fn error(&self, api: &SlackApi) -> String {
        let answer = self.answer(api);
        assert_eq!(answer["ok"], false, "{answer}");
        answer["error"].as_str().unwrap().to_owned()
    }

    fn to_bytes(&self) -> String {
        let mut head = format!("{} /api/{} HTTP/1.1\r\nHost: x\r\n", self.http_method, self.method);
        if let Some(token) = &self.bearer {
            head.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        if let Some(content_type) = &self.content_type {
            head.push_str(&format!("Content-Type: {content_type}\r\n"));
        }
        format!("{head}Content-Length: {}\r\n\r\n{}", self.body.len(), self.body)
    }
}

/// Returns the server's host and port.
pub fn address(api: &SlackApi) -> String {
    let url = api.base_url();
    let (_, rest) = url.split_once("://").unwrap();
    rest.strip_suffix("/api/").unwrap().to_owned()
}

fn encode_form(arguments: &[(&str, &str)]) -> String {
    let pairs = arguments.iter().map(|(name, value)| format!("{name}={}", encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}

fn encode(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}
