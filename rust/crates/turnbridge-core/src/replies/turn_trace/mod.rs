//! Searches the agent's record of a session (a transcript or a rollout) for a prompt and the end of
//! its turn. It serves runs whose end no live process has reported, and prompts in the queue of
//! another Codex. Only records since a given time count: users write "yes" more than once.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::agents::codex::rollout_wire::{RolloutRecord, parse_line};
use crate::timestamp::Timestamp;

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEnd {
    Ok,
    /// By an error of the model's API.
    Failed,
    /// The user interrupted it.
    Interrupted,
}

/// The result of the search for a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnTrace {
    /// The record does not contain the prompt.
    Absent,
    /// The record contains the prompt without an end of its turn. The agent may still be working.
    Open,
    /// The session continued with another turn, and this one has no end: no agent works on it.
    Left,
    Ended(TurnEnd),
}

/// Returns the state of the prompt's turn in the end of a Claude transcript, whose first line may
/// be cut.
pub fn in_transcript(tail: &[u8], prompt: &str, since: Timestamp) -> TurnTrace {
    let mut search = TranscriptSearch::new(prompt, since);
    for line in tail.split(|byte| *byte == b'\n') {
        let Ok(record) = serde_json::from_slice::<Value>(line) else { continue };
        if search.read_record(&record) == SearchFlow::Stop {
            break;
        }
    }
    search.trace
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SearchFlow {
    GoOn,
    Stop,
}

/// Follows the records that descend from the prompt: two processes may write to one transcript, and
/// their turns are then interleaved.
struct TranscriptSearch<'a> {
    prompt: &'a str,
    since: Timestamp,
    trace: TurnTrace,
    /// The records of the prompt's turn, by `uuid`.
    own: BTreeSet<String>,
    prompt_id: Option<String>,
}

impl<'a> TranscriptSearch<'a> {
    fn new(prompt: &'a str, since: Timestamp) -> TranscriptSearch<'a> {
        let own = BTreeSet::new();
        TranscriptSearch { prompt, since, trace: TurnTrace::Absent, own, prompt_id: None }
    }

    fn read_record(&mut self, record: &Value) -> SearchFlow {
        if record.get("isSidechain").and_then(Value::as_bool) == Some(true) {
            return SearchFlow::GoOn;
        }
        if self.own.is_empty() {
            self.look_for_prompt(record);
            return SearchFlow::GoOn;
        }
        let is_own = text(record, "parentUuid").is_some_and(|parent| self.own.contains(parent));
        if !is_own {
            return SearchFlow::GoOn;
        }
        let is_next_turn = text(record, "promptId").is_some_and(|id| {
            text(record, "type") == Some("user")
                && self.prompt_id.as_deref().is_some_and(|own| own != id)
        });
        if is_next_turn {
            if self.trace == TurnTrace::Open {
                self.trace = TurnTrace::Left;
            }
            return SearchFlow::Stop;
        }
        self.own.extend(text(record, "uuid").map(str::to_owned));
        self.trace = meaning(record).unwrap_or(self.trace);
        SearchFlow::GoOn
    }

    fn look_for_prompt(&mut self, record: &Value) {
        let at = text(record, "timestamp").and_then(Timestamp::parse);
        if at.is_none_or(|at| at < self.since) {
            return;
        }
        let content = record.pointer("/message/content").or_else(|| record.get("content"));
        let Some(content) = content else { return };
        match text(record, "type") {
            // `claude -p` records its prompt before any other record.
            Some("queue-operation") if says(content, self.prompt) => self.trace = TurnTrace::Open,
            Some("user" | "system")
                if says(content, self.prompt) || is_command(content, self.prompt) =>
            {
                self.trace = TurnTrace::Open;
                self.own.extend(text(record, "uuid").map(str::to_owned));
                self.prompt_id = text(record, "promptId").map(str::to_owned);
            }
            _ => {}
        }
    }
}

/// Returns the turn's state after one of its records; `None` if the record does not change it.
fn meaning(record: &Value) -> Option<TurnTrace> {
    let content = record.pointer("/message/content").or_else(|| record.get("content"));
    match text(record, "type")? {
        "assistant" if record.get("isApiErrorMessage") == Some(&Value::Bool(true)) => {
            Some(TurnTrace::Ended(TurnEnd::Failed))
        }
        "assistant" => {
            let message = record.get("message")?;
            // Claude adds one of these after a turn that was cut off, when it resumes the session.
            if text(message, "model") == Some("<synthetic>") {
                return None;
            }
            match text(message, "stop_reason") {
                None | Some("tool_use" | "pause_turn") => Some(TurnTrace::Open),
                Some(_) => Some(TurnTrace::Ended(TurnEnd::Ok)),
            }
        }
        // The output of a command without a turn.
        "user" | "system" if begins_with(content?, "<local-command-stdout>") => {
            Some(TurnTrace::Ended(TurnEnd::Ok))
        }
        "user" if begins_with(content?, "[Request interrupted by user") => {
            Some(TurnTrace::Ended(TurnEnd::Interrupted))
        }
        // A tool's result, or the feedback of a Stop hook: the turn continues.
        "user" => Some(TurnTrace::Open),
        _ => None,
    }
}

fn text<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get(key).and_then(Value::as_str)
}

/// Returns the texts of a content: it is a text, or a list of blocks of which some are texts.
fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(blocks) => blocks.iter().filter_map(|block| text(block, "text")).collect(),
        _ => Vec::new(),
    }
}

fn says(content: &Value, prompt: &str) -> bool {
    texts(content).iter().any(|text| is_same(text, prompt))
}

fn begins_with(content: &Value, words: &str) -> bool {
    texts(content).iter().any(|text| text.starts_with(words))
}

/// Matches Claude's record of a command: `<command-name>/compact</command-name>` and its arguments.
fn is_command(content: &Value, prompt: &str) -> bool {
    let prompt = prompt.trim();
    let (name, arguments) = prompt.split_once(char::is_whitespace).unwrap_or((prompt, ""));
    let tag = |name: &str, value: &str| format!("<{name}>{value}</{name}>");
    name.starts_with('/')
        && texts(content).iter().any(|text| {
            text.contains(&tag("command-name", name))
                && (arguments.trim().is_empty()
                    || text.contains(&tag("command-args", arguments.trim())))
        })
}

/// How a prompt has reached its Codex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptRoute {
    Anything,
    /// `codex queue`. A turn of a version that does not name the trigger may match.
    Queue,
}

/// Returns the state of the prompt's turn in the end of a Codex rollout, whose first line may be
/// cut.
pub fn in_rollout(tail: &[u8], prompt: &str, through: PromptRoute, since: Timestamp) -> TurnTrace {
    let mut trace = TurnTrace::Absent;
    let mut turn = None;
    for line in tail.split(|byte| *byte == b'\n').map(parse_line) {
        let is_since = line.at.is_some_and(|at| at >= since);
        match (trace, line.record) {
            (TurnTrace::Absent, RolloutRecord::TaskStarted { trigger, .. }) => turn = trigger,
            (TurnTrace::Absent, RolloutRecord::UserText { text, .. })
                if is_since && is_same(&text, prompt) && through.may_start(turn.as_deref()) =>
            {
                trace = TurnTrace::Open;
            }
            (TurnTrace::Absent, _) => {}
            (_, RolloutRecord::TaskComplete { error: None, .. }) => {
                return TurnTrace::Ended(TurnEnd::Ok);
            }
            (_, RolloutRecord::TaskComplete { .. }) => return TurnTrace::Ended(TurnEnd::Failed),
            (_, RolloutRecord::TurnAborted) => return TurnTrace::Ended(TurnEnd::Interrupted),
            (_, RolloutRecord::TaskStarted { .. }) => return TurnTrace::Left,
            _ => {}
        }
    }
    trace
}

/// Returns the states of the turns that `codex queue` has started with this prompt since then, in
/// their order. A turn that does not record what started it does not count: a person may have typed
/// the same words.
pub fn queued_turns(tail: &[u8], prompt: &str, since: Timestamp) -> Vec<TurnTrace> {
    let mut turns = Vec::new();
    let mut trigger = None;
    // Whether the turn that is open is the last one of `turns`.
    let mut is_own = false;
    for line in tail.split(|byte| *byte == b'\n').map(parse_line) {
        let is_since = line.at.is_some_and(|at| at >= since);
        let end = match line.record {
            RolloutRecord::TaskStarted { trigger: by, .. } => {
                trigger = by;
                TurnTrace::Left
            }
            RolloutRecord::UserText { text, .. } => {
                let is_its_prompt =
                    is_since && is_same(&text, prompt) && trigger.as_deref() == Some("queue");
                if is_its_prompt && !is_own {
                    turns.push(TurnTrace::Open);
                    is_own = true;
                }
                continue;
            }
            RolloutRecord::TaskComplete { error: None, .. } => TurnTrace::Ended(TurnEnd::Ok),
            RolloutRecord::TaskComplete { .. } => TurnTrace::Ended(TurnEnd::Failed),
            RolloutRecord::TurnAborted => TurnTrace::Ended(TurnEnd::Interrupted),
            _ => continue,
        };
        if std::mem::take(&mut is_own)
            && let Some(last) = turns.last_mut()
        {
            *last = end;
        }
    }
    turns
}

impl PromptRoute {
    fn may_start(self, trigger: Option<&str>) -> bool {
        self == PromptRoute::Anything || trigger.is_none_or(|trigger| trigger == "queue")
    }
}

/// Compares two texts. Agents trim a text differently, and may write line ends as two characters
/// (SLV-52).
fn is_same(said: &str, prompt: &str) -> bool {
    let literal = || prompt.replace("\r\n", "\n").replace(['\r', '\n'], "\\n");
    said.trim() == prompt.trim() || said == literal()
}

#[cfg(test)]
mod tests;
