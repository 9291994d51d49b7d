//! Handles `turnbridge notify --tool codex`: Codex reports that a turn has ended (SLV-56..63).
//!
//! Codex also reports turns that no user began: those of sub-agents and reviews, and the one that
//! makes a title. The rollout distinguishes the first two, and contains the user's prompt. Every
//! problem is a line in `notify.log`. One that the user can fix is also queued as a notice, once
//! per cause and day (X28).

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use turnbridge_core::agents::codex::codex_notify_wire::{
    NotifyReport, TurnReport, Unreadable, read_report,
};
use turnbridge_core::agents::codex::rollout_prompt::RolloutPrompt;
use turnbridge_core::agents::codex::rollout_wire::ThreadKind;
use turnbridge_core::agents::hook_table::HookProgram;
use turnbridge_core::ids::{Agent, NamedSession};
use turnbridge_core::notices::notice::{Cause, Notice, codex_turn_id};
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::foreign::codex_rollouts;
use turnbridge_store::log;
use turnbridge_store::paths::{StatePaths, codex_home};
use turnbridge_store::state::config_text::ConfigText;
use turnbridge_store::state::folder_trust::trusted_state;
use turnbridge_store::state::previous_notify;

use crate::{call, notice};

/// Set for the chained program. If that is Turnbridge itself, it must not chain again without end.
const PREVIOUS_NOTIFY_OPTION: &str = "TURNBRIDGE_NOTIFY_CHAINED";

/// The reason why a report became no notice.
enum NoNoticeReason {
    /// The turn is no user's. This is no error.
    Internal(&'static str),
    /// SLV-63.
    NoUserText(&'static str),
    Failed {
        cause: Option<Cause>,
        error: String,
    },
}

pub fn handle(json: &[u8], config: &ConfigText, at: Timestamp) {
    let Some(paths) = trusted_state() else { return };
    call::log_ignored_environment(HookProgram::Notify, at);
    // This is the first step, so that the user's program runs even if Turnbridge's work fails.
    if let Err(error) = run_previous_notify(&paths, json) {
        report_failure(&paths, config, at, Some(Cause::ChainFailed), &error);
    }
    let report = match read_report(json) {
        Ok(NotifyReport::Turn(report)) => report,
        Ok(NotifyReport::Other) => return,
        Err(Unreadable::NoReport) => {
            let error = format!("{} bytes that are no report of Codex", json.len());
            return report_failure(&paths, config, at, Some(Cause::ReportUnreadable), &error);
        }
        Err(Unreadable::NoThread) => {
            return report_failure(&paths, config, at, None, "`thread-id` is no id");
        }
    };
    match notice_of(&report, at) {
        Ok(notice) => {
            if let Err(error) = notice::queue(&paths, config, &notice) {
                report_failure(&paths, config, at, None, &error);
            }
        }
        Err(NoNoticeReason::Internal(reason)) => {
            log_report(&paths, at, "info", "the turn is no user's", &report, reason);
        }
        Err(NoNoticeReason::NoUserText(reason)) => {
            log_report(&paths, at, "error", "notify.user_text_missing", &report, reason);
        }
        Err(NoNoticeReason::Failed { cause, error }) => {
            report_failure(&paths, config, at, cause, &error)
        }
    }
}

fn notice_of(report: &TurnReport, at: Timestamp) -> Result<Notice, NoNoticeReason> {
    if report.is_title {
        return Err(NoNoticeReason::Internal("it makes a title"));
    }
    let rollout =
        find_rollout(&report.thread_id).ok_or(NoNoticeReason::NoUserText("no rollout"))?;
    let prompt = read_prompt(&rollout, report)?;
    let id = codex_turn_id(&report.thread_id, report.turn_id.as_deref()).unwrap_or_else(|| {
        let at = prompt.at.unwrap_or_default();
        format!("{}-{}-{:x}", Agent::Codex, report.thread_id, at.as_micros())
    });
    Ok(Notice {
        turn_id: report.turn_id.clone(),
        cwd: report.cwd.clone(),
        prompt: Some(prompt.text),
        answers: report.answer.clone().into_iter().collect(),
        ..Notice::turn(id, NamedSession::of_agent(Agent::Codex, &report.thread_id), at)
    })
}

/// Finds the rollout by its name, else by its content.
fn find_rollout(thread_id: &str) -> Option<PathBuf> {
    let home = codex_home()?;
    let named = codex_rollouts::find(&home, thread_id);
    named.or_else(|| codex_rollouts::find_by_content(&home, thread_id))
}

fn read_prompt(rollout: &Path, report: &TurnReport) -> Result<RolloutPrompt, NoNoticeReason> {
    let failed = |error: io::Error| NoNoticeReason::Failed {
        cause: Some(Cause::RolloutUnreadable),
        error: format!("{}: {error}", rollout.display()),
    };
    match codex_rollouts::read_meta(rollout).map_err(failed)?.map(|meta| meta.kind) {
        Some(ThreadKind::SubAgent) => return Err(NoNoticeReason::Internal("a sub-agent")),
        Some(ThreadKind::Review) => return Err(NoNoticeReason::Internal("a review")),
        Some(ThreadKind::User) | None => {}
    }
    let prompt = codex_rollouts::prompt_of(rollout, report.turn_id.as_deref()).map_err(failed)?;
    prompt.ok_or(NoNoticeReason::NoUserText("the rollout does not tell"))
}

/// Starts the user's program as Codex would have: without input and output, and without waiting for
/// it.
fn run_previous_notify(paths: &StatePaths, json: &[u8]) -> Result<(), String> {
    if std::env::var_os(PREVIOUS_NOTIFY_OPTION).is_some() {
        return Ok(());
    }
    let chain = match previous_notify::read(paths) {
        Ok(Some(chain)) => chain,
        Ok(None) => return Ok(()),
        Err(error) => return Err(format!("codex-notify.json: {error}")),
    };
    let json = std::str::from_utf8(json).map_err(|_| "a report that is no UTF-8".to_owned())?;
    let mut command = Command::new(&chain.argv[0]);
    command.args(&chain.argv[1..]).arg(json).env(PREVIOUS_NOTIFY_OPTION, "1");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("the earlier notify `{}`: {error}", chain.argv[0])),
    }
}

fn report_failure(
    paths: &StatePaths,
    config: &ConfigText,
    at: Timestamp,
    cause: Option<Cause>,
    error: &str,
) {
    let fields = [("tool", Agent::Codex.as_str().into()), ("error", error.into())];
    log::write_log(&paths.notify_log(), at, "error", "could not process Codex's report", &fields);
    let Some(cause) = cause else { return };
    let _ = notice::queue(paths, config, &Notice::problem(cause, at));
}

fn log_report(
    paths: &StatePaths,
    at: Timestamp,
    level: &str,
    message: &str,
    report: &TurnReport,
    reason: &str,
) {
    let fields = [
        ("tool", Agent::Codex.as_str().into()),
        ("session_id", report.thread_id.clone().into()),
        ("turn_id", report.turn_id.clone().unwrap_or_default().into()),
        ("reason", reason.into()),
    ];
    log::write_log(&paths.notify_log(), at, level, message, &fields);
}
