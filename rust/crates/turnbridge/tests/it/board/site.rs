//! Helpers of the board's tests: they start a daemon with its board, and send valid and invalid
//! requests to it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::wait_until;

use crate::schemas;
use crate::support::world::{World, payload};

pub const TIMEOUT: Duration = Duration::from_secs(30);
pub const SESSION: &str = "825c8529-ee09-4cb8-8902-dd785b12ca0a";
pub const WITHOUT_SLACK: &str = "language = \"en\"\n[gate]\nenabled = false\n";

/// A world with a daemon and its board. A drop stops the daemon.
pub struct BoardSite {
    pub world: World,
    daemon: Option<Child>,
    pub port: u16,
    pub token: String,
}

/// A response of the board.
pub struct SiteResponse {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl SiteResponse {
    /// Returns the JSON of a successful response.
    #[track_caller]
    pub fn json(&self) -> Value {
        assert_eq!(self.status / 100, 2, "{}\n{}", self.head, self.body);
        serde_json::from_str(&self.body).expect("JSON")
    }
}

impl BoardSite {
    /// Starts a daemon without Slack.
    #[track_caller]
    pub fn start() -> BoardSite {
        BoardSite::with(World::new(), WITHOUT_SLACK)
    }

    /// Starts a daemon with this config and with a stand-in for `claude`.
    #[track_caller]
    pub fn with(world: World, config: &str) -> BoardSite {
        world.configure(config);
        fs::create_dir_all(world.hermetic.root().join("bin")).unwrap();
        let mut site = BoardSite { world, daemon: None, port: 0, token: String::new() };
        site.be_agent("exit 0");
        site.start_daemon();
        site
    }

    /// Returns a client of a running daemon, by its board's address. The caller ends that daemon.
    #[track_caller]
    pub fn at(world: World, url: &str) -> BoardSite {
        let address = url.trim().strip_prefix("http://127.0.0.1:").expect(url);
        let (port, token) = address.split_once("/#").expect(url);
        BoardSite { world, daemon: None, port: port.parse().unwrap(), token: token.to_owned() }
    }

    #[track_caller]
    pub fn start_daemon(&mut self) {
        let mut command = self.world.command("turnbridge");
        let path = std::env::var("PATH").unwrap();
        let bin = self.world.hermetic.root().join("bin");
        command.env("PATH", format!("{}:{path}", bin.display()));
        command.args(["daemon", "--foreground"]).stdin(Stdio::null());
        self.daemon = Some(command.spawn().unwrap());
        let board = wait_until(TIMEOUT, "the board", || self.board());
        self.port = board["port"].as_u64().unwrap().try_into().unwrap();
        self.token = board["token"].as_str().unwrap().to_owned();
    }

    /// Returns the output of `turnbridge board --json`, or `None` without a board.
    pub fn board(&self) -> Option<Value> {
        let output = self.world.command("turnbridge").args(["board", "--json"]).output().unwrap();
        let board =
            serde_json::from_slice(&output.stdout).ok().filter(|_| output.status.success())?;
        schemas::check("board", &board);
        Some(board)
    }

    /// Stops the daemon, which must succeed.
    #[track_caller]
    pub fn stop_daemon(&mut self) {
        self.world.turnbridge(&["daemon", "stop"]);
        let status = self.daemon.take().unwrap().wait().unwrap();
        assert!(status.success(), "{status:?}");
    }

    /// Installs a `claude` that records its call and then runs `script`.
    pub fn be_agent(&self, script: &str) {
        let path = self.world.hermetic.root().join("bin/claude");
        let text = format!(
            "#!/bin/sh\nprompt=$(cat)\n\
             {{ printf 'cwd=%s' \"$PWD\"; for a; do printf '|%s' \"$a\"; done; \
             printf '|stdin=%s\\036' \"$prompt\"; }} >> '{}'\n{script}\n",
            self.calls_file().display()
        );
        testkit::write_program(&path, &text);
    }

    fn calls_file(&self) -> PathBuf {
        self.world.hermetic.root().join("calls")
    }

    /// Returns the calls of the stand-in for `claude` so far.
    pub fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.calls_file()).unwrap_or_default();
        let whole = text.rsplit_once('\u{1e}').map_or("", |(whole, _)| whole);
        whole.split('\u{1e}').filter(|call| !call.is_empty()).map(str::to_owned).collect()
    }

    /// Calls a hook of the session.
    #[track_caller]
    pub fn hook(&self, event: &str, more: Value) {
        let mut payload = payload(event, more);
        payload["session_id"] = json!(SESSION);
        payload["cwd"] = json!(self.world.hermetic.project());
        self.world.status(&payload);
    }

    /// Makes a finished turn of the session.
    #[track_caller]
    pub fn turn(&self, prompt: &str) {
        self.hook("UserPromptSubmit", json!({ "prompt": prompt }));
        self.hook("Stop", json!({ "last_assistant_message": format!("done: {prompt}") }));
    }

    /// Returns the value of the header `Host`.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream
    }

    /// Sends these bytes and returns the response; the server closes the connection.
    #[track_caller]
    pub fn raw(&self, bytes: &[u8]) -> SiteResponse {
        let mut stream = self.connect();
        // The server may have refused it before all of it was sent.
        let _ = stream.write_all(bytes);
        read_response(&mut stream)
    }

    /// Sends a request with these headers and its length.
    #[track_caller]
    pub fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> SiteResponse {
        let length = body.len();
        let text =
            format!("{method} {path} HTTP/1.1\r\n{headers}Content-Length: {length}\r\n\r\n{body}");
        self.raw(text.as_bytes())
    }

    /// Returns the headers of a valid request.
    pub fn right(&self) -> String {
        format!(
            "Host: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n",
            self.host(),
            self.token
        )
    }

    /// Sends a valid GET request.
    #[track_caller]
    pub fn get(&self, path: &str) -> SiteResponse {
        self.request("GET", path, &self.right(), "")
    }

    /// Sends a valid POST request.
    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> SiteResponse {
        self.request("POST", path, &self.right(), &body.to_string())
    }

    /// Returns the session as the board shows it.
    #[track_caller]
    pub fn session(&self) -> Value {
        self.get(&format!("/api/sessions/claude/{SESSION}")).json()
    }

    /// Sends a reply to the session.
    #[track_caller]
    pub fn reply(&self, id: &str, text: &str) -> SiteResponse {
        let order = json!({ "id": id, "tool": "claude", "session_id": SESSION, "text": text });
        self.post("/api/replies", &order)
    }

    /// Waits until the reply has this state, and returns it.
    #[track_caller]
    pub fn wait_for_reply(&self, id: &str, state: &str) -> Value {
        let mut seen = Value::Null;
        wait_until(TIMEOUT, &format!("a reply that is {state}"), || {
            seen = self.session()["replies"].clone();
            let replies = seen.as_array().unwrap().iter();
            let mut own = replies.filter(|reply| reply["id"] == id && reply["state"] == state);
            own.next().cloned()
        })
    }

    /// Returns the stream of changes from its first event on.
    #[track_caller]
    pub fn events(&self) -> Events {
        let mut stream = self.connect();
        let request = format!("GET /api/events HTTP/1.1\r\n{}\r\n", self.right());
        stream.write_all(request.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        assert!(head.contains("text/event-stream"), "{head}");
        Events { reader }
    }
}

impl Drop for BoardSite {
    fn drop(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            let _ = self.world.command("turnbridge").args(["daemon", "stop"]).output();
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// The stream of changes from the board.
pub struct Events {
    reader: BufReader<TcpStream>,
}

impl Events {
    /// Returns the next event of that name and skips others. Returns `None` at the end of the
    /// stream.
    #[track_caller]
    pub fn next(&mut self, name: &str) -> Option<Value> {
        let mut event = String::new();
        // The board sends keep-alive lines, so that no read takes too long.
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < TIMEOUT, "no `{name}` in {TIMEOUT:?}");
            let mut line = String::new();
            if self.reader.read_line(&mut line).expect("an event") == 0 {
                return None;
            }
            if let Some(named) = line.strip_prefix("event: ") {
                named.trim().clone_into(&mut event);
            } else if let Some(data) = line.strip_prefix("data: ")
                && event == name
            {
                return Some(serde_json::from_str(data).expect("JSON"));
            }
        }
    }
}

/// Reads a response until the server closes the connection.
#[track_caller]
pub fn read_response(stream: &mut TcpStream) -> SiteResponse {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("an answer");
    let text = String::from_utf8(bytes).expect("UTF-8");
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {text:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect(head);
    SiteResponse { status, head: head.to_owned(), body: body.to_owned() }
}
