//! `turnbridge hooks`: our hooks in Claude Code's `settings.json`, for those who do not use the
//! plugin. Only on an explicit command, only that file (KT-5, KT-15, X7).

mod executables;
mod status;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use turnbridge_core::settings_edit::{
    Form, Plan, Refusal, Registration, StopGate, all_hooks_are_off, plan_apply, plan_remove,
};
use turnbridge_store::foreign_file::{Applied, Before, Change, Current, ForeignFile};
use turnbridge_store::paths::claude_config_dir;

use super::consent::{Answer, Consent, explain, refused, say, told};
use crate::failure::{hinted, note};

/// Register Turnbridge's hooks in Claude Code's own settings, or take them out
///
/// Not needed with the plugin. With both, every event counts once. Without a command: `status`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
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
    },
    /// Take our hooks out of `settings.json`; everything else stays
    Remove {
        #[command(flatten)]
        consent: Consent,
    },
    /// Show for each event whether our hook is registered
    Status {
        #[command(flatten)]
        wanted: Wanted,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Put `settings.json.bak` back: the file as it was before the first change
    Restore {
        #[command(flatten)]
        consent: Consent,
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
        let form = match self.form {
            Some(FormName::Exec) => Form::Exec,
            Some(FormName::Shell) => Form::Shell,
            None => executables::form_of_installed_claude(),
        };
        let stop_gate_is = if self.gate { StopGate::On } else { StopGate::Off };
        let [status, stop_gate, notify] = executables::paths()?;
        Ok(Registration { status, stop_gate, notify, form, stop_gate_is })
    }
}

pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.action {
        None => status::run(&settings_file()?, Wanted::default(), arguments.json),
        Some(Action::Status { wanted, json }) => status::run(&settings_file()?, *wanted, *json),
        Some(Action::Apply { consent, wanted }) => apply(*consent, *wanted),
        Some(Action::Remove { consent }) => remove(*consent),
        Some(Action::Restore { consent }) => restore(*consent),
    }
}

pub fn settings_file() -> Result<ForeignFile> {
    let folder: PathBuf = claude_config_dir()
        .ok_or_else(|| hinted("could not find Claude Code's folder", "set HOME to your home"))?;
    Ok(ForeignFile::new(&super::state_paths()?, &folder.join("settings.json")))
}

pub fn apply(consent: Consent, wanted: Wanted) -> Result<()> {
    let registration = wanted.registration()?;
    let file = settings_file()?;
    let failed = |failure| explain(failure, file.path());
    let shown = file.current::<String>().map_err(failed)?;
    let applied = applied(&shown, &registration).map_err(|reason| refused(&reason, file.path()))?;
    if all_hooks_are_off(&applied.text) {
        note("`disableAllHooks` is set in it: no hook will run");
    }
    match consent.ask(file.path(), shown.text.as_deref(), Some(&applied.text))? {
        Answer::No => return Ok(()),
        Answer::NothingToDo => return say(&told(Change::Unchanged, file.path())),
        Answer::Yes => {}
    }
    let change = file.apply(|current| {
        consent.check_shown(&shown, current)?;
        self::applied(current, &registration)
    });
    finish(change.map_err(failed)?, &file)
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
    let file = settings_file()?;
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
    finish(change.map_err(failed)?, &file)
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

fn restore(consent: Consent) -> Result<()> {
    let file = settings_file()?;
    let failed = |failure| explain::<String>(failure, file.path());
    let shown = file.current().map_err(failed)?;
    let backup = file.backup().map_err(failed)?;
    match consent.ask(file.path(), shown.text.as_deref(), Some(&backup))? {
        Answer::No => return Ok(()),
        Answer::NothingToDo => return say(&told(Change::Unchanged, file.path())),
        Answer::Yes => {}
    }
    finish(file.restore().map_err(failed)?, &file)
}

/// KT-16: Claude Code reads its hooks when it starts.
fn finish(change: Change, file: &ForeignFile) -> Result<()> {
    say(&told(change, file.path()))?;
    if change != Change::Unchanged {
        say("sessions that run already take it up after `/hooks` or a restart")?;
    }
    Ok(())
}
