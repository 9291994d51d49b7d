//! Creates a separate home and runs the executables of this build in it.

use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use testkit::Hermetic;

use crate::schemas;

pub const SESSION: &str = "825c8529-ee09-4cb8-8902-dd785b12ca0a";

pub const PROGRAMS: [&str; 4] =
    ["turnbridge", "turnbridge-notify", "turnbridge-status", "turnbridge-stop-gate"];

/// A separate home, in which a test runs the executables of this build.
pub struct World {
    pub hermetic: Hermetic,
    variables: Vec<(String, String)>,
    /// Programs of another build, and their folder.
    foreign: Option<(PathBuf, Vec<&'static str>)>,
}

impl World {
    /// Creates a world without the Stop gate, for tests of other features.
    pub fn new() -> World {
        let world = World::with_gate();
        world.configure("[gate]\nenabled = false\n");
        world
    }

    /// Creates a world with the default settings.
    pub fn with_gate() -> World {
        // A developer's machine may be WSL, which has an engine that is not on the PATH.
        World { hermetic: Hermetic::new(), variables: Vec::new(), foreign: None }
            .with("TURNBRIDGE_WSL_SIDE", "elsewhere")
    }

    /// Replaces the whole `config.toml`.
    pub fn configure(&self, config: &str) {
        let folder = self.hermetic.config_dir();
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("config.toml");
        std::fs::write(&path, config).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
    }

    /// From now on, uses these programs from another build's folder.
    #[cfg(unix)]
    pub fn take_from(&mut self, folder: &std::path::Path, programs: &[&'static str]) {
        self.foreign = Some((folder.to_owned(), programs.to_vec()));
    }

    /// Sets an environment variable for the commands from now on.
    pub fn with(mut self, name: &str, value: &str) -> World {
        self.set(name, value);
        self
    }

    /// Sets an environment variable for the commands from now on.
    pub fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// Returns a text without this world's own folders: `CONFIG` is the folder of `config.toml`,
    /// `~` that of everything. The result is the same on every system.
    pub fn without_paths(&self, text: &str) -> String {
        let config = self.hermetic.config_dir();
        let text = text.replace(config.to_str().unwrap(), "CONFIG");
        text.replace(self.hermetic.root().to_str().unwrap(), "~").replace('\\', "/")
    }

    /// Returns a call of an executable in this home, with the variables of the world.
    pub fn command(&self, program: &str) -> Command {
        let path = match program {
            "turnbridge" => env!("CARGO_BIN_EXE_turnbridge"),
            "turnbridge-notify" => env!("CARGO_BIN_EXE_turnbridge-notify"),
            "turnbridge-status" => env!("CARGO_BIN_EXE_turnbridge-status"),
            "turnbridge-stop-gate" => env!("CARGO_BIN_EXE_turnbridge-stop-gate"),
            other => panic!("no executable {other}"),
        };
        let foreign = self.foreign.as_ref().filter(|(_, programs)| programs.contains(&program));
        let path = foreign.map_or(PathBuf::from(path), |(folder, _)| folder.join(program));
        let mut command = self.hermetic.command(&path);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Calls a hook like Claude and checks the common rules: exit 0, no output.
    #[track_caller]
    pub fn hook(&self, program: &str, arguments: &[&str], input: &[u8]) {
        let mut command = self.command(program);
        command.args(arguments);
        let output = feed(command, input);
        assert_silent_success(&output);
    }

    /// Calls the hook of this payload: the Stop gate for a Stop, otherwise the status hook.
    #[track_caller]
    pub fn status(&self, payload: &Value) {
        let program = if payload["hook_event_name"] == "Stop" {
            "turnbridge-stop-gate"
        } else {
            "turnbridge-status"
        };
        self.hook(program, &["--origin", "plugin"], payload.to_string().as_bytes());
    }

    /// Returns the output of `turnbridge`, which must succeed, and conform to its schema.
    #[track_caller]
    pub fn turnbridge(&self, arguments: &[&str]) -> String {
        let output = self.command("turnbridge").args(arguments).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        let printed = String::from_utf8(output.stdout).unwrap();
        schemas::check_output(arguments, &printed);
        printed
    }

    /// Returns all sessions, with stopped ones.
    #[track_caller]
    pub fn sessions(&self) -> Vec<Value> {
        let list: Value =
            serde_json::from_str(&self.turnbridge(&["sessions", "--json", "--all"])).unwrap();
        list["sessions"].as_array().unwrap().clone()
    }

    /// Returns the path of a Claude session's file.
    pub fn session_file(&self, id: &str) -> PathBuf {
        self.hermetic.state_dir().join("sessions").join(format!("claude-{id}.json"))
    }

    /// Returns the problems in the hooks' log.
    pub fn hooks_log(&self) -> Vec<Value> {
        self.log_entries("warn")
    }

    /// Returns the decisions of the Stop gate.
    pub fn decisions(&self) -> Vec<Value> {
        self.log_entries("info")
    }

    fn log_entries(&self, level: &str) -> Vec<Value> {
        let path = self.hermetic.state_dir().join("logs/hooks.log");
        let entries = lines_of(&std::fs::read_to_string(path).unwrap_or_default());
        entries.into_iter().filter(|entry| entry["level"] == level).collect()
    }
}

/// Parses JSON lines. The last one must be complete.
#[track_caller]
pub fn lines_of(jsonl: &str) -> Vec<Value> {
    assert!(jsonl.is_empty() || jsonl.ends_with('\n'), "the last line is not whole: {jsonl}");
    jsonl.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

/// Runs a command with this input and returns its output.
pub fn feed(mut command: Command, input: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    match stdin.write_all(input) {
        // A process that reads no input may have ended already.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        written => written.unwrap(),
    }
    drop(stdin);
    child.wait_with_output().unwrap()
}

/// Asserts exit code 0 and no output.
#[track_caller]
pub fn assert_silent_success(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}

/// Returns a payload of `event` with the common fields.
pub fn payload(event: &str, more: Value) -> Value {
    let mut payload = json!({
        "session_id": SESSION,
        "transcript_path": "/nowhere/transcript.jsonl",
        "cwd": "/home/user/project",
        "hook_event_name": event,
    });
    let members = payload.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    payload
}

/// Returns the payloads recorded from the real Claude Code, by file name.
pub fn recordings() -> Vec<(String, Vec<u8>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../turnbridge-core/testdata/claude/hooks");
    let mut recordings: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(&path).unwrap())
        })
        .collect();
    recordings.sort();
    recordings
}
