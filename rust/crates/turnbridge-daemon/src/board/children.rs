//! What commands of ours do better: the hooks in Claude's settings, and the way to a pane. They run as
//! children, with arguments and no shell, and what they say is shown as they say it (KT-83, KT-84).

use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use turnbridge_core::ids::SessionId;
use turnbridge_core::system::daemon_wire::DaemonStatus;
use turnbridge_core::text::texts::Language;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::process::companion;

use super::http::Response;

/// A command that asks Claude for its version takes a second or two.
const PATIENCE: Duration = Duration::from_secs(30);
const TICK: Duration = Duration::from_millis(10);
/// More than any of them says; a difference of settings is shown whole.
const LONGEST: u64 = 256 << 10;

pub fn settings(paths: &StatePaths, language: Language) -> Value {
    json!({
        "version": 1,
        "language": match language { Language::Japanese => "ja", Language::English => "en" },
        "claude_hooks": hooks_status(),
        "replies": replies(paths),
        "program_version": env!("CARGO_PKG_VERSION"),
    })
}

/// Who else uses the Slack app, as the daemon says it of itself; null: no replies are wanted.
fn replies(paths: &StatePaths) -> Value {
    let status = std::fs::read(paths.daemon_status()).ok();
    let status = status.and_then(|bytes| serde_json::from_slice::<DaemonStatus>(&bytes).ok());
    status.map_or(Value::Null, |status| json!(status.replies))
}

/// What `turnbridge hooks status --json` says, or its error.
fn hooks_status() -> Value {
    let said = run(&["hooks", "status", "--json"]);
    match said.as_ref().map(|said| (said.is_success, serde_json::from_str(&said.output))) {
        Ok((true, Ok(status))) => status,
        _ => outcome(said),
    }
}

/// Applying twice changes nothing: "apply now" is the same as switching it on.
pub fn set_claude_hooks(enabled: bool) -> Response {
    let action = if enabled { "apply" } else { "remove" };
    let mut answer = outcome(run(&["hooks", action, "--yes"]));
    answer["claude_hooks"] = hooks_status();
    Response::json(200, &answer)
}

/// What was done; where no pane is known and none can be opened, the command that a person can run.
pub fn focus(id: &SessionId) -> Response {
    let said = run(&["focus", "--json", "--", id.as_str()]);
    let done = said.as_ref().ok().filter(|said| said.is_success);
    let done = done.and_then(|said| serde_json::from_str::<Value>(&said.output).ok());
    Response::json(200, &done.map_or_else(|| outcome(said), |done| focused(&done)))
}

fn focused(done: &Value) -> Value {
    let is_done = done["done"] != "printed";
    let mut answer = json!({ "ok": is_done, "done": done["done"], "terminal": done["terminal"] });
    if !is_done {
        answer["command"] = done["command"].clone();
    }
    answer
}

struct Said {
    is_success: bool,
    output: String,
    errors: String,
}

fn outcome(said: io::Result<Said>) -> Value {
    match said {
        Ok(said) if said.is_success => json!({ "ok": true, "output": said.output }),
        Ok(said) => {
            let line = |prefix: &str| {
                let mut lines = said.errors.lines();
                lines.find_map(|line| line.strip_prefix(prefix)).map(|text| text.trim().to_owned())
            };
            let error = line("error:").unwrap_or_else(|| said.errors.trim().to_owned());
            json!({ "ok": false, "output": said.output, "error": error, "hint": line("hint:") })
        }
        Err(error) => json!({
            "ok": false,
            "error": format!("`turnbridge` could not be run: {error}"),
            "hint": "run `turnbridge doctor`",
        }),
    }
}

/// Runs `turnbridge`, which lies beside this program, to its end.
fn run(arguments: &[&str]) -> io::Result<Said> {
    let program = companion::path_of("turnbridge").ok_or(io::ErrorKind::NotFound)?;
    let mut command = Command::new(program);
    command.args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(windows)]
    {
        // CREATE_NO_WINDOW.
        std::os::windows::process::CommandExt::creation_flags(&mut command, 0x0800_0000);
    }
    let mut child = command.spawn()?;
    let output = read_aside(child.stdout.take())?;
    let errors = read_aside(child.stderr.take())?;
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= deadline {
            let _ = child.kill();
            let _ = child.wait();
            return Err(io::ErrorKind::TimedOut.into());
        }
        thread::sleep(TICK);
    };
    // Whoever has outlived it may hold its streams.
    let text = |texts: std::sync::mpsc::Receiver<String>| {
        texts.recv_timeout(Duration::from_secs(1)).unwrap_or_default()
    };
    Ok(Said { is_success: status.success(), output: text(output), errors: text(errors) })
}

/// In a thread of its own, so that neither stream waits for the other.
fn read_aside(
    stream: Option<impl Read + Send + 'static>,
) -> io::Result<std::sync::mpsc::Receiver<String>> {
    let (sender, receiver) = channel();
    let read = move || {
        let mut bytes = Vec::new();
        if let Some(stream) = stream {
            let _ = stream.take(LONGEST).read_to_end(&mut bytes);
        }
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    };
    thread::Builder::new().name("board-child".to_owned()).spawn(read)?;
    Ok(receiver)
}
