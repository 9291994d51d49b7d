//! `turnbridge wsl`: shows what Turnbridge finds of WSL, from Windows or from inside, and connects
//! the two sides. `turnbridge hooks … --wsl` registers hooks in a distribution.

mod codex_homes;
mod inside;
mod status;

use anyhow::Result;
use clap::{Args, Subcommand};
use turnbridge_system::wsl::{Side, side, wslenv};

use crate::consent::{Consent, say};
use crate::failure::hinted;

/// Show what Turnbridge sees of WSL, and join its two sides
///
/// From Windows: the distributions, and what is set up in each. `hooks … --wsl DISTRO` and
/// `codex notify … --wsl DISTRO` change it. Inside a distribution: what it shares with Windows.
/// Without a command: `status`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct WslArgs {
    #[command(subcommand)]
    action: Option<WslAction>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum WslAction {
    /// Show the distributions, or the one that this is. Starts none
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the variable that Windows needs for a terminal of its own to hear of agents in WSL
    ///
    /// What `WSLENV` holds already stays in it.
    Wslenv,
    /// From Windows: follow the Codex of distributions too
    ///
    /// Adds their folders to `[codex] homes` in `config.toml`. What is there stays.
    CodexHomes {
        /// The distributions, which are started if they do not run [default: all that run]
        #[arg(value_name = "DISTRO")]
        names: Vec<String>,
        #[command(flatten)]
        consent: Consent,
    },
}

pub fn run(arguments: &WslArgs) -> Result<()> {
    match &arguments.action {
        None => show(arguments.json),
        Some(WslAction::Status { json }) => show(*json),
        Some(WslAction::Wslenv) => say(&wslenv()),
        Some(WslAction::CodexHomes { names, consent }) => codex_homes::run(names, *consent),
    }
}

fn show(as_json: bool) -> Result<()> {
    match side() {
        Side::Windows => status::run(as_json),
        Side::Inside(inside) => inside::run(&inside, as_json),
        Side::Elsewhere => {
            let hint = "run it in Windows, or inside a distribution";
            Err(hinted("this is neither Windows nor WSL", hint))
        }
    }
}
