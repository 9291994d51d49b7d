//! Plans changes of `notify` in Codex's `config.toml`, the program that Codex runs when a turn has
//! ended, and reads its status. Codex accepts only one; another program's entry stays unless the
//! user decides otherwise (X1, SLV-64).

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use turnbridge_config::codex_notify::{
    self as notify_key, NotifyKeyStatus, NotifyMode, NotifyOutcome, NotifyPlan, our_argv,
    plan_apply, plan_remove,
};
use turnbridge_core::system::wsl::WslEnvironment;
use turnbridge_store::foreign::foreign_file::{Current, ForeignFile};
use turnbridge_store::paths::{StatePaths, codex_home};
use turnbridge_store::state::previous_notify;

use super::planned_change::{Edit, PlannedChange};
use super::{explain, refused};
use crate::failure::hinted;
use crate::programs;
use crate::state_folder::state_paths;
use crate::wsl::{TargetFile, WslTarget};

/// Returns Codex's `config.toml` of this system.
pub fn config_file(paths: &StatePaths) -> Result<ForeignFile> {
    let home = codex_home()
        .ok_or_else(|| hinted("could not find Codex's folder", "set HOME to your home"))?;
    Ok(ForeignFile::new(paths, &home.join("config.toml")))
}

fn config_file_of<'a>(target: &'a WslTarget, paths: &StatePaths) -> Result<TargetFile<'a>> {
    target.file(paths, || config_file(paths), WslEnvironment::codex_config)
}

/// Returns the call of the Turnbridge that is on the same side as Codex.
fn argv_of(target: &WslTarget) -> Result<Vec<String>> {
    let program = match target {
        WslTarget::Here => programs::own_text("turnbridge")?,
        WslTarget::Wsl(distribution) => distribution.needed_turnbridge()?.path_of("turnbridge"),
    };
    Ok(our_argv(&program))
}

/// Returns the state in which the chain is stored, for the Turnbridge that runs it: that of a
/// distribution reads the distribution's state.
fn previous_notify_paths(target: &WslTarget, paths: &StatePaths) -> Result<StatePaths> {
    match target {
        WslTarget::Here => Ok(paths.clone()),
        WslTarget::Wsl(distribution) => distribution.state(),
    }
}

/// A planned registration, and its effect on the user's program.
pub struct Registering<'a> {
    pub change: PlannedChange<'a>,
    /// The program that runs after Turnbridge's from then on.
    pub chained: Option<Vec<String>>,
}

/// Plans to register Turnbridge. Returns an error if another program is registered and `mode` keeps
/// it.
pub fn plan_registering(target: &WslTarget, mode: NotifyMode) -> Result<Registering<'_>> {
    let paths = state_paths()?;
    let (target_file, argv) = (config_file_of(target, &paths)?, argv_of(target)?);
    let paths = previous_notify_paths(target, &paths)?;
    let path = target_file.file.path().to_owned();
    let shown = target_file.file.current::<String>().map_err(|failure| explain(failure, &path))?;
    let outcome = planned(&shown, &argv, mode).map_err(|reason| refused(&reason, &path))?.outcome;
    if let NotifyOutcome::Left(existing) = &outcome {
        let error = format!("Codex runs another program already: `{}`", existing.join(" "));
        let hint = "`--chain` keeps it running behind ours, `--replace` puts ours in its place";
        return Err(hinted(error, hint));
    }
    let chained = match outcome {
        NotifyOutcome::Chained(existing) => Some(existing),
        _ => None,
    };
    let edit = {
        let (paths, argv) = (paths.clone(), argv.clone());
        Edit::Apply {
            with_us: Box::new(move |current| {
                Ok(planned(current, &argv, mode)?.applied_to(current.text_or_empty()))
            }),
            // This reads the chain's file. A registration that writes the file does so before, so
            // that a damaged one does not prevent it.
            without_us: Box::new(move |current| {
                Ok(removal(&paths, current)?.applied_to(current.text_or_empty()))
            }),
        }
    };
    let needs_folder = chained.is_some();
    let change = PlannedChange::new(target_file, edit)?
        .before_everything(move || match target {
            WslTarget::Wsl(distribution) if needs_folder => distribution.make_state_folder(),
            _ => Ok(()),
        })
        .before_replacing(move |current| {
            keep_previous_notify(&paths, &planned(current, &argv, mode)?.outcome)
        });
    Ok(Registering { change, chained })
}

pub fn plan_removal(target: &WslTarget) -> Result<PlannedChange<'_>> {
    let paths = state_paths()?;
    let target_file = config_file_of(target, &paths)?;
    let paths = previous_notify_paths(target, &paths)?;
    let edit = {
        let paths = paths.clone();
        Edit::Remove(Box::new(move |current| {
            Ok(removal(&paths, current)?.applied_to(current.text_or_empty()))
        }))
    };
    let forget =
        move || previous_notify::forget(&paths).context("could not forget the earlier program");
    Ok(PlannedChange::new(target_file, edit)?.afterwards(forget))
}

fn planned(current: &Current, argv: &[String], mode: NotifyMode) -> Result<NotifyPlan, String> {
    plan_apply(current.text_or_empty(), argv, mode).map_err(|problem| problem.to_string())
}

/// Stores the user's program before the config names Turnbridge. A kill in between leaves an unused
/// file, and the program is not lost.
fn keep_previous_notify(paths: &StatePaths, outcome: &NotifyOutcome) -> Result<(), String> {
    let kept = match outcome {
        NotifyOutcome::Chained(existing) => previous_notify::write(paths, existing),
        NotifyOutcome::Registered | NotifyOutcome::Replaced => previous_notify::forget(paths),
        _ => Ok(()),
    };
    kept.map_err(|error| format!("the earlier program could not be kept: {error}"))
}

fn removal(paths: &StatePaths, current: &Current) -> Result<NotifyPlan, String> {
    let chain =
        previous_notify::read(paths).map_err(|error| format!("codex-notify.json: {error}"))?;
    let chained = chain.as_ref().map(|chain| chain.argv.as_slice());
    plan_remove(current.text_or_empty(), current.before_text(), chained)
        .map_err(|problem| problem.to_string())
}

/// The program that Codex runs.
#[derive(Debug)]
pub struct NotifyStatus {
    pub path: PathBuf,
    pub found: NotifyKeyStatus,
    /// The command line that this Turnbridge would register.
    argv: Vec<String>,
    /// The program that runs after Turnbridge's.
    pub chained: Option<Vec<String>>,
}

pub fn status(target: &WslTarget) -> Result<NotifyStatus> {
    let paths = state_paths()?;
    let (file, argv) = (config_file_of(target, &paths)?.file, argv_of(target)?);
    let paths = previous_notify_paths(target, &paths)?;
    let current = file.current::<String>().map_err(|failure| explain(failure, file.path()))?;
    let found = notify_key::status(current.text_or_empty(), &argv)
        .map_err(|problem| refused(&problem.to_string(), file.path()))?;
    let is_ours = matches!(found, NotifyKeyStatus::Registered | NotifyKeyStatus::Outdated(_));
    let chain = previous_notify::read(&paths).ok().flatten().filter(|_| is_ours);
    let chained = chain.map(|chain| chain.argv);
    Ok(NotifyStatus { path: file.path().to_owned(), found, argv, chained })
}

impl NotifyStatus {
    /// Returns the output of `turnbridge codex notify status --json`.
    pub fn to_json(&self) -> Value {
        let (word, argv) = match &self.found {
            NotifyKeyStatus::Absent => ("absent", None),
            NotifyKeyStatus::Registered => ("registered", Some(&self.argv)),
            NotifyKeyStatus::Outdated(existing) => ("outdated", Some(existing)),
            NotifyKeyStatus::Foreign(existing) => ("foreign", Some(existing)),
            NotifyKeyStatus::Unusable => ("unusable", None),
        };
        json!({
            "version": 1,
            "path": self.path,
            "notify": word,
            "argv": argv,
            "chained": self.chained,
        })
    }
}
