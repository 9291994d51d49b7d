//! Defines a finding: something that works, or a problem with its consequence and its repair.

use std::path::PathBuf;

use turnbridge_core::agents::claude::settings_edit::StopGate;
use turnbridge_core::text::token_mask::without_tokens;
use turnbridge_core::text::visible_text::visible_line;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Ok,
    /// Information that needs no action.
    Note,
    /// Something works less well than it could.
    Warning,
    /// Something that the user has enabled does not work.
    Error,
}

impl Severity {
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Ok => "ok",
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }

    /// Returns the exit code, for scripts.
    pub const fn exit_code(self) -> u8 {
        match self {
            Severity::Ok | Severity::Note => 0,
            Severity::Warning => 1,
            Severity::Error => 2,
        }
    }
}

/// The sections of the report, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Area {
    Executables,
    Hooks,
    Agents,
    Gate,
    Config,
    Slack,
    Daemon,
    Service,
    Queues,
    Codex,
    Voice,
    Disk,
}

impl Area {
    pub const fn as_str(self) -> &'static str {
        match self {
            Area::Executables => "executables",
            Area::Hooks => "hooks",
            Area::Agents => "agents",
            Area::Gate => "gate",
            Area::Config => "config",
            Area::Slack => "slack",
            Area::Daemon => "daemon",
            Area::Service => "service",
            Area::Queues => "queues",
            Area::Codex => "codex",
            Area::Voice => "voice",
            Area::Disk => "disk",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The id, which is stable across versions.
    pub id: &'static str,
    pub area: Area,
    pub severity: Severity,
    pub what: String,
    /// The consequence. `None` if all is well, like `fix`.
    pub why: Option<String>,
    pub fix: Option<String>,
    /// The repair that `--fix` makes.
    pub repair: Option<Repair>,
}

/// A repair that `--fix` makes without a question. It is harmless: it changes only Turnbridge's own
/// state and its entries in the agents' files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repair {
    StartDaemon,
    RestartDaemon,
    RestartService,
    /// Delivers held notices now.
    RetryNotices,
    RegisterHooks(StopGate),
    RegisterNotify,
    /// Sets files to 0600, folders to 0700.
    MakePrivate(Vec<PathBuf>),
    Remove(Vec<PathBuf>),
}

impl Finding {
    pub fn ok(area: Area, id: &'static str, what: impl Into<String>) -> Finding {
        let what = one_line(&what.into());
        Finding { id, area, severity: Severity::Ok, what, why: None, fix: None, repair: None }
    }

    pub fn note(area: Area, id: &'static str, wording: ProblemText) -> Finding {
        Finding::problem(Severity::Note, area, id, wording)
    }

    pub fn warning(area: Area, id: &'static str, wording: ProblemText) -> Finding {
        Finding::problem(Severity::Warning, area, id, wording)
    }

    pub fn error(area: Area, id: &'static str, wording: ProblemText) -> Finding {
        Finding::problem(Severity::Error, area, id, wording)
    }

    pub fn problem(
        severity: Severity,
        area: Area,
        id: &'static str,
        wording: ProblemText,
    ) -> Finding {
        let [what, why, fix] = [wording.what, wording.why, wording.fix].map(|text| one_line(&text));
        Finding { id, area, severity, what, why: Some(why), fix: Some(fix), repair: None }
    }

    pub fn repaired_by(self, repair: Repair) -> Finding {
        Finding { repair: Some(repair), ..self }
    }
}

/// The texts of a problem, one line each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProblemText {
    pub what: String,
    pub why: String,
    pub fix: String,
}

pub fn problem_text(
    what: impl Into<String>,
    why: impl Into<String>,
    fix: impl Into<String>,
) -> ProblemText {
    ProblemText { what: what.into(), why: why.into(), fix: fix.into() }
}

/// Cleans foreign text, which may have several lines or contain a token: a key of the config may be
/// one.
pub fn one_line(text: &str) -> String {
    visible_line(&without_tokens(text)).into_owned()
}

/// Returns `1 file`, `2 files`.
pub fn counted(count: usize, one: &str, several: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {several}") }
}
