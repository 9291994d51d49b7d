//! Returns the data of the board's settings page, and switches Turnbridge's hooks in Claude Code's
//! own settings (KT-83, KT-84).

use anyhow::Result;
use serde_json::{Value, json};
use turnbridge_config::Config;
use turnbridge_core::agents::claude::settings_edit::Registration;
use turnbridge_core::ids::ChannelName;
use turnbridge_core::system::daemon_wire::ConfigProblem;
use turnbridge_core::system::setup_texts::SetupText;
use turnbridge_core::text::texts::Language;
use turnbridge_core::text::visible_text::visible;
use turnbridge_store::foreign::foreign_file::FileChange;
use turnbridge_store::paths::StatePaths;
use turnbridge_system::daemon_control;
use turnbridge_system::registration::claude_hooks::{self, WantedHooks};
use turnbridge_system::registration::{Basis, PlannedChange, nothing_of_ours, outcome_text};
use turnbridge_system::wsl::WslTarget;

use super::failure::{failure_json, safe};
use super::http::HttpResponse;

/// Returns the state of the hooks, of replies and of the config, for the page.
pub fn settings(paths: &StatePaths, language: Language) -> Value {
    let status = daemon_control::read_status(paths);
    json!({
        "version": 1,
        "language": match language { Language::Japanese => "ja", Language::English => "en" },
        "claude_hooks": hooks_status(),
        "replies": status.as_ref().and_then(|status| status.replies(&ChannelName::SLACK)),
        "config_problem": status.as_ref().and_then(|status| status.config_problem.as_ref()).map(config_problem),
        "program_version": env!("CARGO_PKG_VERSION"),
    })
}

/// Returns the problem of the config file from the daemon's status.
fn config_problem(problem: &ConfigProblem) -> Value {
    json!({
        "error": safe(&problem.error),
        "hint": safe(&problem.hint),
        "is_older_in_force": problem.is_older_in_force,
    })
}

/// Returns the same as `turnbridge hooks status --json`, or the error.
fn hooks_status() -> Value {
    let status = registration()
        .and_then(|registration| claude_hooks::status(&WslTarget::Here, &registration));
    status.map_or_else(|error| failure_json(&error), |status| status.to_json())
}

fn registration() -> Result<Registration> {
    let config = Config::read().unwrap_or_default();
    WantedHooks::default().registration(&WslTarget::Here, &config, |_| {})
}

/// Switches the hooks. The call is idempotent: "apply now" is the same as switching them on.
pub fn set_claude_hooks(enabled: bool, language: Language) -> HttpResponse {
    let changed = if enabled { register(language) } else { remove(language) };
    let mut answer = match changed {
        Ok(output) => json!({ "ok": true, "output": output }),
        Err(error) => failure_json(&error),
    };
    answer["claude_hooks"] = hooks_status();
    HttpResponse::json(200, &answer)
}

fn register(language: Language) -> Result<String> {
    let registration = registration()?;
    let change = claude_hooks::plan_registering(&WslTarget::Here, &registration)?;
    match change.changes_nothing() {
        true => Ok(outcome_text(language, FileChange::Unchanged, change.path())),
        false => make(&change, language),
    }
}

fn remove(language: Language) -> Result<String> {
    let change = claude_hooks::plan_removal(&WslTarget::Here)?;
    match change.changes_nothing() {
        true => Ok(nothing_of_ours(change.path())),
        false => make(&change, language),
    }
}

/// Makes the change. Returns its text, and how Claude Code picks it up.
fn make(change: &PlannedChange<'_>, language: Language) -> Result<String> {
    let diff = change.diff();
    let made = change.make(Basis::Latest)?;
    let outcome = outcome_text(language, made, change.path());
    let next = match made {
        FileChange::Unchanged => "",
        _ => SetupText::ClaudeTakesItUp.text(language),
    };
    Ok(visible(&format!("{diff}{outcome}\n{next}")).trim_end().to_owned())
}
