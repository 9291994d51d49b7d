//! Tests the loopback Anthropic Messages API: scripted replies, streams, errors and delays. It uses
//! raw sockets, because a client library would hide keep-alive and the pause between two events.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{MessagesApi, ModelReply, Script};

struct MessagesClient {
    reader: BufReader<TcpStream>,
}

struct MessagesResponse {
    status: String,
    body: String,
}

impl MessagesClient {
    fn connect(api: &MessagesApi) -> MessagesClient {
        let address = api.base_url().strip_prefix("http://").unwrap().to_owned();
        MessagesClient { reader: BufReader::new(TcpStream::connect(address).unwrap()) }
    }

    fn post(&mut self, path: &str, body: &Value) -> MessagesResponse {
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.reader.get_mut().write_all(request.as_bytes()).unwrap();
        self.read_response()
    }

    fn ask(&mut self, body: &Value) -> MessagesResponse {
        self.post("/v1/messages?beta=true", body)
    }

    fn read_response(&mut self) -> MessagesResponse {
        let status = self.read_line();
        let mut length = None;
        loop {
            let line = self.read_line();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = Some(value.parse().unwrap());
            }
        }
        let body = match length {
            Some(length) => self.read_exactly(length),
            None => self.read_chunks(),
        };
        MessagesResponse { status, body }
    }

    fn read_chunks(&mut self) -> String {
        let mut body = String::new();
        loop {
            let size = usize::from_str_radix(&self.read_line(), 16).unwrap();
            body.push_str(&self.read_exactly(size));
            assert_eq!(self.read_line(), "");
            if size == 0 {
                return body;
            }
        }
    }

    fn read_line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn read_exactly(&mut self, length: usize) -> String {
        let mut bytes = vec![0; length];
        self.reader.read_exact(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }
}

fn request(first_user_text: &str) -> Value {
    json!({
        "model": "m", "tools": [{"name": "Bash"}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": first_user_text}]}],
    })
}

fn streaming(mut request: Value) -> Value {
    request["stream"] = true.into();
    request
}

fn text_of(response: &MessagesResponse) -> String {
    let message: Value = serde_json::from_str(&response.body).unwrap();
    message["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn replies_come_in_order_over_one_connection_then_ok() {
    let api = MessagesApi::start(vec![ModelReply::text("one"), ModelReply::text("two")]);
    api.push(ModelReply::text("three"));
    let mut client = MessagesClient::connect(&api);
    let answers: Vec<String> = (0..4).map(|_| text_of(&client.ask(&request("hello")))).collect();
    assert_eq!(answers, ["one", "two", "three", "ok."]);
    assert_eq!(api.requests().len(), 4);
    assert_eq!(api.requests()[0]["messages"][0]["content"][0]["text"], "hello");
}

#[test]
fn a_stream_carries_text_and_several_tool_calls() {
    let reply = ModelReply::text("Let me look.")
        .and_tool("Read", json!({"file_path": "a"}))
        .and_tool("Bash", json!({"command": "ls"}));
    let api = MessagesApi::start(vec![reply]);
    let response = MessagesClient::connect(&api).ask(&streaming(request("hello")));
    assert!(response.status.contains(" 200 "), "{}", response.status);

    let data = response.body.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = data.map(|data| serde_json::from_str(data).unwrap()).collect();
    let names = response.body.lines().filter_map(|line| line.strip_prefix("event: "));
    assert!(names.eq(events.iter().map(|event| event["type"].as_str().unwrap())));

    let deltas: Vec<&Value> = events.iter().map(|event| &event["delta"]).collect();
    let text: String = deltas.iter().filter_map(|delta| delta["text"].as_str()).collect();
    assert_eq!(text, "Let me look.");
    let inputs: Vec<&str> =
        deltas.iter().filter_map(|delta| delta["partial_json"].as_str()).collect();
    assert_eq!(inputs, [r#"{"file_path":"a"}"#, r#"{"command":"ls"}"#]);
    let ids: Vec<&str> =
        events.iter().filter_map(|event| event["content_block"]["id"].as_str()).collect();
    assert_ne!(ids[0], ids[1]);
    assert_eq!(events[events.len() - 2]["delta"]["stop_reason"], "tool_use");
    assert_eq!(events[events.len() - 1]["type"], "message_stop");
}

#[test]
fn an_api_error_has_its_status_and_type() {
    let api = MessagesApi::start(vec![ModelReply::error(529, "overloaded_error", "Overloaded")]);
    let response = MessagesClient::connect(&api).ask(&streaming(request("hello")));
    assert!(response.status.contains(" 529 "), "{}", response.status);
    let body: Value = serde_json::from_str(&response.body).unwrap();
    assert_eq!(
        body,
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    );
}

#[test]
fn a_request_without_tools_leaves_the_script_alone() {
    let api = MessagesApi::start(vec![ModelReply::text("main")]);
    let mut client = MessagesClient::connect(&api);
    let mut title = request("write a title");
    title["tools"] = json!([]);
    assert_eq!(text_of(&client.ask(&title)), "Test session");
    assert_eq!(text_of(&client.ask(&request("hello"))), "main");
    assert_eq!(api.requests().len(), 1);
}

#[test]
fn a_marked_conversation_has_its_own_queue() {
    let script = Script::new()
        .then(ModelReply::text("main"))
        .on("count the files", vec![ModelReply::text("sub")]);
    let api = MessagesApi::start(script);
    let mut client = MessagesClient::connect(&api);
    assert_eq!(text_of(&client.ask(&request("please count the files"))), "sub");
    assert_eq!(text_of(&client.ask(&request("please count the files"))), "ok.");
    assert_eq!(text_of(&client.ask(&request("hello"))), "main");
}

#[test]
fn delays_hold_back_the_first_byte_and_what_follows_the_first_word() {
    let delay = Duration::from_millis(120);
    let api = MessagesApi::start(vec![ModelReply::text("one two").delayed(delay).pausing(delay)]);
    let mut client = MessagesClient::connect(&api);
    let started = Instant::now();
    let body = streaming(request("hello")).to_string();
    let head =
        format!("POST /v1/messages HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    client.reader.get_mut().write_all(head.as_bytes()).unwrap();
    client.read_line();
    assert!(started.elapsed() >= delay);
    let mut lines = Vec::new();
    while !lines.last().is_some_and(|line: &String| line.contains("\"one\"")) {
        lines.push(client.read_line());
    }
    let first_word = Instant::now();
    while !lines.last().is_some_and(|line: &String| line.contains("\" two\"")) {
        lines.push(client.read_line());
    }
    // Half of it, because the first word may have been in the socket before this test was scheduled
    // again.
    assert!(first_word.elapsed() >= delay / 2);
}

#[test]
fn other_paths_are_not_found_and_tokens_are_counted() {
    let api = MessagesApi::start(Script::new());
    let mut client = MessagesClient::connect(&api);
    assert!(client.post("/api/event_logging", &json!({})).status.contains(" 404 "));
    let counted = client.post("/v1/messages/count_tokens?beta=true", &json!({}));
    assert_eq!(counted.body, r#"{"input_tokens":1}"#);
}

#[test]
fn dropping_the_server_ends_its_connections() {
    let api = MessagesApi::start(Script::new());
    let mut client = MessagesClient::connect(&api);
    client.ask(&request("hello"));
    drop(api);
    assert_eq!(client.reader.read(&mut [0; 1]).unwrap_or(0), 0);
}
