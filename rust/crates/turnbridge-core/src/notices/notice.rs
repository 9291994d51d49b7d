//! Defines the notice, a report to the user about a turn or about Turnbridge itself, and the ids by
//! which notices are deduplicated.

use crate::ids::{Agent, ChannelName, NamedSession, is_safe_component, is_uuid};
use crate::session::event::{Event, EventKind};
use crate::session::turn_record::TurnRecord;
use crate::timestamp::Timestamp;

/// A report to the user, and the channels that receive it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The same for the same event, from whichever source.
    pub id: String,
    pub kind: NoticeKind,
    /// `None` if the stored text is no time.
    pub created_at: Option<Timestamp>,
    pub session: NamedSession,
    pub turn_id: Option<String>,
    pub cwd: Option<String>,
    /// Where to find the texts that the hook did not receive.
    pub transcript_path: Option<String>,
    pub prompt: Option<String>,
    pub answers: Vec<String>,
    /// The channels that receive it; at least one.
    pub destinations: Vec<Destination>,
    /// The kind of API error, the tool whose dialog is open, or the cause of a problem.
    pub subject: Option<String>,
}

/// A channel that receives a notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    pub channel: ChannelName,
    /// The thread to post in, if the notice begins no new thread.
    pub thread: Option<ThreadPlace>,
}

impl Destination {
    /// Builds a destination that begins a new thread.
    pub const fn on(channel: ChannelName) -> Destination {
        Destination { channel, thread: None }
    }
}

/// A thread, and the message in it that the notice answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadPlace {
    pub channel: String,
    pub thread_ts: String,
    /// The message that is answered; this notice's messages are newer.
    pub after_ts: String,
}

/// The subject of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeKind {
    /// A turn has ended.
    Turn,
    /// An API error has ended the turn.
    Failed,
    /// A dialog is open for the user.
    Waiting,
    /// A message of Turnbridge itself in a thread, such as the receipt of a reply, or the failure
    /// of a run.
    Word,
    /// A report could not be processed, for a reason that the user can fix (X28).
    Problem,
}

impl NoticeKind {
    pub const ALL: [NoticeKind; 5] = [
        NoticeKind::Turn,
        NoticeKind::Failed,
        NoticeKind::Waiting,
        NoticeKind::Word,
        NoticeKind::Problem,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            NoticeKind::Turn => "turn",
            NoticeKind::Failed => "failed",
            NoticeKind::Waiting => "waiting",
            NoticeKind::Word => "word",
            NoticeKind::Problem => "problem",
        }
    }

    pub fn parse(text: &str) -> Option<NoticeKind> {
        NoticeKind::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

impl Notice {
    fn new(kind: NoticeKind, id: String, session: NamedSession, now: Timestamp) -> Notice {
        Notice {
            id,
            kind,
            created_at: Some(now),
            session,
            turn_id: None,
            cwd: None,
            transcript_path: None,
            prompt: None,
            answers: Vec::new(),
            destinations: vec![Destination::on(ChannelName::SLACK)],
            subject: None,
        }
    }

    /// Returns a notice of a finished turn, without texts.
    pub fn turn(id: String, session: impl Into<NamedSession>, now: Timestamp) -> Notice {
        Notice::new(NoticeKind::Turn, id, session.into(), now)
    }

    /// Returns a notice of a failed turn. `error` is the kind of API error.
    pub fn failed(
        id: String,
        session: impl Into<NamedSession>,
        error: String,
        now: Timestamp,
    ) -> Notice {
        let notice = Notice::new(NoticeKind::Failed, id, session.into(), now);
        Notice { subject: Some(error), ..notice }
    }

    /// Returns a notice of an open dialog. `tool` is the tool that it is about, if known.
    pub fn waiting(
        id: String,
        session: impl Into<NamedSession>,
        tool: Option<String>,
        now: Timestamp,
    ) -> Notice {
        let notice = Notice::new(NoticeKind::Waiting, id, session.into(), now);
        Notice { subject: tool, ..notice }
    }

    /// Returns a message in a thread. `session` is the thread's; empty if not known.
    pub fn word(
        id: String,
        session: NamedSession,
        to: Destination,
        text: String,
        now: Timestamp,
    ) -> Notice {
        let notice = Notice::new(NoticeKind::Word, id, session, now);
        Notice { answers: vec![text], destinations: vec![to], ..notice }
    }

    /// Returns the notice of a problem. Its id is the same for one cause on one day, so that it is
    /// sent once (X28).
    pub fn problem(cause: Cause, now: Timestamp) -> Notice {
        let day = now.to_string();
        let day = day.split('T').next().unwrap_or_default();
        let id = format!("{}-{}-{day}", Agent::Codex, cause.as_str());
        let codex = NamedSession::of_agent(Agent::Codex, "");
        let notice = Notice::new(NoticeKind::Problem, id, codex, now);
        Notice { subject: Some(cause.as_str().to_owned()), ..notice }
    }

    /// Returns the notice of a finished or failed turn, with the texts of its record.
    pub fn of_turn(id: String, record: &TurnRecord, transcript_path: Option<String>) -> Notice {
        let answers = record.earlier_answers.iter().chain(&record.answer).cloned();
        Notice {
            id,
            kind: if record.error().is_some() { NoticeKind::Failed } else { NoticeKind::Turn },
            created_at: record.ended_at,
            session: record.session.clone().into(),
            turn_id: record.turn_id.clone(),
            cwd: record.cwd.clone(),
            transcript_path,
            prompt: record.prompt.clone(),
            answers: answers.filter(|answer| !answer.trim().is_empty()).collect(),
            subject: record.error().map(str::to_owned),
            destinations: vec![Destination::on(ChannelName::SLACK)],
        }
    }
}

impl Notice {
    /// Returns the channels that receive it.
    pub fn channels(&self) -> impl Iterator<Item = &ChannelName> {
        self.destinations.iter().map(|destination| &destination.channel)
    }

    /// Returns the thread in which it is posted on this channel, if it begins no new one.
    pub fn thread_on(&self, channel: &ChannelName) -> Option<&ThreadPlace> {
        let on = self.destinations.iter().find(|destination| destination.channel == *channel);
        on?.thread.as_ref()
    }

    /// Returns a copy that is sent to these channels, and begins a new thread on each.
    pub fn sent_to(&self, channels: Vec<ChannelName>) -> Notice {
        let destinations = channels.into_iter().map(Destination::on).collect();
        Notice { destinations, ..self.clone() }
    }
}

/// Returns the notice id of a finished Codex turn: the same from each source (its Stop hook, its
/// `notify` program, its rollout). Returns `None` for versions that do not name their turns.
pub fn codex_turn_id(thread_id: &str, turn_id: Option<&str>) -> Option<String> {
    turn_notice_id(Agent::Codex, thread_id, turn_id)
}

fn turn_notice_id(agent: Agent, session_id: &str, turn_id: Option<&str>) -> Option<String> {
    let turn_id = turn_id.filter(|id| is_uuid(id) && is_uuid(session_id))?;
    Some(format!("{agent}-{session_id}-{turn_id}"))
}

/// Returns the id of the notice that `event` makes; `payload` is its hash. The event's second
/// report makes the same id, so notices are deduplicated.
pub fn notice_id(event: &Event, payload: u64) -> String {
    codex_event_id(event).unwrap_or_else(|| format!("{}-{payload:016x}", event.session.agent))
}

/// Returns the id of the notice of a finished turn that has a name, as Codex's turns have. Returns
/// `None` for other events, whose notice needs the payload's hash.
pub fn codex_event_id(event: &Event) -> Option<String> {
    let ends_turn =
        matches!(event.kind, EventKind::TurnEnded { .. } | EventKind::TurnFailed { .. });
    let turn = event
        .facts
        .prompt_id
        .as_deref()
        .filter(|_| event.session.agent.names_turns_once() && ends_turn);
    turn_notice_id(event.session.agent, event.session.id.as_str(), turn)
}

/// Why reports of Codex do not become notices; the user can fix each cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The caller of `turnbridge notify --tool codex` is not Codex.
    ReportUnreadable,
    /// The rollout exists, but is not readable.
    RolloutUnreadable,
    /// The user's previous `notify` program could not be started.
    ChainFailed,
}

impl Cause {
    pub const ALL: [Cause; 3] =
        [Cause::ReportUnreadable, Cause::RolloutUnreadable, Cause::ChainFailed];

    pub const fn as_str(self) -> &'static str {
        match self {
            Cause::ReportUnreadable => "report_unreadable",
            Cause::RolloutUnreadable => "rollout_unreadable",
            Cause::ChainFailed => "chain_failed",
        }
    }

    pub fn parse(text: &str) -> Option<Cause> {
        Cause::ALL.into_iter().find(|cause| cause.as_str() == text)
    }
}

/// Returns whether the id may become a file name.
pub fn is_notice_id(id: &str) -> bool {
    is_safe_component(id)
}
