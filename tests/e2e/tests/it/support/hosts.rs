//! Simulates the two host applications, tvine and Kawaii Terminal. Their environment variables tell
//! a hook where to report: tvine names a folder and a socket, Kawaii Terminal names a file. Tests
//! read what the hooks have written there.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use serde_json::Value;

pub const TVINE_SESSION: &str = "tvine-session-1";
pub const PANE: &str = "pane-7";
pub const INSTANCE: &str = "instance-3";

/// A simulated tvine, which records the messages on its socket.
pub struct Tvine {
    project_dir: PathBuf,
    socket: PathBuf,
    messages: Arc<Mutex<Vec<Value>>>,
    stopped: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

impl Tvine {
    #[track_caller]
    pub fn start(root: &Path) -> Tvine {
        let socket = root.join("tvine.sock");
        let listener = UnixListener::bind(&socket).expect("listen as tvine");
        let messages = Arc::new(Mutex::new(Vec::new()));
        let stopped = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let (messages, stopped) = (Arc::clone(&messages), Arc::clone(&stopped));
            move || collect_lines(&listener, &messages, &stopped)
        });
        let project_dir = root.join("tvine");
        Tvine { project_dir, socket, messages, stopped, listener: Some(thread) }
    }

    pub fn set_variables(&self, command: &mut Command) {
        command
            .env("TVINE_PROJECT_DIR", &self.project_dir)
            .env("TVINE_SESSION_ID", TVINE_SESSION)
            .env("TVINE_SOCKET_PATH", &self.socket);
    }

    /// Returns all messages of the socket, one per line.
    #[track_caller]
    pub fn messages(&self) -> Vec<Value> {
        self.messages.lock().expect("the listener's messages").clone()
    }

    /// Returns the content of the session's status file.
    #[track_caller]
    pub fn status(&self) -> Value {
        read_json(&self.project_dir.join("sessions").join(TVINE_SESSION).join("status.json"))
    }
}

impl Drop for Tvine {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Only a connection interrupts `accept`.
        let _ = UnixStream::connect(&self.socket);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

fn collect_lines(listener: &UnixListener, messages: &Mutex<Vec<Value>>, stopped: &AtomicBool) {
    for connection in listener.incoming().flatten() {
        if stopped.load(Ordering::Relaxed) {
            return;
        }
        for line in BufReader::new(connection).lines().map_while(Result::ok) {
            // Invalid JSON is kept as a string, so that tests fail on it.
            let message = serde_json::from_str(&line).unwrap_or(Value::String(line));
            messages.lock().expect("the listener's messages").push(message);
        }
    }
}

/// A simulated Kawaii Terminal, which reads the lines of its file.
pub struct Kawaii {
    path: PathBuf,
}

impl Kawaii {
    pub fn new(root: &Path) -> Kawaii {
        Kawaii { path: root.join("kawaii.jsonl") }
    }

    pub fn set_variables(&self, command: &mut Command) {
        command
            .env("KAWAII_NOTIFY_PATH", &self.path)
            .env("KAWAII_PANE_ID", PANE)
            .env("KAWAII_TERMINAL_INSTANCE_ID", INSTANCE);
    }

    /// Returns every line of the file so far.
    #[track_caller]
    pub fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        let parse =
            |line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: `{line}`"));
        text.lines().map(parse).collect()
    }
}

#[track_caller]
fn read_json(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("read `{}`: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap_or_else(|error| {
        panic!("`{}`: {error}: {}", path.display(), String::from_utf8_lossy(&bytes))
    })
}

/// Returns `"word word"` per message, the values of the two fields, for comparisons.
#[track_caller]
pub fn pairs(messages: &[Value], first: &str, second: &str) -> Vec<String> {
    let text = |message: &Value, name: &str| match &message[name] {
        Value::String(text) => text.clone(),
        _ => panic!("no text `{name}` in {message}"),
    };
    messages
        .iter()
        .map(|message| format!("{} {}", text(message, first), text(message, second)))
        .collect()
}
