//! Converts the lines of a Codex rollout to the same events that hooks report; `session::advance`
//! decides the state from these.
//!
//! Codex records when a turn begins (`task_started`) and how it ends (`task_complete`,
//! `turn_aborted`). No other record ends it. Ids are not compared: a review starts one turn and
//! completes another. Only a thread without such records (versions before about 0.100) is judged by
//! its messages (KT-46..49). An approval on the screen leaves no record: such a turn is `working`
//! here (KT-54). Silence shows nothing (KT-51).

use crate::agents::codex::rollout_wire::{
    Dialect, Phase, RolloutLine, RolloutRecord, TaskAnswer, TaskError, ThreadKind, ThreadMeta,
};
use crate::ids::{Agent, SessionId, SessionKey, is_uuid};
use crate::session::advance::LATE;
use crate::session::event::{Event, EventFacts, EventKind, ProcessKey, ToolCall};
use crate::session::{Detail, Session, State};
use crate::timestamp::Timestamp;

/// The limit of stored open calls. No model has been seen to start more in parallel.
const MAX_CALLS: usize = 256;

/// The state of a thread, as far as its rollout has been read.
#[derive(Debug, Clone, Default)]
pub struct RolloutThread {
    meta: Option<ThreadMeta>,
    cwd: Option<String>,
    model: Option<String>,
    has_begun: bool,
    /// The thread has records of the beginning or end of turns.
    has_tasks: bool,
    /// It is of a version that writes such records.
    is_modern: bool,
    /// A line of it could not be read.
    is_damaged: bool,
    /// Messages come as `response_item` too, which show whether they are only commentary.
    has_messages: bool,
    turn: ThreadTurn,
    last_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Default)]
struct ThreadTurn {
    id: Option<String>,
    progress: TurnProgress,
    prompt: Option<String>,
    answer: Option<String>,
    calls: Vec<ToolCall>,
    /// No record has followed the prompt yet: the same text again is the same prompt.
    is_fresh: bool,
    /// It looked finished before (KT-48), and continued.
    has_ended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum TurnProgress {
    #[default]
    AtRest,
    Open,
    Aborted,
}

/// An event in a line of a rollout. `RolloutThread::event` converts it to an `Event`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolloutEvent {
    pub at: Timestamp,
    pub name: String,
    pub kind: EventKind,
}

impl RolloutThread {
    /// Takes the next line and returns its events, usually none.
    pub fn read_line(&mut self, line: RolloutLine) -> Vec<RolloutEvent> {
        if line.record == RolloutRecord::Blank {
            return Vec::new();
        }
        let at = self.time_of(line.at);
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let kinds = match line.record {
            // A sub-agent's file continues with its parent's.
            RolloutRecord::SessionMeta(meta) if is_first => {
                self.begin(meta);
                Vec::new()
            }
            record => self.interpret(record),
        };
        let named = |kind| RolloutEvent { at, name: line.name.clone(), kind };
        kinds.into_iter().map(named).collect()
    }

    /// Returns the event for the session that the user sees. The events of a sub-agent's or a
    /// review's thread belong to the thread that it works for. Returns `None` for a thread whose
    /// first line could not be read: its session is not known.
    pub fn session_event(&self, event: RolloutEvent) -> Option<Event> {
        let meta = self.meta.as_ref()?;
        let own_id = meta.id.as_deref()?;
        let root_id = match meta.kind {
            ThreadKind::User => own_id,
            ThreadKind::SubAgent | ThreadKind::Review => meta.root_id.as_deref()?,
        };
        let root_id = SessionId::parse(root_id).filter(|id| is_uuid(id.as_str()))?;
        let event = self.event(event, root_id, ProcessKey::UNKNOWN);
        let agent_id = (meta.kind != ThreadKind::User).then(|| own_id.to_owned());
        Some(Event { agent_id, ..event })
    }

    /// Returns the event for the session `session_id`, which `process` carries.
    pub fn event(&self, event: RolloutEvent, session_id: SessionId, process: ProcessKey) -> Event {
        Event {
            session: SessionKey::new(Agent::Codex, session_id),
            at: event.at,
            process,
            name: event.name,
            agent_id: None,
            facts: EventFacts {
                cwd: self.cwd.clone(),
                prompt_id: self.turn.id.clone(),
                model: self.model.clone(),
                ..EventFacts::default()
            },
            host: None,
            kind: event.kind,
        }
    }

    /// Returns the file's first record, or `None` if it could not be read.
    pub fn meta(&self) -> Option<&ThreadMeta> {
        self.meta.as_ref()
    }

    pub fn cwd(&self) -> Option<&str> {
        self.cwd.as_deref()
    }

    pub fn turn_id(&self) -> Option<&str> {
        self.turn.id.as_deref()
    }

    /// Returns the user's last text in the turn that runs, or ran last.
    pub fn prompt(&self) -> Option<&str> {
        self.turn.prompt.as_deref()
    }

    /// Returns the agent's last text in the turn that runs, or ran last.
    pub fn answer(&self) -> Option<&str> {
        self.turn.answer.as_deref()
    }

    /// Returns whether only a turn's own record can end it. A damaged line may have been the
    /// beginning of a turn; a whole file without one is judged by its messages, whatever its
    /// version.
    fn is_exact(&self) -> bool {
        let may_tell = self.is_modern || self.meta.is_none();
        self.has_tasks || (self.is_damaged && may_tell)
    }

    fn begin(&mut self, meta: ThreadMeta) {
        self.is_modern |= meta.dialect == Dialect::Paginated
            || meta.cli_version.as_deref().is_some_and(records_turns);
        self.cwd.clone_from(&meta.cwd);
        self.meta = Some(meta);
    }

    /// Returns a time that agrees with the order of lines, which is authoritative. With a time that
    /// goes back a little, as those of two writers can, `advance` would drop the event.
    fn time_of(&mut self, at: Option<Timestamp>) -> Timestamp {
        let at = match (at, self.last_at) {
            (Some(at), Some(last)) if at < last && last.since(at) <= LATE => last,
            (Some(at), _) => at,
            (None, last) => last.unwrap_or_default(),
        };
        self.last_at = Some(at);
        at
    }

    fn interpret(&mut self, record: RolloutRecord) -> Vec<EventKind> {
        match record {
            RolloutRecord::TurnContext { cwd, model, turn_id, .. } => {
                self.cwd = cwd.or(self.cwd.take());
                self.model = model.or(self.model.take());
                // Versions that name their turns also record when they begin.
                self.is_modern |= turn_id.is_some();
                Vec::new()
            }
            RolloutRecord::TaskStarted { turn_id, .. } => {
                self.has_tasks = true;
                self.turn = ThreadTurn {
                    id: turn_id,
                    progress: TurnProgress::Open,
                    ..ThreadTurn::default()
                };
                vec![EventKind::TurnStarted]
            }
            RolloutRecord::TaskComplete { turn_id, answer, error } => {
                self.has_tasks = true;
                // A review completes another turn than it started; and the beginning of this one
                // may have been unreadable.
                self.turn.id = turn_id.or(self.turn.id.take());
                vec![self.complete(answer, error)]
            }
            RolloutRecord::TurnAborted => self.abort(),
            RolloutRecord::UserText { text, dialect, .. } => {
                self.is_modern |= dialect == Dialect::Paginated;
                self.user_said(text)
            }
            RolloutRecord::UserMessage { text } => {
                self.has_messages = true;
                // The thread's own event follows, with the exact text.
                if self.is_exact() { Vec::new() } else { self.user_said(text) }
            }
            RolloutRecord::AgentText { text, phase, dialect } => {
                self.is_modern |= dialect == Dialect::Paginated;
                let is_told_twice = self.has_messages;
                self.agent_said(text, if is_told_twice { Phase::Commentary } else { phase })
            }
            RolloutRecord::AssistantMessage { text, phase } => {
                self.has_messages = true;
                // In an exact thread it may be the summary of a compaction.
                if self.is_exact() { Vec::new() } else { self.agent_said(text, phase) }
            }
            RolloutRecord::CallBegan { tool, call_id } => self.call_began(tool, call_id),
            RolloutRecord::CallEnded { call_id } => self.call_ended(call_id),
            RolloutRecord::InjectedMessage => {
                self.has_messages = true;
                Vec::new()
            }
            RolloutRecord::OtherItem => {
                self.is_modern = true;
                Vec::new()
            }
            RolloutRecord::Unreadable => {
                self.is_damaged = true;
                Vec::new()
            }
            RolloutRecord::SessionMeta(_)
            | RolloutRecord::SettingsApplied { .. }
            | RolloutRecord::Other
            | RolloutRecord::Blank => Vec::new(),
        }
    }

    fn complete(&mut self, answer: TaskAnswer, error: Option<TaskError>) -> EventKind {
        let turn = &mut self.turn;
        turn.progress = TurnProgress::AtRest;
        turn.calls.clear();
        match answer {
            TaskAnswer::Text(text) => turn.answer = Some(text),
            TaskAnswer::Nothing => turn.answer = None,
            TaskAnswer::Unknown => {}
        }
        let answer = turn.answer.clone();
        match error {
            Some(TaskError { kind, message }) => {
                EventKind::TurnFailed { error: kind, answer: answer.or(message) }
            }
            None => ended(answer, false),
        }
    }

    /// Ends the turn. The record counts in any state of the turn before: its beginning may have
    /// been unreadable, or it looked finished (KT-48).
    fn abort(&mut self) -> Vec<EventKind> {
        let turn = &mut self.turn;
        turn.calls.clear();
        let begun_again = match std::mem::replace(&mut turn.progress, TurnProgress::Aborted) {
            TurnProgress::Open => None,
            TurnProgress::AtRest | TurnProgress::Aborted => Some(match &turn.prompt {
                Some(prompt) => EventKind::PromptSubmitted { prompt: prompt.clone() },
                None => EventKind::TurnStarted,
            }),
        };
        begun_again.into_iter().chain([EventKind::Interrupted]).collect()
    }

    fn user_said(&mut self, text: String) -> Vec<EventKind> {
        let is_running = self.is_exact() && self.turn.progress == TurnProgress::Open;
        let turn = &mut self.turn;
        if turn.is_fresh && turn.prompt.as_ref() == Some(&text) {
            return Vec::new();
        }
        if is_running && turn.prompt.is_some() {
            // Typed while the agent works: the same turn, and a question stays open.
            turn.prompt = Some(text);
            return Vec::new();
        }
        let id = turn.id.take().filter(|_| is_running);
        *turn = ThreadTurn {
            id,
            progress: TurnProgress::Open,
            prompt: Some(text.clone()),
            is_fresh: true,
            ..ThreadTurn::default()
        };
        vec![EventKind::PromptSubmitted { prompt: text }]
    }

    fn agent_said(&mut self, text: String, phase: Phase) -> Vec<EventKind> {
        if text.trim().is_empty() {
            return Vec::new();
        }
        let is_exact = self.is_exact();
        let turn = &mut self.turn;
        turn.answer = Some(text);
        turn.is_fresh = false;
        let looks_finished = phase == Phase::Answer && turn.calls.is_empty();
        if is_exact || !looks_finished || turn.progress == TurnProgress::Aborted {
            return Vec::new();
        }
        turn.progress = TurnProgress::AtRest;
        let has_ended = std::mem::replace(&mut turn.has_ended, true);
        vec![ended(turn.answer.clone(), has_ended)]
    }

    fn call_began(&mut self, tool: String, id: Option<String>) -> Vec<EventKind> {
        if !self.can_go_on() {
            return Vec::new();
        }
        let call = ToolCall { tool, id, input: 0 };
        let calls = &mut self.turn.calls;
        if call.id.is_some() {
            if calls.len() >= MAX_CALLS {
                calls.remove(0);
            }
            calls.push(call.clone());
        }
        vec![EventKind::ToolStarting { call, skill: None, server: None }]
    }

    fn call_ended(&mut self, id: Option<String>) -> Vec<EventKind> {
        if !self.can_go_on() {
            return Vec::new();
        }
        let calls = &mut self.turn.calls;
        let begun = calls.iter().position(|call| call.id.is_some() && call.id == id);
        let tool = begun.map(|index| calls.remove(index).tool).unwrap_or_default();
        vec![EventKind::ToolEnded { call: ToolCall { tool, id, input: 0 }, speak: None }]
    }

    /// Returns whether a tool call can be the turn's. A call of a background process after the end
    /// is not; in a thread that is not exact, a turn that only looked finished continues.
    fn can_go_on(&mut self) -> bool {
        let is_over = match self.turn.progress {
            TurnProgress::Open => false,
            TurnProgress::AtRest => self.is_exact(),
            TurnProgress::Aborted => true,
        };
        if !is_over {
            self.turn.progress = TurnProgress::Open;
            self.turn.is_fresh = false;
        }
        !is_over
    }
}

/// Returns how the last turn in these lines ended, and when; `None` if it is open or not in them.
pub fn last_end(lines: impl DoubleEndedIterator<Item = RolloutLine>) -> Option<RolloutEvent> {
    for line in lines.rev() {
        let kind = match line.record {
            RolloutRecord::TaskComplete { answer, error, .. } => {
                RolloutThread::default().complete(answer, error)
            }
            RolloutRecord::TurnAborted => EventKind::Interrupted,
            RolloutRecord::TaskStarted { .. } => return None,
            _ => continue,
        };
        return Some(RolloutEvent { at: line.at?, name: line.name, kind });
    }
    None
}

/// Returns whether the version records turns: 0.98 did not, 0.140 does; the first was about 0.100.
fn records_turns(cli_version: &str) -> bool {
    let mut parts = cli_version.split('.').map(str::parse::<u32>);
    match (parts.next(), parts.next()) {
        (Some(Ok(0)), Some(Ok(minor))) => minor >= 100,
        (Some(Ok(major)), _) => major > 0,
        _ => false,
    }
}

fn ended(answer: Option<String>, is_continued: bool) -> EventKind {
    EventKind::TurnEnded { answer, background_tasks: Vec::new(), stop_hook_active: is_continued }
}

/// The state of a thread in Codex's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadState {
    /// The thread has no event yet (KT-50).
    None,
    Working,
    WaitingUser,
    Completed,
    Failed,
    Aborted,
    Stopped,
}

impl ThreadState {
    pub fn of(session: &Session) -> ThreadState {
        if session.runs.is_empty() {
            return ThreadState::None;
        }
        match (session.state(), session.detail()) {
            (State::Working, _) => ThreadState::Working,
            (State::WaitingUser, _) => ThreadState::WaitingUser,
            (State::Stopped, _) => ThreadState::Stopped,
            (State::Completed, Some(Detail::Failed { .. })) => ThreadState::Failed,
            (State::Completed, Some(Detail::Interrupted)) => ThreadState::Aborted,
            (State::Completed, Some(Detail::Ok)) => ThreadState::Completed,
            (State::Completed, None) => ThreadState::None,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            ThreadState::None => "none",
            ThreadState::Working => "working",
            ThreadState::WaitingUser => "waiting_user",
            ThreadState::Completed => "completed",
            ThreadState::Failed => "failed",
            ThreadState::Aborted => "aborted",
            ThreadState::Stopped => "stopped",
        }
    }
}

/// Returns whether it is the prompt of the turn by which Codex gives a new thread its title;
/// `notify` reports that turn too.
pub fn is_title_request(prompt: &str) -> bool {
    prompt.trim_start().starts_with("Generate a concise, single-line task title")
}

#[cfg(test)]
mod tests;
