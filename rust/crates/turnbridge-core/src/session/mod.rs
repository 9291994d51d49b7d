//! A session as Turnbridge knows it: one conversation of an agent, and the processes (runs)
//! that carry it. How it changes is in `advance`; how it is stored, in `session_wire`.
//!
//! State belongs to a run. A `claude -r ID -p` beside an open TUI is a second run of the same
//! session; when it ends, the session falls back to what the TUI is doing.

pub mod advance;
pub mod claim;
pub mod dialogs;
pub mod event;
pub mod pending_turn;
pub mod pending_turn_wire;
pub mod session_wire;
pub mod turn_record;
pub mod turn_wire;

use std::collections::BTreeMap;

use crate::gate::speak::{SpeakCall, SpeakOutcome};
use crate::ids::SessionKey;
use crate::session::claim::Claims;
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

/// How a turn came to its end. A session that has just started has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detail {
    Ok,
    /// An API error ended the turn; the kind is Claude's: `rate_limit`, `server_error`.
    Failed {
        error: String,
    },
    Interrupted,
}

impl Detail {
    /// Reads what `as_str` and `error` give. Returns `None` if the word is not known.
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub key: SessionKey,
    pub created_at: Timestamp,
    pub cwd: Option<String>,
    pub transcript_path: Option<String>,
    pub permission_mode: Option<String>,
    pub model: Option<String>,
    /// Counts applied events. Tells which run acted last without asking a clock.
    pub sequence: u64,
    pub runs: Vec<Run>,
    pub claims: Claims,
}

/// One process that carries, or carried, the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub process: ProcessKey,
    pub started_at: Timestamp,
    pub activity: Activity,
    /// Dialogs that are open for the user.
    pub waits: Vec<Wait>,
    /// Tool calls that have begun and not ended: a dialog belongs to one of them.
    pub calls: Vec<OpenCall>,
    /// When what `state` and `detail` say began.
    pub since: Timestamp,
    pub last_event: String,
    pub last_at: Timestamp,
    pub sequence: u64,
    pub turn: Turn,
    /// Background tasks that were still running when the last turn ended.
    pub background_tasks: Vec<String>,
    pub host: Host,
    pub ended: Option<Ended>,
}

/// What the agent itself is doing. Whether it waits for the user is told by the open dialogs,
/// whether it lives by the run's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Activity {
    Working,
    Completed(Option<Detail>),
}

/// An open dialog.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wait {
    /// The tool call that it is about, when that is known.
    pub call_id: Option<String>,
    pub tool: Option<String>,
    /// The sub-agent whose dialog it is.
    pub agent_id: Option<String>,
    pub opened_at: Timestamp,
}

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

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Turn {
    pub prompt_id: Option<String>,
    pub prompt: Option<Prompt>,
    /// What was typed while it ran, oldest first.
    pub additions: Vec<Addition>,
    pub started_at: Option<Timestamp>,
    pub speaks: Vec<SpeakCall>,
    /// The Stop gate has asked for speech in it; the answer it had then is kept by the store.
    pub is_reminded: bool,
    /// It has ended; what follows without a prompt (`!command`) is another one.
    pub is_over: bool,
}

/// A prompt that was typed while a turn ran (LIVE-8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addition {
    pub prompt: Prompt,
    /// The agent has got it in this turn, with the results of its tools. What it has not got when
    /// the turn ends is the prompt of the next one.
    pub is_read: bool,
}

impl Turn {
    pub fn has_unread(&self) -> bool {
        self.additions.iter().any(|addition| !addition.is_read)
    }

    /// The prompt that follows when this turn has ended: Claude Code makes one of all that it has
    /// not read. `None` if there is none, or if it is too long to be known here.
    pub fn next_prompt(&self) -> Option<Prompt> {
        let unread = self.additions.iter().filter(|addition| !addition.is_read);
        let prompts: Vec<&Prompt> = unread.map(|addition| &addition.prompt).collect();
        let is_known = !prompts.is_empty() && prompts.iter().all(|prompt| prompt.whole);
        let texts = || prompts.iter().map(|prompt| prompt.text.as_str()).collect::<Vec<_>>();
        is_known.then(|| Prompt::head_of(&texts().join("\n"))).filter(|prompt| prompt.whole)
    }

    /// What came of speaking in the turn that is about to end. `prompt_id` is that turn's, when
    /// it is known: this one may be an older turn whose end nobody saw.
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

/// The prompt of a turn. A long one is only begun here, because the session file is rewritten
/// by every hook; the store keeps the whole of it beside the session file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub text: String,
    pub whole: bool,
}

/// Bytes of a prompt that stay in the session file.
pub const PROMPT_HEAD: usize = 2_048;

impl Prompt {
    pub fn head_of(text: &str) -> Prompt {
        let end = text.floor_char_boundary(PROMPT_HEAD);
        Prompt { text: text[..end].to_owned(), whole: end == text.len() }
    }
}

/// What the hook found around it: how the agent was started, and in which terminal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Host {
    /// Which registration reported the run: `plugin`, `settings`.
    pub origin: String,
    /// `CLAUDE_CODE_ENTRYPOINT`: `cli` is a person at a terminal.
    pub entrypoint: Option<String>,
    /// `CLAUDE_PROJECT_DIR`: where the session was started; `cwd` follows every `cd`.
    pub project_dir: Option<String>,
    /// `CLAUDE_CONFIG_DIR`, when set.
    pub config_dir: Option<String>,
    pub plugin: Option<Plugin>,
    /// Pane ids, `TVINE_*` and `KAWAII_*`, by their names.
    pub env: BTreeMap<String, String>,
}

impl Host {
    pub fn is_interactive(&self) -> bool {
        self.entrypoint.as_deref() == Some("cli")
    }

    /// Without a terminal or an editor: `claude -p`, or a program that is built with the SDK.
    pub fn is_run_by_sdk(&self) -> bool {
        self.entrypoint.as_deref().is_some_and(|entrypoint| entrypoint.starts_with("sdk-"))
    }

    /// A program runs it, not a person. What does not say so may be a person.
    pub fn is_headless(&self) -> bool {
        self.entrypoint.is_some() && !self.is_interactive()
    }

    pub fn env(&self, name: &str) -> Option<&str> {
        self.env.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plugin {
    pub root: String,
    /// Loaded by `--plugin-dir`: a resume has to pass it on.
    pub by_plugin_dir: bool,
    /// Its option `gate`, when the user has set it. Only the plugin's own hooks are told.
    pub gate: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
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
            claims: Claims::default(),
        }
    }

    /// The run that speaks for the session: of the live ones one that waits for the user, else
    /// the last that acted; else the last that ended.
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

    /// When what `state` and `detail` say began.
    pub fn since(&self) -> Timestamp {
        self.current_run()
            .map_or(self.created_at, |run| run.ended.as_ref().map_or(run.since, |ended| ended.at))
    }

    /// The folder that the session belongs to, for resuming and for its name.
    pub fn project_dir(&self) -> Option<&str> {
        let started_in = self.current_run().and_then(|run| run.host.project_dir.as_deref());
        started_in.or(self.cwd.as_deref())
    }

    /// The name of the project's folder.
    pub fn project(&self) -> Option<&str> {
        self.project_dir().and_then(folder_name)
    }
}

/// The last part of a path, whichever slashes it is written with.
pub fn folder_name(path: &str) -> Option<&str> {
    let path = path.trim_end_matches(['/', '\\']);
    path.rsplit(['/', '\\']).next().filter(|name| !name.is_empty())
}
