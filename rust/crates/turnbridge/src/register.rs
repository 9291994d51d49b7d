//! Registers Turnbridge with the agents, or removes it: shows the change, asks, and makes it.

use anyhow::Result;
use turnbridge_config::codex_notify::NotifyMode;
use turnbridge_core::agents::claude::settings_edit::Registration;
use turnbridge_core::system::setup_texts::SetupText;
use turnbridge_store::foreign::foreign_file::FileChange;
use turnbridge_system::registration::{
    PlannedChange, claude_hooks, codex_notify, nothing_of_ours, outcome_text,
};
use turnbridge_system::wsl::WslTarget;

use crate::consent::{Consent, Texts};
use crate::failure::note;

/// Registers the hooks. Returns whether the file is then as wanted: the user may have refused.
pub fn apply_hooks(
    consent: Consent,
    target: &WslTarget,
    registration: &Registration,
) -> Result<bool> {
    let change = claude_hooks::plan_registering(target, registration)?;
    if claude_hooks::leaves_hooks_off(&change) {
        note("`disableAllHooks` is set in it: no hook will run");
    }
    consent.carry_out(&change, texts_for_registering(consent, &change, CLAUDE))
}

pub fn remove_hooks(consent: Consent, target: &WslTarget) -> Result<()> {
    let change = claude_hooks::plan_removal(target)?;
    consent.carry_out(&change, texts_for_removing(&change, CLAUDE)).map(drop)
}

/// Restores the file of Claude Code's settings from its backup.
pub fn restore_hooks(consent: Consent, target: &WslTarget) -> Result<()> {
    let change = claude_hooks::plan_restoring(target)?;
    consent.carry_out(&change, texts_for_registering(consent, &change, CLAUDE)).map(drop)
}

/// Sets `notify` in Codex's `config.toml`.
pub fn apply_notify(consent: Consent, target: &WslTarget, mode: NotifyMode) -> Result<()> {
    let planned = codex_notify::plan_registering(target, mode)?;
    let also_done = planned
        .chained
        .map(|argv| SetupText::RunBehindOurs.filled(consent.language, &[&argv.join(" ")]));
    let texts = texts_for_registering(consent, &planned.change, CODEX);
    consent.carry_out(&planned.change, Texts { also_done, ..texts }).map(drop)
}

pub fn remove_notify(consent: Consent, target: &WslTarget) -> Result<()> {
    let change = codex_notify::plan_removal(target)?;
    consent.carry_out(&change, texts_for_removing(&change, CODEX)).map(drop)
}

/// KT-16: Claude Code reads its hooks at its start.
const CLAUDE: SetupText = SetupText::ClaudeTakesItUp;
const CODEX: SetupText = SetupText::CodexTakesItUp;

fn texts_for_registering(consent: Consent, change: &PlannedChange<'_>, next: SetupText) -> Texts {
    let nothing_to_do = outcome_text(consent.language, FileChange::Unchanged, change.path());
    Texts { nothing_to_do, also_done: None, next }
}

fn texts_for_removing(change: &PlannedChange<'_>, next: SetupText) -> Texts {
    Texts { nothing_to_do: nothing_of_ours(change.path()), also_done: None, next }
}
