//! Plans changes of Turnbridge's hooks in Claude Code's `settings.json`, for users without the
//! plugin, and reads their status. The hooks change only on an explicit command, and only in that
//! file (KT-5, KT-15, X7).

use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Value, json};
use turnbridge_config::Config;
use turnbridge_core::agents::claude::settings_edit::{
    EventRegistration, Form, Registration, StopGate, all_hooks_are_off, inspect, own_calls,
    plan_apply, plan_remove,
};
use turnbridge_core::agents::hook_table::HookEventName;
use turnbridge_core::system::wsl::WslEnvironment;
use turnbridge_store::foreign::foreign_file::{Current, ForeignFile};
use turnbridge_store::paths::claude_config_dir;

use super::planned_change::{Edit, PlannedChange};
use super::{claude_plugin, explain, hook_programs, refused};
use crate::failure::{Remark, hinted};
use crate::state_folder::state_paths;
use crate::wsl::{TargetFile, WslTarget};

/// The hooks to register.
#[derive(Debug, Clone, Copy, Default)]
pub struct WantedHooks {
    /// Whether the gate holds a turn until the agent has spoken.
    pub gate: bool,
    /// `None` means the form that the installed Claude Code supports.
    pub form: Option<Form>,
}

impl WantedHooks {
    /// Returns the hooks with the programs and the form for the target.
    pub fn registration(
        self,
        target: &WslTarget,
        config: &Config,
        remark: Remark,
    ) -> Result<Registration> {
        let [status, stop_gate, notify] = hook_programs::paths(target, remark)?;
        let form = match self.form {
            Some(form) => form,
            None => hook_programs::form_of_installed_claude(target, config)?,
        };
        let stop_gate_is = if self.gate { StopGate::On } else { StopGate::Off };
        Ok(Registration { status, stop_gate, notify, form, stop_gate_is })
    }
}

/// Returns Claude Code's `settings.json` of this system.
pub fn settings_file() -> Result<ForeignFile> {
    let folder: PathBuf = claude_config_dir()
        .ok_or_else(|| hinted("could not find Claude Code's folder", "set HOME to your home"))?;
    Ok(ForeignFile::new(&state_paths()?, &folder.join("settings.json")))
}

/// Returns the settings file of a target; the settings of a distribution are one too (KT-19).
fn settings_file_of(target: &WslTarget) -> Result<TargetFile<'_>> {
    target.file(&state_paths()?, settings_file, WslEnvironment::claude_settings)
}

pub fn plan_registering<'a>(
    target: &'a WslTarget,
    registration: &'a Registration,
) -> Result<PlannedChange<'a>> {
    let edit = Edit::Apply {
        with_us: Box::new(|current| with_us(current, registration)),
        without_us: Box::new(without_us),
    };
    PlannedChange::new(settings_file_of(target)?, edit)
}

pub fn plan_removal(target: &WslTarget) -> Result<PlannedChange<'_>> {
    PlannedChange::new(settings_file_of(target)?, Edit::Remove(Box::new(without_us)))
}

/// Plans to restore `settings.json.bak`: the file as it was before the first change.
pub fn plan_restoring(target: &WslTarget) -> Result<PlannedChange<'_>> {
    PlannedChange::new(settings_file_of(target)?, Edit::Restore)
}

fn with_us(current: &Current, registration: &Registration) -> Result<String, String> {
    let text = current.text_or_empty();
    let plan = plan_apply(text, registration).map_err(|refusal| refusal.to_string())?;
    Ok(plan.applied_to(text))
}

fn without_us(current: &Current) -> Result<String, String> {
    let text = current.text_or_empty();
    let plan = plan_remove(text, current.before_text()).map_err(|refusal| refusal.to_string())?;
    Ok(plan.applied_to(text))
}

/// The events that call Turnbridge, and whether they call this version.
#[derive(Debug)]
pub struct HooksStatus {
    pub path: PathBuf,
    pub events: Vec<(HookEventName, EventRegistration)>,
    /// Whether `disableAllHooks` is set.
    pub is_all_off: bool,
    pub backup: Option<PathBuf>,
}

pub fn status(target: &WslTarget, registration: &Registration) -> Result<HooksStatus> {
    let file = settings_file_of(target)?.file;
    let current = file.current::<String>().map_err(|failure| explain(failure, file.path()))?;
    let text = current.text_or_empty();
    let events = inspect(text, registration)
        .map_err(|refusal| refused(&refusal.to_string(), file.path()))?;
    Ok(HooksStatus {
        path: file.path().to_owned(),
        events,
        is_all_off: all_hooks_are_off(text),
        backup: Some(file.backup_path()).filter(|backup| backup.exists()),
    })
}

/// Returns the status in a word: `yes`, `no`, `partly`, or `unreadable` if the file cannot be
/// parsed.
pub fn summary_of(target: &WslTarget, registration: &Registration) -> Result<&'static str> {
    let file = settings_file_of(target)?.file;
    let Ok(current) = file.current::<String>() else { return Ok("unreadable") };
    let events = inspect(current.text_or_empty(), registration);
    Ok(events.map_or("unreadable", |events| summary(&events)))
}

impl HooksStatus {
    /// Returns the status of all events in a word.
    pub fn summary(&self) -> &'static str {
        summary(&self.events)
    }

    /// Returns the output of `turnbridge hooks status --json`, which the board also shows.
    pub fn to_json(&self) -> Value {
        let event = |(event, registered): &(HookEventName, EventRegistration)| json!({"event": event.as_str(), "registered": word(*registered)});
        json!({
            "version": 1,
            "path": self.path,
            "registered": self.summary(),
            "all_hooks_off": self.is_all_off,
            "backup": self.backup,
            "events": self.events.iter().map(event).collect::<Vec<_>>(),
        })
    }
}

fn summary(events: &[(HookEventName, EventRegistration)]) -> &'static str {
    let count = |wanted| events.iter().filter(|(_, registered)| *registered == wanted).count();
    match (count(EventRegistration::Yes), count(EventRegistration::No)) {
        (_, none) if none == events.len() => "no",
        (all, _) if all == events.len() => "yes",
        _ => "partly",
    }
}

pub const fn word(registered: EventRegistration) -> &'static str {
    match registered {
        EventRegistration::Yes => "yes",
        EventRegistration::Outdated => "outdated",
        EventRegistration::No => "no",
    }
}

/// Returns whether Claude Code calls Turnbridge, by its settings or by the plugin.
pub fn claude_calls_us() -> Result<bool> {
    let file = settings_file()?;
    let current = file.current::<String>().map_err(|failure| explain(failure, file.path()))?;
    let text = current.text_or_empty();
    let is_ours = own_calls(text).is_ok_and(|calls| !calls.is_empty());
    Ok((is_ours || claude_plugin::is_enabled()) && !all_hooks_are_off(text))
}

/// Returns whether the planned settings run no hook at all.
pub fn leaves_hooks_off(change: &PlannedChange<'_>) -> bool {
    change.after().is_some_and(all_hooks_are_off)
}
