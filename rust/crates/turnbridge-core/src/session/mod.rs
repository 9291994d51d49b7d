//! Defines a session: one conversation of an agent, with the processes (runs) that carry it.
//! `advance` changes it; `session_wire` stores it.
//!
//! State belongs to a run. A `claude -r ID -p` beside an open terminal interface is a second run of
//! the same session; when it ends, the session has the state of the first run again.

pub mod advance;
pub mod dialogs;
pub mod duplicate_events;
pub mod event;
pub mod pending_turn;
pub mod pending_turn_wire;
pub mod session_wire;
pub mod turn_record;
pub mod turn_wire;

use std::collections::BTreeMap;

use crate::gate::speak::{SpeakCall, SpeakOutcome};
use crate::ids::SessionKey;
use crate::session::duplicate_events::SeenEvents;
use crate::session::event::ProcessKey;
use crate::timestamp::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    Working,
    WaitingUser,
    Completed,
    Stopped,
}

impl State {
    pub const ALL: [State; 4] =
        [State::Working, State::WaitingUser, State::Completed, State::Stopped];

    pub const fn as_str(self) -> &'static str {
        match self {
            State::Working => "working",
            State::WaitingUser => "waiting_user",
            State::Completed => "completed",
            State::Stopped => "stopped",
        }
    }

    pub fn parse(text: &str) -> Option<State> {
        State::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

/// How a turn ended. A session that has just started has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detail {
    Ok,
    /// An API error ended the turn; its kind is Claude's word: `rate_limit`, `server_error`.
    Failed {
        error: String,
    },
    Interrupted,
}

impl Detail {
    /// Reads the words that `as_str` and `error` return. Returns `None` if the word is not known.
    pub fn of(word: &str, error: Option<String>) -> Option<Detail> {
        match word {
            "ok" => Some(Detail::Ok),
            "failed" => Some(Detail::Failed { error: error.unwrap_or_default() }),
            "interrupted" => Some(Detail::Interrupted),
            _ => None,
        }
    }

    pub const fn as_str(&self) -> &'static str {
        match self {
            Detail::Ok => "ok",
            Detail::Failed { .. } => "failed",
            Detail::Interrupted => "interrupted",
        }
    }

    pub fn error(&self) -> Option<&str> {
        match self {
            Detail::Failed { error } => Some(error),
            Detail::Ok | Detail::Interrupted => None,
        }
    }
}

/// A conversation of an agent, with its runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub key: SessionKey,
    pub created_at: Timestamp,
    pub cwd: Option<String>,
    pub transcript_path: Option<String>,
    pub permission_mode: Option<String>,
    pub model: Option<String>,
    /// Counts the events applied, and so orders the runs without a clock.
    pub sequence: u64,
    pub runs: Vec<Run>,
    pub claims: SeenEvents,
}

/// A process that carries, or carried, the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub process: ProcessKey,
    pub started_at: Timestamp,
    pub activity: Activity,
    /// The dialogs that are open for the user.
    pub waits: Vec<Wait>,
    /// The tool calls that have begun and not ended. A dialog belongs to one of them.
    pub calls: Vec<OpenCall>,
    /// When the run entered its present `state` and `detail`.
    pub since: Timestamp,
    pub last_event: String,
    pub last_at: Timestamp,
    pub sequence: u64,
    pub turn: Turn,
    /// The background tasks that still ran when the last turn ended.
    pub background_tasks: Vec<String>,
    pub host: RunEnvironment,
    pub ended: Option<SessionEnd>,
}

/// The activity of the agent itself. The open dialogs show whether it waits for the user, and the
/// run's end whether it lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Activity {
    Working,
    Completed(Option<Detail>),
}

/// An open dialog.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wait {
    /// The tool call that the dialog is about, if known.
    pub call_id: Option<String>,
    pub tool: Option<String>,
    /// The sub-agent that opened the dialog.
    pub agent_id: Option<String>,
    pub opened_at: Timestamp,
}

/// A tool call that has begun and not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCall {
    pub id: String,
    pub tool: String,
    pub input: u64,
    pub agent_id: Option<String>,
}

impl Run {
    pub fn state(&self) -> State {
        match self.activity {
            _ if self.ended.is_some() => State::Stopped,
            _ if !self.waits.is_empty() => State::WaitingUser,
            Activity::Working => State::Working,
            Activity::Completed(_) => State::Completed,
        }
    }

    pub fn detail(&self) -> Option<&Detail> {
        match (self.state(), &self.activity) {
            (State::Completed, Activity::Completed(detail)) => detail.as_ref(),
            _ => None,
        }
    }
}

/// The current or last turn of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Turn {
    pub prompt_id: Option<String>,
    pub prompt: Option<Prompt>,
    /// The prompts typed while the turn ran, oldest first.
    pub additions: Vec<Addition>,
    pub started_at: Option<Timestamp>,
    pub speaks: Vec<SpeakCall>,
    /// The Stop gate has asked for speech in this turn; the store keeps the answer of that moment.
    pub is_reminded: bool,
    /// The turn has ended. Events that follow without a prompt (`!command`) belong to another turn.
    pub is_over: bool,
}

/// A prompt that was typed while a turn ran (LIVE-8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addition {
    pub prompt: Prompt,
    /// The agent received it in this turn, with the results of its tools. An addition unread at the
    /// turn's end is the next turn's prompt.
    pub is_read: bool,
}

impl Turn {
    /// Returns whether the agent has not received all additions.
    pub fn has_unread(&self) -> bool {
        self.additions.iter().any(|addition| !addition.is_read)
    }

    /// Returns the prompt of the turn after this one: Claude Code joins all additions that it has
    /// not read. Returns `None` if there is none, or if one is too long to be complete here.
    pub fn next_prompt(&self) -> Option<Prompt> {
        let unread = self.additions.iter().filter(|addition| !addition.is_read);
        let prompts: Vec<&Prompt> = unread.map(|addition| &addition.prompt).collect();
        let is_known = !prompts.is_empty() && prompts.iter().all(|prompt| prompt.whole);
        let texts = || prompts.iter().map(|prompt| prompt.text.as_str()).collect::<Vec<_>>();
        is_known.then(|| Prompt::head_of(&texts().join("\n"))).filter(|prompt| prompt.whole)
    }

    /// Returns the outcome of speech in the turn that is about to end. `prompt_id` is that turn's,
    /// if known: `self` may be an older turn whose end was not observed.
    pub fn speech(&self, prompt_id: Option<&str>) -> Option<SpeakOutcome> {
        let is_of_turn = |call: &&SpeakCall| match (call.prompt_id.as_deref(), prompt_id) {
            (Some(own), Some(wanted)) => own == wanted,
            _ => true,
        };
        let outcomes = || self.speaks.iter().filter(is_of_turn).map(|call| call.outcome);
        let spoken = outcomes().find(|outcome| *outcome == SpeakOutcome::Spoken);
        spoken.or_else(|| outcomes().next_back()).filter(|_| !self.is_over)
    }
}

/// The prompt of a turn. Of a long prompt only the beginning is here, because every hook rewrites
/// the session file; the store keeps the whole prompt beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub text: String,
    pub whole: bool,
}

/// The limit in bytes of a prompt in the session file.
pub const PROMPT_HEAD: usize = 2_048;

impl Prompt {
    /// Returns the prompt, cut at the limit.
    pub fn head_of(text: &str) -> Prompt {
        let end = text.floor_char_boundary(PROMPT_HEAD);
        Prompt { text: text[..end].to_owned(), whole: end == text.len() }
    }
}

/// The environment in which a hook runs: how the agent was started, and in which terminal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunEnvironment {
    /// The registration that reported the run: `plugin`, `settings`.
    pub origin: String,
    /// `CLAUDE_CODE_ENTRYPOINT`: `cli` means a person at a terminal.
    pub entrypoint: Option<String>,
    /// `CLAUDE_PROJECT_DIR`: the folder in which the session was started; `cwd` follows every `cd`.
    pub project_dir: Option<String>,
    /// `CLAUDE_CONFIG_DIR`, if set.
    pub config_dir: Option<String>,
    pub plugin: Option<Plugin>,
    /// Pane ids, `TVINE_*` and `KAWAII_*`, by their names.
    pub env: BTreeMap<String, String>,
}

impl RunEnvironment {
    pub fn is_interactive(&self) -> bool {
        self.entrypoint.as_deref() == Some("cli")
    }

    /// Returns whether it has no terminal or editor: `claude -p`, or a program built with the SDK.
    pub fn is_run_by_sdk(&self) -> bool {
        self.entrypoint.as_deref().is_some_and(|entrypoint| entrypoint.starts_with("sdk-"))
    }

    /// Returns whether a program runs it, not a person. Without an entrypoint it may be a person.
    pub fn is_headless(&self) -> bool {
        self.entrypoint.is_some() && !self.is_interactive()
    }

    pub fn env(&self, name: &str) -> Option<&str> {
        self.env.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// Turnbridge's plugin in the environment of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plugin {
    pub root: String,
    /// Loaded by `--plugin-dir`, which a resume has to pass on.
    pub by_plugin_dir: bool,
    /// The plugin's option `gate`, if the user has set it. Only the plugin's hooks receive it.
    pub gate: Option<String>,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEnd {
    pub at: Timestamp,
    pub reason: String,
}

impl Session {
    pub fn new(key: SessionKey, created_at: Timestamp) -> Session {
        Session {
            key,
            created_at,
            cwd: None,
            transcript_path: None,
            permission_mode: None,
            model: None,
            sequence: 0,
            runs: Vec::new(),
            claims: SeenEvents::default(),
        }
    }

    /// Returns the run that represents the session: a live run that waits for the user, else the
    /// live run that acted last, else the run that ended last.
    pub fn current_run(&self) -> Option<&Run> {
        let rank = |run: &&Run| (run.state() == State::WaitingUser, run.sequence);
        let live = self.live_runs().max_by_key(rank);
        live.or_else(|| self.runs.iter().max_by_key(|run| run.sequence))
    }

    pub fn live_runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| run.ended.is_none())
    }

    pub fn run(&self, process: ProcessKey) -> Option<&Run> {
        self.runs.iter().find(|run| run.process == process)
    }

    pub fn state(&self) -> State {
        self.current_run().map_or(State::Stopped, Run::state)
    }

    pub fn detail(&self) -> Option<&Detail> {
        self.current_run().and_then(Run::detail)
    }

    /// Returns when the session entered its present `state` and `detail`.
    pub fn since(&self) -> Timestamp {
        self.current_run()
            .map_or(self.created_at, |run| run.ended.as_ref().map_or(run.since, |ended| ended.at))
    }

    /// Returns the folder that the session belongs to, for resuming it and for its name.
    pub fn project_dir(&self) -> Option<&str> {
        let started_in = self.current_run().and_then(|run| run.host.project_dir.as_deref());
        started_in.or(self.cwd.as_deref())
    }

    /// Returns the name of the project's folder.
    pub fn project(&self) -> Option<&str> {
        self.project_dir().and_then(folder_name)
    }
}

/// Returns the last part of a path, with either kind of slash.
pub fn folder_name(path: &str) -> Option<&str> {
    let path = path.trim_end_matches(['/', '\\']);
    path.rsplit(['/', '\\']).next().filter(|name| !name.is_empty())
}
