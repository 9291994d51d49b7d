//! `turnbridge hooks`: adds, removes, restores or shows Turnbridge's hooks in Claude Code's
//! `settings.json`, for users without the plugin.

mod status;

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use turnbridge_core::agents::claude::settings_edit::{Form, Registration};
use turnbridge_system::registration::claude_hooks;
use turnbridge_system::wsl::WslTarget;

use super::place::PlaceArgs;
use crate::config;
use crate::consent::Consent;
use crate::failure::note;
use crate::register;

/// Register Turnbridge's hooks in Claude Code's own settings, or take them out
///
/// Not needed with the plugin. With both, every event counts once. Without a command: `status`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct HooksArgs {
    #[command(subcommand)]
    action: Option<HooksAction>,
    #[command(flatten)]
    place: PlaceArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum HooksAction {
    /// Add our hooks to `settings.json`, or bring them up to date
    ///
    /// Shows what will change and asks. Hooks of your own stay as they are. The first change leaves
    /// `settings.json.bak`.
    Apply {
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        wanted: HooksApplyArgs,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Take our hooks out of `settings.json`; everything else stays
    Remove {
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Show for each event whether our hook is registered
    Status {
        #[command(flatten)]
        wanted: HooksApplyArgs,
        #[command(flatten)]
        place: PlaceArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Put `settings.json.bak` back: the file as it was before the first change
    Restore {
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        place: PlaceArgs,
    },
}

#[derive(Debug, Clone, Copy, Default, Args)]
struct HooksApplyArgs {
    /// Hold a turn until the agent has spoken; the settings alone bring no way to speak
    #[arg(long)]
    gate: bool,
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

impl HooksApplyArgs {
    fn registration(self, target: &WslTarget) -> Result<Registration> {
        let form = self.form.map(|form| match form {
            FormName::Exec => Form::Exec,
            FormName::Shell => Form::Shell,
        });
        let wanted = claude_hooks::WantedHooks { gate: self.gate, form };
        wanted.registration(target, &config::read_or_default(), note)
    }
}

pub fn run(arguments: &HooksArgs) -> Result<()> {
    match &arguments.action {
        None => status::run(&arguments.place.target()?, HooksApplyArgs::default(), arguments.json),
        Some(HooksAction::Status { wanted, place, json }) => {
            status::run(&place.target()?, *wanted, *json)
        }
        Some(HooksAction::Apply { consent, wanted, place }) => {
            let target = place.target()?;
            register::apply_hooks(*consent, &target, &wanted.registration(&target)?).map(drop)
        }
        Some(HooksAction::Remove { consent, place }) => {
            register::remove_hooks(*consent, &place.target()?)
        }
        Some(HooksAction::Restore { consent, place }) => {
            register::restore_hooks(*consent, &place.target()?)
        }
    }
}
