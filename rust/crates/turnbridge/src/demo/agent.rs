//! Plays an agent towards its hooks: a live process that calls the real hooks with the payloads of
//! Claude Code or Codex.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use turnbridge_core::agents::hook_table::HookEventName;
use turnbridge_core::ids::Agent;
use turnbridge_store::clock;

use super::home;
use super::part::DemoPart;

/// The start mode that Claude reports to its hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentEntrypoint {
    Terminal,
    Headless,
}

pub struct DemoAgent {
    agent: Agent,
    session_id: String,
    cwd: PathBuf,
    record: PathBuf,
    entrypoint: AgentEntrypoint,
    turns: u32,
    calls: u32,
}

impl DemoAgent {
    pub fn new(
        agent: Agent,
        session_id: &str,
        cwd: &Path,
        entrypoint: AgentEntrypoint,
    ) -> Result<DemoAgent> {
        let record =
            DemoPart::of(agent).records().context("could not find the demo's home folder")?;
        Ok(DemoAgent {
            agent,
            session_id: session_id.to_owned(),
            cwd: cwd.to_owned(),
            record: record.join(format!("{session_id}.jsonl")),
            entrypoint,
            turns: 0,
            calls: 0,
        })
    }

    pub fn start(&self, source: &str) -> Result<()> {
        self.tell("SessionStart", json!({ "source": source }))
    }

    pub fn prompt(&mut self, text: &str) -> Result<()> {
        self.turns += 1;
        self.tell("UserPromptSubmit", json!({ "prompt": text }))
    }

    pub fn begin_call(&mut self, tool_name: &str, input: &Value) -> Result<()> {
        self.calls += 1;
        self.tell("PreToolUse", self.call(tool_name, input))
    }

    pub fn end_call(&self, tool_name: &str, input: &Value) -> Result<()> {
        let mut call = self.call(tool_name, input);
        call["tool_response"] = json!({ "stdout": "", "stderr": "", "interrupted": false });
        self.tell("PostToolUse", call)
    }

    pub fn ask_for_permission(&self, tool_name: &str, input: &Value) -> Result<()> {
        let request = json!({ "tool_name": tool_name, "tool_input": input });
        self.tell("PermissionRequest", request)
    }

    pub fn answer(&self, text: &str) -> Result<()> {
        let more = json!({ "stop_hook_active": false, "last_assistant_message": text });
        self.tell("Stop", more)
    }

    /// Ends the turn with an error. Codex has no event for it.
    pub fn fail(&self, error: &str, text: &str) -> Result<()> {
        self.tell("StopFailure", json!({ "error": error, "last_assistant_message": text }))
    }

    /// Ends the turn by Esc. Claude has no event for it, only a line in its transcript.
    pub fn be_interrupted(&self) -> Result<()> {
        let event = HookEventName::Interrupt;
        if !event.calls(self.agent).is_empty() {
            return self.tell(event.as_str(), json!({}));
        }
        let content = [json!({ "type": "text", "text": "[Request interrupted by user]" })];
        let line = json!({
            "type": "user",
            "timestamp": clock::now().to_string(),
            "message": { "role": "user", "content": content },
        });
        let write = || {
            fs::create_dir_all(self.record.parent().unwrap_or(Path::new("")))?;
            let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.record)?;
            file.write_all(format!("{line}\n").as_bytes())
        };
        write().with_context(|| format!("could not write `{}`", self.record.display()))
    }

    pub fn end(&self) -> Result<()> {
        self.tell("SessionEnd", json!({ "reason": "other" }))
    }

    fn call(&self, tool_name: &str, input: &Value) -> Value {
        let id = format!("{}{:04}", DemoPart::of(self.agent).call_id_prefix, self.calls);
        json!({ "tool_name": tool_name, "tool_input": input, "tool_use_id": id })
    }

    /// Calls the hook as `hooks/hooks.json` and `hooks/codex.json` do, and waits for its end.
    fn tell(&self, event: &str, more: Value) -> Result<()> {
        let mut payload = json!({
            "session_id": self.session_id,
            "transcript_path": self.record,
            "cwd": self.cwd,
            "permission_mode": "default",
            "hook_event_name": event,
        });
        // The turn ids are unique within the process, and across processes.
        let turn = format!("00000000-0000-4000-8000-{:06x}{:06x}", std::process::id(), self.turns);
        payload[self.agent.turn_id_field().as_str()] = json!(turn);
        payload["model"] = json!(DemoPart::of(self.agent).model);
        if let (Some(members), Value::Object(more)) = (payload.as_object_mut(), more) {
            members.extend(more);
        }
        let calls = HookEventName::parse(event, self.agent).map(|name| name.calls(self.agent));
        // The second hook sends notices, which a demo does not.
        let call = calls.and_then(<[_]>::first).context("the agent has no such event")?;
        let name = call.program.as_str();
        let mut command = Command::new(home::program(name)?);
        command.args(["--tool", self.agent.as_str(), "--origin", "plugin"]);
        command.envs(DemoPart::of(self.agent).environment(self.entrypoint, &self.cwd));
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().with_context(|| format!("could not start `{name}`"))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A hook may end early, and then has logged why.
            let _ = stdin.write_all(payload.to_string().as_bytes());
        }
        child.wait().with_context(|| format!("could not wait for `{name}`"))?;
        Ok(())
    }
}
