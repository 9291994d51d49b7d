//! Defines the result of a reply's run: its outcome, and the reason of a failure.

use crate::timestamp::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunResult {
    pub outcome: RunOutcome,
    /// Why it failed.
    pub reason: Option<Reason>,
    /// The exit code or the signal's number.
    pub code: Option<i64>,
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
    /// The agent's output, if no turn contains it (slash commands).
    pub output: Option<String>,
    /// `None` if the stored text is no time.
    pub ended_at: Option<Timestamp>,
}

impl RunResult {
    pub const fn new(outcome: RunOutcome, ended_at: Timestamp) -> RunResult {
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
        RunResult { reason: Some(reason), code, ..RunResult::new(RunOutcome::Failed, ended_at) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunOutcome {
    Done,
    /// The agent that has the session open received it, and runs it itself.
    HandedOver,
    /// It is in the queue of the Codex that has the thread open, and was not seen to begin.
    NotBegun,
    Failed,
    Stopped,
    /// It reached the agent, and the process that ran it died before the turn's end.
    Interrupted,
    /// It was claimed, and its progress is not known.
    Uncertain,
    /// The user dropped it (`turnbridge inbox drop`).
    Dropped,
}

impl RunOutcome {
    pub const ALL: [RunOutcome; 8] = [
        RunOutcome::Done,
        RunOutcome::HandedOver,
        RunOutcome::NotBegun,
        RunOutcome::Failed,
        RunOutcome::Stopped,
        RunOutcome::Interrupted,
        RunOutcome::Uncertain,
        RunOutcome::Dropped,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            RunOutcome::Done => "done",
            RunOutcome::HandedOver => "handed_over",
            RunOutcome::NotBegun => "not_begun",
            RunOutcome::Failed => "failed",
            RunOutcome::Stopped => "stopped",
            RunOutcome::Interrupted => "interrupted",
            RunOutcome::Uncertain => "uncertain",
            RunOutcome::Dropped => "dropped",
        }
    }

    pub fn parse(text: &str) -> Option<RunOutcome> {
        RunOutcome::ALL.into_iter().find(|outcome| outcome.as_str() == text)
    }
}

/// Why a reply did not run to its end. The sentences are in `texts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The agent's program does not exist.
    ProgramMissing,
    /// The program exists, but could not be started.
    NotStarted,
    /// The session's folder does not exist.
    FolderMissing,
    /// The reply names no session that can be resumed.
    SessionInvalid,
    /// The agent does not know the session any more.
    SessionUnknown,
    /// Longer than the limit of a prompt.
    TooLong,
    /// A command that would end or empty the session.
    CommandRefused,
    ExitCode,
    Signal,
    /// The model's API ended the turn, according to the agent's record.
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
