//! `turnbridge focus`: to the pane of a session, or to a new one that resumes it (KT-74).

use std::path::Path;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use turnbridge_core::ids::Tool;
use turnbridge_core::session::{Session, State};
use turnbridge_core::terminals::terminal_calls::Pane;
use turnbridge_store::clock;
use turnbridge_store::foreign::codex_lock::{self, Writer};
use turnbridge_store::foreign::codex_rollouts;
use turnbridge_store::paths::codex_home;
use turnbridge_store::state::pane_store;
use turnbridge_system::resume_command::ResumeCommand;
use turnbridge_system::terminals;

use super::sessions::current_session;
use crate::consent::say;
use crate::failure::{hinted, note};

/// Go to the terminal in which a session runs, or resume it in a new one
///
/// A session that has ended, or whose pane is not known, is resumed in a new tab or window of its
/// terminal, or of this one. Where there is none that can be told to, the command is printed; also for
/// a Codex that is open in an unknown pane, because only one can have a thread open.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The session's id, or the beginning of it
    id: String,
    /// Only print the command that resumes it
    #[arg(long)]
    print: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What was done.
enum Done {
    Switched(Pane),
    Opened(Pane),
    Printed,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let paths = super::state_paths()?;
    let session = &current_session(&paths, &arguments.id, clock::now())?;
    let command = ResumeCommand::of(session).ok_or_else(|| {
        hinted(format!("`{}` cannot be resumed", session.id), "its id is no UUID")
    })?;
    let panes = terminals::panes(session, &pane_store::read(&paths));
    let is_open = session.state() != State::Stopped || is_held_by_codex(session);
    let done = match arguments.print {
        true => Done::Printed,
        false => go(session, is_open, &panes, &command)?,
    };
    if arguments.json {
        let (what, terminal) = match &done {
            Done::Switched(pane) => ("switched", Some(pane.terminal())),
            Done::Opened(pane) => ("opened", Some(pane.terminal())),
            Done::Printed => ("printed", None),
        };
        return say(&json!({
            "version": 1,
            "done": what,
            "terminal": terminal,
            "session_id": session.id.as_str(),
            "tool": session.tool.as_str(),
            "open": is_open,
            "folder": command.folder,
            "argv": command.argv,
            "command": command.line(),
        })
        .to_string());
    }
    match done {
        Done::Switched(pane) => say(&format!("switched to its pane in {}", pane.terminal())),
        Done::Opened(pane) => {
            say(&format!("resumed in a new tab or window of {}", pane.terminal()))
        }
        Done::Printed => say(&command.line()),
    }
}

/// KT-74: (1) to the pane that is there; (2) otherwise a new tab.
fn go(session: &Session, is_open: bool, panes: &[Pane], command: &ResumeCommand) -> Result<Done> {
    for pane in panes.iter().filter(|_| is_open) {
        if terminals::is_there(pane) && terminals::switch(pane)? {
            return Ok(Done::Switched(pane.clone()));
        }
    }
    match session.tool {
        // KT-85: two that have one thread open would get in each other's way.
        Tool::Codex if is_open => {
            note(
                "Codex has it open in a pane that is not known: go there, or close it there first",
            );
            return Ok(Done::Printed);
        }
        Tool::Claude if is_open => {
            note("its pane is not known; what is done here, an open one does not see");
        }
        _ => {}
    }
    if !Path::new(&command.folder).is_dir() {
        let error = format!("the session's folder `{}` is gone", command.folder);
        return Err(hinted(error, "`--print` prints the command that would resume it"));
    }
    // Where it ran last, if that terminal still answers; else beside us.
    let last = session.runs.iter().rev().find_map(|run| Pane::of(|name| run.host.env(name)));
    for pane in last.into_iter().chain(terminals::own_pane()) {
        match terminals::open(&pane, &command.folder, &command.argv) {
            Ok(()) => return Ok(Done::Opened(pane)),
            Err(error) => note(&format!("{error:#}")),
        }
    }
    Ok(Done::Printed)
}

/// A Codex has the thread open. One that has opened it, and has begun no turn there yet, is in no session file.
fn is_held_by_codex(session: &Session) -> bool {
    if session.tool != Tool::Codex {
        return false;
    }
    let id = session.id.as_str();
    let known = session.transcript_path.as_deref().map(Path::new);
    let home = known.and_then(codex_rollouts::home_of).or_else(codex_home);
    home.is_some_and(|home| codex_lock::writer(&home, id) == Writer::Held)
}
