//! `turnbridge codex notify`: which program Codex runs when a turn has ended. Codex knows one only;
//! somebody else's is left alone unless the user says what is to become of it (X1, SLV-64).

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use serde_json::json;
use turnbridge_config::codex_notify::{
    Mode, Outcome, Plan, Status, our_argv, plan_apply, plan_remove, status,
};
use turnbridge_core::system::setup_texts::SetupText;
use turnbridge_core::system::wsl::Environment;
use turnbridge_store::foreign::foreign_file::{Applied, Before, Change, Current, ForeignFile};
use turnbridge_store::paths::{StatePaths, codex_home};
use turnbridge_store::state::codex_chain;
use turnbridge_system::programs;
use turnbridge_system::wsl::{Target, TargetFile};

use crate::commands::place::Place;
use crate::commands::state_paths;
use crate::consent::{Answer, Consent, explain, refused, say, told};
use crate::failure::hinted;

/// Have Codex call Turnbridge when a turn has ended
///
/// Changes the key `notify` of Codex's `config.toml` and nothing else. Without a command: `status`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    place: Place,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Set `notify`, or bring ours up to date
    ///
    /// Shows what will change and asks. The first change leaves `config.toml.bak`.
    Apply {
        #[command(flatten)]
        consent: Consent,
        /// Take the place of the program that is there, and run it with the same report
        #[arg(long)]
        chain: bool,
        /// Take the place of the program that is there
        #[arg(long, conflicts_with = "chain")]
        replace: bool,
        #[command(flatten)]
        place: Place,
    },
    /// Take ours out; what was there before comes back
    Remove {
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        place: Place,
    },
    /// Show which program Codex runs
    Status {
        #[command(flatten)]
        place: Place,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.action {
        None => show(&arguments.place.target()?, arguments.json),
        Some(Action::Status { place, json }) => show(&place.target()?, *json),
        Some(Action::Apply { consent, chain, replace, place }) => {
            let mode = match (chain, replace) {
                (true, _) => Mode::Chain,
                (_, true) => Mode::Replace,
                _ => Mode::LeaveExisting,
            };
            match place.target()? {
                Target::Here => apply(*consent, mode),
                there => apply_to(&there, *consent, mode),
            }
        }
        Some(Action::Remove { consent, place }) => match place.target()? {
            Target::Here => remove(*consent),
            there => remove_from(&there, *consent),
        },
    }
}

pub fn config_file(paths: &StatePaths) -> Result<ForeignFile> {
    let home = codex_home()
        .ok_or_else(|| hinted("could not find Codex's folder", "set HOME to your home"))?;
    Ok(ForeignFile::new(paths, &home.join("config.toml")))
}

pub fn argv() -> Result<Vec<String>> {
    Ok(our_argv(&programs::own_text("turnbridge")?))
}

fn config_file_of<'a>(target: &'a Target, paths: &StatePaths) -> Result<TargetFile<'a>> {
    target.file(paths, || config_file(paths), Environment::codex_config)
}

/// Of the Turnbridge on the same side as Codex.
fn argv_of(target: &Target) -> Result<Vec<String>> {
    match target {
        Target::Here => argv(),
        Target::Wsl(distribution) => {
            Ok(our_argv(&distribution.needed_turnbridge()?.path_of("turnbridge")))
        }
    }
}

/// Who will run the chain has to find it: a distribution's Turnbridge looks in its own state.
fn chain_paths(target: &Target, paths: &StatePaths) -> Result<StatePaths> {
    match target {
        Target::Here => Ok(paths.clone()),
        Target::Wsl(distribution) => distribution.state(),
    }
}

pub fn apply(consent: Consent, mode: Mode) -> Result<()> {
    apply_to(&Target::Here, consent, mode)
}

fn apply_to(target: &Target, consent: Consent, mode: Mode) -> Result<()> {
    let paths = state_paths()?;
    let (target_file, argv) = (config_file_of(target, &paths)?, argv_of(target)?);
    let (file, paths) = (&target_file.file, chain_paths(target, &paths)?);
    let failed = |failure| explain(failure, file.path());
    let shown = file.current::<String>().map_err(failed)?;
    let plan = planned(&shown, &argv, mode).map_err(|reason| refused(&reason, file.path()))?;
    if let Outcome::Left(existing) = &plan.outcome {
        let error = format!("Codex runs another program already: `{}`", existing.join(" "));
        let hint = "`--chain` keeps it running behind ours, `--replace` puts ours in its place";
        return Err(hinted(error, hint));
    }
    let after = plan.applied_to(shown.text_or_empty());
    match consent.ask(file.path(), shown.text.as_deref(), Some(&after))? {
        Answer::No => return Ok(()),
        Answer::NothingToDo => return say(&told(consent.language, Change::Unchanged, file.path())),
        Answer::Yes => {}
    }
    if let (Target::Wsl(distribution), Outcome::Chained(_)) = (target, &plan.outcome) {
        distribution.make_state_folder()?;
    }
    let change = file.apply(|current| {
        consent.check_shown(&shown, current)?;
        let plan = planned(current, &argv, mode)?;
        keep_chain(&paths, &plan.outcome)?;
        let text = current.text_or_empty();
        let without_us = removal(&paths, current)?.applied_to(text);
        Ok(Applied { text: plan.applied_to(text), without_us })
    });
    let change = change.map_err(failed)?;
    if let Outcome::Chained(existing) = &plan.outcome {
        say(&SetupText::RunBehindOurs.filled(consent.language, &[&existing.join(" ")]))?;
    }
    finish(consent, change, &target_file)
}

fn planned(current: &Current, argv: &[String], mode: Mode) -> Result<Plan, String> {
    plan_apply(current.text_or_empty(), argv, mode).map_err(|problem| problem.to_string())
}

/// Before the config names us: whoever is killed in between leaves a chain that nobody asks for,
/// and not a program that nobody runs.
fn keep_chain(paths: &StatePaths, outcome: &Outcome) -> Result<(), String> {
    let kept = match outcome {
        Outcome::Chained(existing) => codex_chain::write(paths, existing),
        Outcome::Registered | Outcome::Replaced => codex_chain::forget(paths),
        _ => Ok(()),
    };
    kept.map_err(|error| format!("the earlier program could not be kept: {error}"))
}

pub fn remove(consent: Consent) -> Result<()> {
    remove_from(&Target::Here, consent)
}

fn remove_from(target: &Target, consent: Consent) -> Result<()> {
    let paths = state_paths()?;
    let target_file = config_file_of(target, &paths)?;
    let (file, paths) = (&target_file.file, chain_paths(target, &paths)?);
    let failed = |failure| explain(failure, file.path());
    let shown = file.current::<String>().map_err(failed)?;
    let after = removed(&paths, &shown).map_err(|reason| refused(&reason, file.path()))?;
    match consent.ask(file.path(), shown.text.as_deref(), after.as_deref())? {
        Answer::No => return Ok(()),
        Answer::NothingToDo => {
            return say(&format!("there is nothing of ours in `{}`", file.path().display()));
        }
        Answer::Yes => {}
    }
    let change = file.remove(|current| {
        consent.check_shown(&shown, current)?;
        Ok(removal(&paths, current)?.applied_to(current.text_or_empty()))
    });
    let change = change.map_err(failed)?;
    codex_chain::forget(&paths).context("could not forget the earlier program")?;
    finish(consent, change, &target_file)
}

/// What `remove` comes to; `None`: no file.
fn removed(paths: &StatePaths, current: &Current) -> Result<Option<String>, String> {
    match (&current.text, &current.before) {
        (None, _) => Ok(None),
        (_, Some(Before { text, is_untouched: true })) => Ok(text.clone()),
        (Some(text), _) => Ok(Some(removal(paths, current)?.applied_to(text))),
    }
}

fn removal(paths: &StatePaths, current: &Current) -> Result<Plan, String> {
    let chain = codex_chain::read(paths).map_err(|error| format!("codex-notify.json: {error}"))?;
    let chained = chain.as_ref().map(|chain| chain.argv.as_slice());
    plan_remove(current.text_or_empty(), current.before_text(), chained)
        .map_err(|problem| problem.to_string())
}

fn finish(consent: Consent, change: Change, target_file: &TargetFile<'_>) -> Result<()> {
    target_file.settle(change)?;
    say(&told(consent.language, change, target_file.file.path()))?;
    if change != Change::Unchanged {
        say(SetupText::CodexTakesItUp.text(consent.language))?;
    }
    Ok(())
}

fn show(target: &Target, as_json: bool) -> Result<()> {
    let paths = state_paths()?;
    let (target_file, argv) = (config_file_of(target, &paths)?, argv_of(target)?);
    let (file, paths) = (&target_file.file, chain_paths(target, &paths)?);
    let current = file.current::<String>().map_err(|failure| explain(failure, file.path()))?;
    let found = status(current.text_or_empty(), &argv)
        .map_err(|problem| refused(&problem.to_string(), file.path()))?;
    let is_ours = matches!(found, Status::Registered | Status::Outdated(_));
    let chain = codex_chain::read(&paths).ok().flatten().filter(|_| is_ours);
    let chain = chain.map(|chain| chain.argv);
    let (word, existing) = match &found {
        Status::Absent => ("absent", None),
        Status::Registered => ("registered", None),
        Status::Outdated(existing) => ("outdated", Some(existing)),
        Status::Foreign(existing) => ("foreign", Some(existing)),
        Status::Unusable => ("unusable", None),
    };
    if as_json {
        return say(&json!({
            "version": 1,
            "path": file.path(),
            "notify": word,
            "argv": if found == Status::Registered { Some(&argv) } else { existing },
            "chained": chain,
        })
        .to_string());
    }
    let path = file.path().display();
    say(&match &found {
        Status::Absent => format!("`{path}` has no `notify`"),
        Status::Registered => format!("Codex calls Turnbridge (`{path}`)"),
        Status::Outdated(old) => format!("Codex calls another Turnbridge: `{}`", old.join(" ")),
        Status::Foreign(other) => format!("Codex calls `{}`", other.join(" ")),
        Status::Unusable => format!("`notify` in `{path}` is no list of words"),
    })?;
    match chain {
        Some(chain) => say(&format!("and behind it `{}`", chain.join(" "))),
        None => Ok(()),
    }
}
