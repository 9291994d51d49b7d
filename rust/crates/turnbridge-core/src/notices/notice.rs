//! What is to be told, of a turn or of Turnbridge itself.

use crate::ids::{Agent, ChannelName, NamedSession, is_safe_component, is_uuid};
use crate::session::event::{Event, EventKind};
use crate::session::turn_record::TurnRecord;
use crate::timestamp::Timestamp;

/// One thing to be told, with the channels that it goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The same for the same event, whoever reports it.
    pub id: String,
    pub kind: NoticeKind,
    /// `None`: what stands there is no time.
    pub created_at: Option<Timestamp>,
    pub session: NamedSession,
    pub turn_id: Option<String>,
    pub cwd: Option<String>,
    /// Where to look for what the hook was not told.
    pub transcript_path: Option<String>,
    pub prompt: Option<String>,
    pub answers: Vec<String>,
    /// Where it is told; there is one at least.
    pub destinations: Vec<Destination>,
    /// The kind of API error, the tool whose dialog is open, or the cause of a problem.
    pub subject: Option<String>,
}

/// One way by which a notice is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    pub channel: ChannelName,
    /// Where it is said, when it begins no thread of its own.
    pub thread: Option<ThreadPlace>,
}

impl Destination {
    /// In a thread of its own.
    pub const fn on(channel: ChannelName) -> Destination {
        Destination { channel, thread: None }
    }
}

/// A thread, and the message in it that is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadPlace {
    pub channel: String,
    pub thread_ts: String,
    /// What is answered: nothing of ours is older.
    pub after_ts: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeKind {
    /// A turn has ended.
    Turn,
    /// An API error has ended it.
    Failed,
    /// A dialog is open for the user.
    Waiting,
    /// What Turnbridge itself has to say in a thread: a reply was received, a run has failed.
    Word,
    /// A report could not be dealt with, for a reason that the user can mend (X28).
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

    pub fn turn(id: String, session: impl Into<NamedSession>, now: Timestamp) -> Notice {
        Notice::new(NoticeKind::Turn, id, session.into(), now)
    }

    /// `error` is the kind of API error.
    pub fn failed(
        id: String,
        session: impl Into<NamedSession>,
        error: String,
        now: Timestamp,
    ) -> Notice {
        let notice = Notice::new(NoticeKind::Failed, id, session.into(), now);
        Notice { subject: Some(error), ..notice }
    }

    /// `tool` is the one whose dialog is open, where that is known.
    pub fn waiting(
        id: String,
        session: impl Into<NamedSession>,
        tool: Option<String>,
        now: Timestamp,
    ) -> Notice {
        let notice = Notice::new(NoticeKind::Waiting, id, session.into(), now);
        Notice { subject: tool, ..notice }
    }

    /// `session` is the one that the thread belongs to: nobody's, if it is not known.
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

    /// Once for each cause and day (X28).
    pub fn problem(cause: Cause, now: Timestamp) -> Notice {
        let day = now.to_string();
        let day = day.split('T').next().unwrap_or_default();
        let id = format!("{}-{}-{day}", Agent::Codex, cause.as_str());
        let codex = NamedSession::of_agent(Agent::Codex, "");
        let notice = Notice::new(NoticeKind::Problem, id, codex, now);
        Notice { subject: Some(cause.as_str().to_owned()), ..notice }
    }

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
    /// The channels that it goes to.
    pub fn channels(&self) -> impl Iterator<Item = &ChannelName> {
        self.destinations.iter().map(|destination| &destination.channel)
    }

    /// Returns the thread in which it is said on this channel, if it begins none of its own.
    pub fn thread_on(&self, channel: &ChannelName) -> Option<&ThreadPlace> {
        let on = self.destinations.iter().find(|destination| destination.channel == *channel);
        on?.thread.as_ref()
    }

    /// The same for all of these channels.
    pub fn sent_to(&self, channels: Vec<ChannelName>) -> Notice {
        let destinations = channels.into_iter().map(Destination::on).collect();
        Notice { destinations, ..self.clone() }
    }
}

/// The id of a finished turn of Codex: the same by whichever road it is reported (its Stop hook, its
/// `notify` program, its rollout). `None` for versions that do not name their turns.
pub fn codex_turn_id(thread_id: &str, turn_id: Option<&str>) -> Option<String> {
    turn_notice_id(Agent::Codex, thread_id, turn_id)
}

fn turn_notice_id(agent: Agent, session_id: &str, turn_id: Option<&str>) -> Option<String> {
    let turn_id = turn_id.filter(|id| is_uuid(id) && is_uuid(session_id))?;
    Some(format!("{agent}-{session_id}-{turn_id}"))
}

/// The id of the notice that `event` makes; `payload` is its hash. Its second report makes the same
/// id, and no second notice.
pub fn notice_id(event: &Event, payload: u64) -> String {
    codex_event_id(event).unwrap_or_else(|| format!("{}-{payload:016x}", event.session.agent))
}

/// The id that needs no payload: of a turn that has ended and has a name of its own, as Codex's have.
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

/// What keeps reports of Codex from becoming notices, and the user can mend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Whatever calls `turnbridge notify --tool codex`, it is not Codex.
    ReportUnreadable,
    /// The rollout is there, but not for us.
    RolloutUnreadable,
    /// The `notify` program that the user had before could not be started.
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

/// An id becomes the name of a file.
pub fn is_notice_id(id: &str) -> bool {
    is_safe_component(id)
}
