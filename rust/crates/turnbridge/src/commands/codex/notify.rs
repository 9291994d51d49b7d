//! `turnbridge codex notify`: which program Codex runs when a turn has ended.

use anyhow::Result;
use clap::{Args, Subcommand};
use turnbridge_config::codex_notify::{Mode, Status};
use turnbridge_system::registration::codex_notify;
use turnbridge_system::wsl::Target;

use crate::commands::place::Place;
use crate::consent::{Consent, say};
use crate::register;

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
            register::apply_notify(*consent, &place.target()?, mode)
        }
        Some(Action::Remove { consent, place }) => {
            register::remove_notify(*consent, &place.target()?)
        }
    }
}

fn show(target: &Target, as_json: bool) -> Result<()> {
    let status = codex_notify::status(target)?;
    if as_json {
        return say(&status.to_json().to_string());
    }
    let path = status.path.display();
    say(&match &status.found {
        Status::Absent => format!("`{path}` has no `notify`"),
        Status::Registered => format!("Codex calls Turnbridge (`{path}`)"),
        Status::Outdated(old) => format!("Codex calls another Turnbridge: `{}`", old.join(" ")),
        Status::Foreign(other) => format!("Codex calls `{}`", other.join(" ")),
        Status::Unusable => format!("`notify` in `{path}` is no list of words"),
    })?;
    match status.chained {
        Some(chain) => say(&format!("and behind it `{}`", chain.join(" "))),
        None => Ok(()),
    }
}
