//! What came of a reply.

use crate::timestamp::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunResult {
    pub outcome: Outcome,
    /// Why it failed.
    pub reason: Option<Reason>,
    /// The exit code or the signal's number.
    pub code: Option<i64>,
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
    /// What the agent printed, when no turn of its own will tell (slash commands).
    pub output: Option<String>,
    /// `None`: what stands there is no time.
    pub ended_at: Option<Timestamp>,
}

impl RunResult {
    pub const fn new(outcome: Outcome, ended_at: Timestamp) -> RunResult {
        RunResult {
            outcome,
            reason: None,
            code: None,
            stdout_bytes: 0,
            stderr_bytes: 0,
            output: None,
            ended_at: Some(ended_at),
        }
    }

    pub fn failed(reason: Reason, code: Option<i64>, ended_at: Timestamp) -> RunResult {
        RunResult { reason: Some(reason), code, ..RunResult::new(Outcome::Failed, ended_at) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// The agent that has the session open has it, and runs it itself.
    HandedOver,
    /// It stands in the queue of the Codex that has the thread open, and was not seen to begin.
    NotBegun,
    Failed,
    Stopped,
    /// It has reached the agent, and whoever ran it died before the end of its turn.
    Interrupted,
    /// It was claimed, and nobody can tell how far it came.
    Uncertain,
    /// The user did not want it any more (`turnbridge inbox drop`).
    Dropped,
}

impl Outcome {
    pub const ALL: [Outcome; 8] = [
        Outcome::Done,
        Outcome::HandedOver,
        Outcome::NotBegun,
        Outcome::Failed,
        Outcome::Stopped,
        Outcome::Interrupted,
        Outcome::Uncertain,
        Outcome::Dropped,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::HandedOver => "handed_over",
            Outcome::NotBegun => "not_begun",
            Outcome::Failed => "failed",
            Outcome::Stopped => "stopped",
            Outcome::Interrupted => "interrupted",
            Outcome::Uncertain => "uncertain",
            Outcome::Dropped => "dropped",
        }
    }

    pub fn parse(text: &str) -> Option<Outcome> {
        Outcome::ALL.into_iter().find(|outcome| outcome.as_str() == text)
    }
}

/// Why a reply did not run to its end. The sentences are in `texts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The agent's program is not there.
    ProgramMissing,
    /// It is there, and could not be started.
    NotStarted,
    /// The session's folder is gone.
    FolderMissing,
    /// The reply names no session that can be resumed.
    SessionInvalid,
    /// The agent does not know the session any more.
    SessionUnknown,
    /// Longer than what can be handed over.
    TooLong,
    /// A command that would end or empty the session.
    CommandRefused,
    ExitCode,
    Signal,
    /// The model's API has ended the turn, as the agent's own record says.
    TurnFailed,
}

impl Reason {
    pub const ALL: [Reason; 10] = [
        Reason::ProgramMissing,
        Reason::NotStarted,
        Reason::FolderMissing,
        Reason::SessionInvalid,
        Reason::SessionUnknown,
        Reason::TooLong,
        Reason::CommandRefused,
        Reason::ExitCode,
        Reason::Signal,
        Reason::TurnFailed,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Reason::ProgramMissing => "program_missing",
            Reason::NotStarted => "not_started",
            Reason::FolderMissing => "folder_missing",
            Reason::SessionInvalid => "session_invalid",
            Reason::SessionUnknown => "session_unknown",
            Reason::TooLong => "too_long",
            Reason::CommandRefused => "command_refused",
            Reason::ExitCode => "exit_code",
            Reason::Signal => "signal",
            Reason::TurnFailed => "turn_failed",
        }
    }

    pub fn parse(text: &str) -> Option<Reason> {
        Reason::ALL.into_iter().find(|reason| reason.as_str() == text)
    }
}
