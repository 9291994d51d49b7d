//! Queries Codex for the hooks that it knows: `hooks/list` of its app server. The server is started
//! for this query alone, as a child on its standard streams; it is no background server, and ends
//! with them (Codex 0.169).

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The timeout. Codex responds within half a second.
const TIMEOUT: Duration = Duration::from_secs(8);
const TO_END: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(10);

/// The port of the discard service, where no process listens.
const NOWHERE: &str = "http://127.0.0.1:9";

/// The id of the request.
const LIST: u64 = 2;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedHook {
    /// `turnbridge@MARKETPLACE:hooks/codex.json:stop:0:0`
    pub key: String,
    pub fate: HookStatus,
}

/// Whether Codex runs a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookStatus {
    Runs,
    Untrusted,
    /// The hook was changed after the user trusted it.
    Changed,
    /// The user has switched it off.
    Off,
}

/// Returns all hooks that Codex knows, including other programs'. The error is a text.
pub fn list(program: &Path, folder: &Path) -> Result<Vec<ListedHook>, String> {
    let mut command = Command::new(program);
    command.arg("app-server").current_dir(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    // Blocks the server's requests to GitHub and chatgpt.com: the response needs no network.
    for variable in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env(variable, NOWHERE).env(variable.to_ascii_lowercase(), NOWHERE);
    }
    command.env_remove("NO_PROXY").env_remove("no_proxy");
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let streams = child.stdin.take().zip(child.stdout.take());
    let answer = match streams {
        Some((stdin, stdout)) => ask(stdin, stdout, folder),
        None => Err("it has no streams".to_owned()),
    };
    end(&mut child);
    listed(&answer?)
}

/// Sends the request and returns the response. It closes `stdin` at the end, which ends the server.
fn ask(mut stdin: ChildStdin, stdout: ChildStdout, folder: &Path) -> Result<Value, String> {
    let (sender, answers) = channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let mut messages = lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
        let answer = messages.find(|message| message["id"] == LIST);
        // The receiver is gone after a timeout.
        let _ = sender.send(answer);
    });
    let client = json!({"name": "turnbridge", "title": "Turnbridge", "version": super::check_context::OWN_VERSION});
    let questions = [
        json!({"id": 1, "method": "initialize", "params": {"clientInfo": client}}),
        json!({"method": "initialized"}),
        json!({"id": LIST, "method": "hooks/list", "params": {"cwds": [folder]}}),
    ];
    let text: String = questions.iter().map(|question| format!("{question}\n")).collect();
    stdin.write_all(text.as_bytes()).map_err(|error| error.to_string())?;
    match answers.recv_timeout(TIMEOUT) {
        Ok(Some(answer)) => Ok(answer),
        Ok(None) => Err("`codex app-server` ended without an answer".to_owned()),
        Err(_) => Err("`codex app-server` did not answer in time".to_owned()),
    }
}

fn end(child: &mut Child) {
    let deadline = Instant::now() + TO_END;
    while Instant::now() < deadline {
        if matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
            return;
        }
        std::thread::sleep(TICK);
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn listed(answer: &Value) -> Result<Vec<ListedHook>, String> {
    let Some(folders) = answer["result"]["data"].as_array() else {
        let reason = answer["error"]["message"].as_str();
        return Err(reason.unwrap_or("`hooks/list` gave no list").to_owned());
    };
    let hooks = folders.iter().filter_map(|folder| folder["hooks"].as_array()).flatten();
    Ok(hooks
        .filter_map(|hook| {
            Some(ListedHook { key: hook["key"].as_str()?.to_owned(), fate: hook_status(hook) })
        })
        .collect())
}

/// Parses the trust. Codex sends `managed`, `trusted`, `modified` and `untrusted`; an unknown value
/// counts as untrusted.
fn hook_status(hook: &Value) -> HookStatus {
    let is_off = hook["enabled"].as_bool() == Some(false);
    match hook["trustStatus"].as_str() {
        Some("managed" | "trusted") if is_off => HookStatus::Off,
        Some("managed" | "trusted") => HookStatus::Runs,
        Some("modified") => HookStatus::Changed,
        _ => HookStatus::Untrusted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_runs_when_it_is_trusted_as_it_is_and_not_switched_off() {
        let hook = |key: &str, status: &str, enabled: bool| json!({"key": key, "trustStatus": status, "enabled": enabled});
        let hooks = json!([
            hook("a", "trusted", true),
            hook("b", "managed", true),
            hook("c", "untrusted", true),
            hook("d", "modified", true),
            hook("e", "trusted", false),
            hook("f", "new", true),
        ]);
        let answer = json!({"id": 2, "result": {"data": [{"cwd": "/x", "hooks": hooks}]}});
        let fates: Vec<_> = listed(&answer).unwrap().into_iter().map(|hook| hook.fate).collect();
        let expected = [
            HookStatus::Runs,
            HookStatus::Runs,
            HookStatus::Untrusted,
            HookStatus::Changed,
            HookStatus::Off,
            HookStatus::Untrusted,
        ];
        assert_eq!(fates, expected);
        let refused = json!({"id": 2, "error": {"code": -32600, "message": "unknown variant"}});
        assert_eq!(listed(&refused), Err("unknown variant".to_owned()));
        assert!(listed(&json!({"id": 2, "result": null})).is_err());
    }
}
