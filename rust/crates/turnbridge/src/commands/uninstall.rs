//! `turnbridge uninstall`: reverts the set-up. It tries each step, whether or not the one before
//! succeeded. `--purge` deletes files only if all steps have succeeded. The backups of the agents'
//! files stay.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use turnbridge_store::paths::StatePaths;
use turnbridge_system::daemon_control;
use turnbridge_system::service;
use turnbridge_system::uninstall::{backups, check_elsewhere, delete, own_files};
use turnbridge_system::wsl::WslTarget;

use super::{daemon, state_paths};
use crate::consent::{self, Consent, say};
use crate::failure::{hinted, note};
use crate::register;

/// Undo what set-up did: service, daemon, hooks, Codex's notify
///
/// Sessions, turns and the config stay, unless --purge is given. The executables and the plugin are
/// left to whoever installed them.
#[derive(Debug, Args)]
pub struct UninstallArgs {
    /// Delete the config (with its tokens), all state and the logs too
    #[arg(long)]
    purge: bool,
    #[command(flatten)]
    consent: Consent,
}

pub fn run(arguments: &UninstallArgs) -> Result<()> {
    let paths = state_paths()?;
    let Consent { dry_run, yes, language } = arguments.consent;
    let doomed = if arguments.purge { own_files(&paths)? } else { Vec::new() };
    if !dry_run && !yes && !is_agreed(&doomed)? {
        return say("everything was left as it was");
    }
    let inner = Consent { dry_run, yes: !dry_run, language };
    let steps: [(&str, Result<()>); 5] = [
        ("the service", remove_service(dry_run)),
        ("the daemon", stop_daemon(&paths, dry_run)),
        ("the hooks", register::remove_hooks(inner, &WslTarget::Here)),
        ("Codex's notify", register::remove_notify(inner, &WslTarget::Here)),
        ("files elsewhere", check_elsewhere(&paths)),
    ];
    let mut failed = Vec::new();
    for (what, result) in steps {
        if let Err(error) = result {
            note(&format!("{what}: {error:#}"));
            failed.push(what);
        }
    }
    if !failed.is_empty() {
        let kept = if doomed.is_empty() { "" } else { "; nothing was deleted" };
        return Err(hinted(
            format!("not everything could be undone: {}{kept}", failed.join(", ")),
            "fix what the notes say, then run this again",
        ));
    }
    for path in &doomed {
        match dry_run {
            true => say(&format!("would delete `{}`", path.display()))?,
            false => {
                delete(path)?;
                say(&format!("deleted `{}`", path.display()))?;
            }
        }
    }
    if dry_run {
        return Ok(());
    }
    // It is not certain who made them, and only they show the former content.
    for backup in backups(&paths)? {
        say(&format!("`{}` stays: it is as the file was before", backup.display()))?;
    }
    say("uninstalled; the plugin goes with `claude plugin uninstall turnbridge`")
}

fn is_agreed(doomed: &[PathBuf]) -> Result<bool> {
    let about = "This ends the daemon and its service, and takes our hooks and Codex's notify out.";
    let mut question = vec![about.to_owned()];
    question.extend(doomed.iter().map(|path| format!("It deletes `{}`.", path.display())));
    question.push("Go on?".to_owned());
    let unasked = "nothing was changed";
    consent::is_agreed(&question.join("\n"), unasked, "`--yes` does it without asking")
}

fn remove_service(dry_run: bool) -> Result<()> {
    if dry_run {
        let state = service::state()?.filter(|state| state.is_installed);
        return match state {
            Some(state) => say(&format!("would remove `{}`", state.definition.display())),
            None => say("there is no service of ours"),
        };
    }
    match service::uninstall(note)? {
        true => say("removed the service"),
        false => say("there is no service of ours"),
    }
}

fn stop_daemon(paths: &StatePaths, dry_run: bool) -> Result<()> {
    if dry_run && daemon_control::is_running(paths) {
        return say("would stop the daemon");
    }
    daemon::stop(paths)
}
