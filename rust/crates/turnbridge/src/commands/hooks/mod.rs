//! `turnbridge hooks`: our hooks in Claude Code's `settings.json`, for those who do not use the
//! plugin. Only on an explicit command, only that file (KT-5, KT-15, X7).

pub mod executables;
pub mod status;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use turnbridge_core::agents::claude::settings_edit::{
    Form, Plan, Refusal, Registration, StopGate, all_hooks_are_off, plan_apply, plan_remove,
};
use turnbridge_core::system::setup_texts::SetupText;
use turnbridge_core::system::wsl::Environment;
use turnbridge_store::foreign::foreign_file::{Applied, Before, Change, Current, ForeignFile};
use turnbridge_store::paths::claude_config_dir;
use turnbridge_system::wsl::{Target, TargetFile};

use super::place::Place;
use crate::consent::{Answer, Consent, explain, refused, say, told};
use crate::failure::{hinted, note};

/// Register Turnbridge's hooks in Claude Code's own settings, or take them out
///
/// Not needed with the plugin. With both, every event counts once. Without a command: `status`.
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
    /// Add our hooks to `settings.json`, or bring them up to date
    ///
    /// Shows what will change and asks. Hooks of your own stay as they are. The first change leaves
    /// `settings.json.bak`.
    Apply {
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        wanted: Wanted,
        #[command(flatten)]
        place: Place,
    },
    /// Take our hooks out of `settings.json`; everything else stays
    Remove {
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        place: Place,
    },
    /// Show for each event whether our hook is registered
    Status {
        #[command(flatten)]
        wanted: Wanted,
        #[command(flatten)]
        place: Place,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Put `settings.json.bak` back: the file as it was before the first change
    Restore {
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        place: Place,
    },
}

#[derive(Debug, Clone, Copy, Default, Args)]
pub struct Wanted {
    /// Hold a turn until the agent has spoken; the settings alone bring no way to speak
    #[arg(long)]
    pub gate: bool,
    /// How Claude Code is told what to run [default: as the installed one knows it]
    #[arg(long, value_name = "FORM")]
    form: Option<FormName>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormName {
    /// A program and its arguments
    Exec,
    /// A command line, for a Claude Code before 2.1.139
    Shell,
}

impl Wanted {
    pub fn registration(self) -> Result<Registration> {
        self.registration_in(&Target::Here)
    }

    pub fn registration_in(self, target: &Target) -> Result<Registration> {
        let [status, stop_gate, notify] = executables::paths(target)?;
        let form = match self.form {
            Some(FormName::Exec) => Form::Exec,
            Some(FormName::Shell) => Form::Shell,
            None => executables::form_of_installed_claude(target)?,
        };
        let stop_gate_is = if self.gate { StopGate::On } else { StopGate::Off };
        Ok(Registration { status, stop_gate, notify, form, stop_gate_is })
    }
}

pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.action {
        None => status::run(&arguments.place.target()?, Wanted::default(), arguments.json),
        Some(Action::Status { wanted, place, json }) => {
            status::run(&place.target()?, *wanted, *json)
        }
        Some(Action::Apply { consent, wanted, place }) => match place.target()? {
            Target::Here => apply(*consent, *wanted).map(drop),
            there => apply_to(&there, *consent, &wanted.registration_in(&there)?).map(drop),
        },
        Some(Action::Remove { consent, place }) => match place.target()? {
            Target::Here => remove(*consent),
            there => remove_from(&there, *consent),
        },
        Some(Action::Restore { consent, place }) => restore(&place.target()?, *consent),
    }
}

pub fn settings_file() -> Result<ForeignFile> {
    let folder: PathBuf = claude_config_dir()
        .ok_or_else(|| hinted("could not find Claude Code's folder", "set HOME to your home"))?;
    Ok(ForeignFile::new(&super::state_paths()?, &folder.join("settings.json")))
}

/// KT-19: the settings of a distribution are a target too.
pub fn settings_file_of(target: &Target) -> Result<TargetFile<'_>> {
    target.file(&super::state_paths()?, settings_file, Environment::claude_settings)
}

/// Whether the file is as it should be then: the user may have said no.
pub fn apply(consent: Consent, wanted: Wanted) -> Result<bool> {
    apply_to(&Target::Here, consent, &wanted.registration()?)
}

fn apply_to(target: &Target, consent: Consent, registration: &Registration) -> Result<bool> {
    let target_file = settings_file_of(target)?;
    let file = &target_file.file;
    let failed = |failure| explain(failure, file.path());
    let shown = file.current::<String>().map_err(failed)?;
    let applied = applied(&shown, registration).map_err(|reason| refused(&reason, file.path()))?;
    if all_hooks_are_off(&applied.text) {
        note("`disableAllHooks` is set in it: no hook will run");
    }
    match consent.ask(file.path(), shown.text.as_deref(), Some(&applied.text))? {
        Answer::No => return Ok(false),
        Answer::NothingToDo => {
            say(&told(consent.language, Change::Unchanged, file.path()))?;
            return Ok(true);
        }
        Answer::Yes => {}
    }
    let change = file.apply(|current| {
        consent.check_shown(&shown, current)?;
        self::applied(current, registration)
    });
    finish(consent, change.map_err(failed)?, &target_file)?;
    Ok(true)
}

/// What `apply` comes to.
fn applied(current: &Current, registration: &Registration) -> Result<Applied, String> {
    let text = current.text_or_empty();
    let planned = |plan: Result<Plan, Refusal>| {
        plan.map(|plan| plan.applied_to(text)).map_err(|refusal| refusal.to_string())
    };
    Ok(Applied {
        text: planned(plan_apply(text, registration))?,
        without_us: planned(plan_remove(text, current.before_text()))?,
    })
}

pub fn remove(consent: Consent) -> Result<()> {
    remove_from(&Target::Here, consent)
}

fn remove_from(target: &Target, consent: Consent) -> Result<()> {
    let target_file = settings_file_of(target)?;
    let file = &target_file.file;
    let failed = |failure| explain(failure, file.path());
    let shown = file.current::<String>().map_err(failed)?;
    let after = removed(&shown).map_err(|reason| refused(&reason, file.path()))?;
    match consent.ask(file.path(), shown.text.as_deref(), after.as_deref())? {
        Answer::No => return Ok(()),
        Answer::NothingToDo => {
            return say(&format!("there is nothing of ours in `{}`", file.path().display()));
        }
        Answer::Yes => {}
    }
    let change = file.remove(|current| {
        consent.check_shown(&shown, current)?;
        without_us(current)
    });
    finish(consent, change.map_err(failed)?, &target_file)
}

/// What `remove` comes to; `None`: no file.
fn removed(current: &Current) -> Result<Option<String>, String> {
    match (&current.text, &current.before) {
        (None, _) => Ok(None),
        (_, Some(Before { text, is_untouched: true })) => Ok(text.clone()),
        _ => without_us(current).map(Some),
    }
}

fn without_us(current: &Current) -> Result<String, String> {
    let text = current.text_or_empty();
    let plan = plan_remove(text, current.before_text()).map_err(|refusal| refusal.to_string())?;
    Ok(plan.applied_to(text))
}

fn restore(target: &Target, consent: Consent) -> Result<()> {
    let target_file = settings_file_of(target)?;
    let file = &target_file.file;
    let failed = |failure| explain::<String>(failure, file.path());
    let shown = file.current().map_err(failed)?;
    let backup = file.backup().map_err(failed)?;
    match consent.ask(file.path(), shown.text.as_deref(), Some(&backup))? {
        Answer::No => return Ok(()),
        Answer::NothingToDo => return say(&told(consent.language, Change::Unchanged, file.path())),
        Answer::Yes => {}
    }
    finish(consent, file.restore().map_err(failed)?, &target_file)
}

/// KT-16: Claude Code reads its hooks when it starts.
fn finish(consent: Consent, change: Change, target_file: &TargetFile<'_>) -> Result<()> {
    target_file.settle(change)?;
    say(&told(consent.language, change, target_file.file.path()))?;
    if change != Change::Unchanged {
        say(SetupText::ClaudeTakesItUp.text(consent.language))?;
    }
    Ok(())
}
