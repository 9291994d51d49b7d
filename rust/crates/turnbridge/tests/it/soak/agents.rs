//! Installs the stand-in agent of the soak: a program `claude` that acts like the real one as far
//! as Turnbridge can see. It calls the real hooks with recorded payloads, writes a transcript,
//! works for a while, answers, and ends as its prompt says. It records its actions in its own log.
//!
//! A prompt is `<name>, <words>`: `work=300` (milliseconds), `exit=3` (fails without a hook),
//! `api-error` (fails with StopFailure), `no-hooks`, `long` (an answer of many parts),
//! `kill-hook=Stop/0.0031` (kills that hook after so many seconds), and `freeze-hook=…` (suspends
//! it then, for longer than other processes wait for its locks).

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::machine::SoakMachine;
use crate::support::world::recordings;

/// The number of paragraphs of a long answer: some ten messages in Slack.
pub const PARAGRAPHS: usize = 120;

/// One line of an agent's log.
#[derive(Clone, Debug)]
pub struct AgentLogLine {
    /// Microseconds since 1970 by the real clock.
    pub at: u64,
    /// The name in the prompt: `turn 3`, `reply 7`.
    pub name: String,
    pub what: AgentLogEntry,
}

/// An action of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentLogEntry {
    /// The agent has its prompt.
    Began,
    /// A hook call has returned with this exit code; 137: it was killed.
    Hook(String, i32),
    /// The turn is over; the Stop hook is called next.
    Ended,
    /// The turn failed; the StopFailure hook is called next.
    Failed,
    /// The last action of the agent.
    Exit(i32),
}

/// Returns the entries of agents so far, without an incomplete last line.
pub fn read_log(path: &Path) -> Vec<AgentLogLine> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().filter_map(read_line).collect()
}

fn read_line(line: &str) -> Option<AgentLogLine> {
    let [at, name, what]: [&str; 3] = line.splitn(3, '|').collect::<Vec<_>>().try_into().ok()?;
    let words: Vec<_> = what.split(' ').collect();
    let what = match words.as_slice() {
        ["began"] => AgentLogEntry::Began,
        ["hook", event, code] => AgentLogEntry::Hook((*event).to_owned(), code.parse().ok()?),
        ["ended"] => AgentLogEntry::Ended,
        ["failed"] => AgentLogEntry::Failed,
        ["exit", code] => AgentLogEntry::Exit(code.parse().ok()?),
        _ => return None,
    };
    Some(AgentLogLine { at: at.parse().ok()?, name: name.to_owned(), what })
}

/// Returns the prompt for a turn with this name and these words.
pub fn prompt(name: &str, words: &str) -> String {
    format!("{name}, {words}")
}

/// Returns the name in a prompt or at the head of an answer.
pub fn name_in(text: &str) -> Option<&str> {
    let text = text.trim_start_matches("Answer to ");
    let end = text.find([',', ':'])?;
    let (kind, number) = text[..end].split_once(' ')?;
    let is_name = ["turn", "reply"].contains(&kind) && number.parse::<usize>().is_ok();
    is_name.then_some(&text[..end])
}

/// Installs the agent on the machine's PATH.
pub fn install(machine: &SoakMachine) {
    let bin = machine.world.hermetic.root().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let path = bin.join("claude");
    testkit::write_program(&path, &script(machine));
}

fn script(machine: &SoakMachine) -> String {
    let program = |name| machine.world.command(name).get_program().to_str().unwrap().to_owned();
    include_str!("agent.sh")
        .replace("@LOG@", machine.agent_log().to_str().unwrap())
        .replace("@CLOCK@", machine.clock_file().to_str().unwrap())
        .replace("@PROJECTS@", machine.world.hermetic.root().to_str().unwrap())
        .replace("@STATUS@", &program("turnbridge-status"))
        .replace("@GATE@", &program("turnbridge-stop-gate"))
        .replace("@PARAGRAPHS@", &PARAGRAPHS.to_string())
        .replace("@user@", &record("user", &[("/message/content", "$prompt")]))
        .replace("@assistant@", &record("assistant", &[("/message/content/0/text", "$answer")]))
        .replace("@SessionStart@", &payload("SessionStart.resume", &[]))
        .replace("@UserPromptSubmit@", &payload("UserPromptSubmit", &[("/prompt", "$prompt")]))
        .replace("@PreToolUse@", &payload("PreToolUse.Bash", &[]))
        .replace("@PostToolUse@", &payload("PostToolUse.Bash", &[]))
        .replace("@Stop@", &payload("Stop", &[("/last_assistant_message", "$answer")]))
        .replace(
            "@StopFailure@",
            &payload("StopFailure.rate_limit", &[("/last_assistant_message", "$answer")]),
        )
        .replace("@SessionEnd@", &payload("SessionEnd.other", &[]))
}

/// Returns a recorded payload of a hook, for the shell.
fn payload(recording: &str, more: &[(&str, &str)]) -> String {
    let file = format!("{recording}.json");
    let (_, bytes) = recordings().into_iter().find(|(name, _)| *name == file).expect(&file);
    let common = [
        ("/session_id", "$session"),
        ("/transcript_path", "$transcript"),
        ("/cwd", "$PWD"),
        ("/prompt_id", "$prompt_id"),
    ];
    for_shell(&bytes, &[&common, more].concat())
}

/// Returns the last record of that type in a recorded transcript, for the shell.
fn record(kind: &str, more: &[(&str, &str)]) -> String {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../turnbridge-core/testdata/claude/transcripts/plain.jsonl"
    );
    let text = fs::read_to_string(file).unwrap();
    let is_it = |line: &&str| {
        line.contains(&format!("\"type\":\"{kind}\",\"uuid\""))
            || line.contains(&format!("\"type\":\"{kind}\",\"message\""))
    };
    let line = text.lines().rfind(is_it).expect(kind);
    let common = [
        ("/parentUuid", "$parent"),
        ("/uuid", "$uuid"),
        ("/promptId", "$prompt_id"),
        ("/timestamp", "$at"),
        ("/sessionId", "$session"),
        ("/cwd", "$PWD"),
    ];
    for_shell(line.as_bytes(), &[&common, more].concat())
}

/// Returns JSON as the inside of a double-quoted string of the shell, with the shell's variables in
/// the places that differ between calls.
fn for_shell(json: &[u8], variables: &[(&str, &str)]) -> String {
    let mut value: Value = serde_json::from_slice(json).unwrap();
    for (place, variable) in variables {
        if let Some(field) = value.pointer_mut(place) {
            *field = Value::from(*variable);
        }
    }
    value.to_string().replace('\\', "\\\\").replace('"', "\\\"")
}
