//! `turnbridge focus`: goes to the pane of a session, or resumes it in a new one, or prints the
//! command that resumes it.

use anyhow::Result;
use clap::Args;
use turnbridge_store::clock;
use turnbridge_system::focus::{FocusAction, Focused};
use turnbridge_system::observe::current_sessions::find_session;

use crate::consent::say;
use crate::failure::note;

/// Go to the terminal in which a session runs, or resume it in a new one
///
/// A session that has ended, or whose pane is not known, is resumed in a new tab or window of its
/// terminal, or of this one. Where there is none that can be told to, the command is printed; also for
/// a Codex that is open in an unknown pane, because only one can have a thread open.
#[derive(Debug, Args)]
pub struct FocusArgs {
    /// The session's id, or the beginning of it
    id: String,
    /// Only print the command that resumes it
    #[arg(long)]
    print: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &FocusArgs) -> Result<()> {
    let paths = super::state_paths()?;
    let session = find_session(&paths, &arguments.id, clock::now())?;
    let focused = match arguments.print {
        true => Focused::without_going(&paths, session)?,
        false => Focused::go(&paths, session, note)?,
    };
    if arguments.json {
        return say(&focused.to_json().to_string());
    }
    say(&match &focused.done {
        FocusAction::Switched(pane) => format!("switched to its pane in {}", pane.terminal()),
        FocusAction::Opened(pane) => {
            format!("resumed in a new tab or window of {}", pane.terminal())
        }
        FocusAction::OnlyCommand => focused.command.line(),
    })
}
