//! Observes the actual state without Turnbridge's commands: whether the board's port responds, and
//! whether the registered Stop hooks hold a turn.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::{AgreementRow, UNSAID};
use crate::doctor::healthy_setup::HealthySetup;
use crate::support::world::{feed, payload};

/// Returns the observed state. Facts that are not observed are `-`.
pub fn seen(healthy: &HealthySetup) -> AgreementRow {
    let board = fs::read(healthy.state("board.json")).ok();
    let board = board.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let port = board.and_then(|board| board["port"].as_u64());
    let board = if port.is_some_and(answers) { "served" } else { "none" };
    let gate = if is_held(healthy) { "on" } else { "off" };
    AgreementRow { board, gate, ..UNSAID }
}

fn answers(port: u64) -> bool {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", u16::try_from(port).unwrap())) else {
        return false;
    };
    let request = format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    stream.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let mut answer = [0; 12];
    stream.write_all(request.as_bytes()).is_ok()
        && stream.read_exact(&mut answer).is_ok()
        && answer.ends_with(b"200")
}

/// Returns whether a registered Stop hook holds a turn without speech.
fn is_held(healthy: &HealthySetup) -> bool {
    let text = fs::read_to_string(healthy.settings()).unwrap_or_default();
    let settings: Value = serde_json::from_str(&text).unwrap_or_default();
    if settings["disableAllHooks"] == true {
        return false;
    }
    let groups = settings["hooks"]["Stop"].as_array().cloned().unwrap_or_default();
    let mut calls: Vec<(String, Vec<String>)> = Vec::new();
    for hook in groups.iter().flat_map(|group| group["hooks"].as_array().unwrap()) {
        let arguments = hook["args"].as_array().unwrap().iter();
        let arguments = arguments.map(|argument| argument.as_str().unwrap().to_owned());
        calls.push((hook["command"].as_str().unwrap().to_owned(), arguments.collect()));
    }
    let is_plugin_on = settings["enabledPlugins"]["turnbridge@m"] == true;
    if is_plugin_on {
        let program = healthy.programs().join("turnbridge-stop-gate");
        let arguments = ["--origin", "plugin"].map(str::to_owned).to_vec();
        calls.push((program.display().to_string(), arguments));
    }
    let option = &settings["pluginConfigs"]["turnbridge@m"]["options"]["gate"];
    let mut stop =
        payload("Stop", json!({"stop_hook_active": false, "last_assistant_message": "x"}));
    stop["cwd"] = json!(healthy.world.hermetic.project());
    calls.iter().enumerate().any(|(number, (program, arguments))| {
        // Each hook gets its own session: the second of two for the same event only repeats the
        // first's result.
        stop["session_id"] = json!(format!("925c8529-ee09-4cb8-8902-dd785b12ca0{number}"));
        if !Path::new(program).is_file() {
            return false;
        }
        let mut command = healthy.command("turnbridge-stop-gate");
        command.args(arguments);
        if arguments.iter().any(|argument| argument == "plugin") {
            command.env("CLAUDE_PLUGIN_ROOT", healthy.world.hermetic.root());
            if !option.is_null() {
                command.env("CLAUDE_PLUGIN_OPTION_GATE", option.to_string());
            }
        }
        feed(command, stop.to_string().as_bytes()).status.code() == Some(2)
    })
}
