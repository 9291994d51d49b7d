//! `turnbridge codex notify`: shows, sets or removes the program that Codex runs when a turn has
//! ended.

use anyhow::Result;
use clap::{Args, Subcommand};
use turnbridge_config::codex_notify::{NotifyKeyStatus, NotifyMode};
use turnbridge_system::registration::codex_notify;
use turnbridge_system::wsl::WslTarget;

use crate::commands::place::PlaceArgs;
use crate::consent::{Consent, say};
use crate::register;

/// Have Codex call Turnbridge when a turn has ended
///
/// Changes the key `notify` of Codex's `config.toml` and nothing else. Without a command: `status`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct CodexNotifyArgs {
    #[command(subcommand)]
    action: Option<CodexNotifyAction>,
    #[command(flatten)]
    place: PlaceArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum CodexNotifyAction {
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
        place: PlaceArgs,
    },
    /// Take ours out; what was there before comes back
    Remove {
        #[command(flatten)]
        consent: Consent,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Show which program Codex runs
    Status {
        #[command(flatten)]
        place: PlaceArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub fn run(arguments: &CodexNotifyArgs) -> Result<()> {
    match &arguments.action {
        None => show(&arguments.place.target()?, arguments.json),
        Some(CodexNotifyAction::Status { place, json }) => show(&place.target()?, *json),
        Some(CodexNotifyAction::Apply { consent, chain, replace, place }) => {
            let mode = match (chain, replace) {
                (true, _) => NotifyMode::Chain,
                (_, true) => NotifyMode::Replace,
                _ => NotifyMode::LeaveExisting,
            };
            register::apply_notify(*consent, &place.target()?, mode)
        }
        Some(CodexNotifyAction::Remove { consent, place }) => {
            register::remove_notify(*consent, &place.target()?)
        }
    }
}

fn show(target: &WslTarget, as_json: bool) -> Result<()> {
    let status = codex_notify::status(target)?;
    if as_json {
        return say(&status.to_json().to_string());
    }
    let path = status.path.display();
    say(&match &status.found {
        NotifyKeyStatus::Absent => format!("`{path}` has no `notify`"),
        NotifyKeyStatus::Registered => format!("Codex calls Turnbridge (`{path}`)"),
        NotifyKeyStatus::Outdated(old) => {
            format!("Codex calls another Turnbridge: `{}`", old.join(" "))
        }
        NotifyKeyStatus::Foreign(other) => format!("Codex calls `{}`", other.join(" ")),
        NotifyKeyStatus::Unusable => format!("`notify` in `{path}` is no list of words"),
    })?;
    match status.chained {
        Some(chain) => say(&format!("and behind it `{}`", chain.join(" "))),
        None => Ok(()),
    }
}
