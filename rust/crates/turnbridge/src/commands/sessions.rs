//! `turnbridge sessions`: what every session is doing. Needs no daemon: what hooks cannot tell is
//! looked up on the spot, and turns that a killed hook has left are written down.

mod format;
pub mod json;
mod show;
pub mod table;

use std::io::Write;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use turnbridge_core::session::{Session, State};
use turnbridge_core::timestamp::Timestamp;
use turnbridge_daemon::signals::with_signals;
use turnbridge_store::paths::{StatePaths, claude_config_dir};
use turnbridge_store::{clock, companion, recovery, session_store};

use crate::failure::hinted;
use crate::output;
use format::{OfAll, OfEach, Template};

/// Show the sessions of your agents and what each is doing
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print JSON (docs/schemas/sessions.schema.json)
    #[arg(long)]
    json: bool,
    /// Show stopped sessions too
    #[arg(long, short)]
    all: bool,
    /// Print one line about all of them: `'{working} at work, {waiting} waiting'`
    ///
    /// Names: {dot} (of the most urgent one), {working}, {waiting}, {completed}, {total}; `{{` and
    /// `}}` are braces. In tmux:
    ///
    /// set -g status-right '#(turnbridge sessions --format "{dot} {working}/{total}")'
    #[arg(long, value_name = "TEMPLATE", conflicts_with_all = ["json", "format_each"])]
    format: Option<String>,
    /// Print a line for each: `'{tool} {project} {state} {age}'`
    ///
    /// Names: {dot}, {tool}, {project}, {state}, {age}, {session_id}, {prompt}.
    #[arg(long, value_name = "TEMPLATE", conflicts_with = "json")]
    format_each: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show one session with its runs and its last turns
    Show {
        /// The session's id, or the beginning of it
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let paths = super::state_paths()?;
    let now = clock::now();
    let of_all = arguments.format.as_deref().map(Template::<OfAll>::parse).transpose()?;
    let of_each = arguments.format_each.as_deref().map(Template::<OfEach>::parse).transpose()?;
    let recovered = recovery::recover(&paths);
    if recovered.has_notice {
        // Whoever delivers says what is wrong.
        let _ = companion::wake(&paths);
    }
    let sessions = current_sessions(&paths, now)?;
    let mut out = output::stdout();
    match &arguments.command {
        Some(Command::Show { id, json }) => {
            let session = find(&sessions, id)?;
            let text = if *json {
                json::one(session, &paths)?
            } else {
                show::render(session, &paths, now)
            };
            writeln!(out, "{}", text.trim_end())?;
        }
        None if arguments.json => {
            let shown = sessions.iter().filter(|session| arguments.shows(session));
            writeln!(out, "{}", json::list(shown)?)?;
        }
        None => {
            let shown: Vec<_> = sessions.iter().filter(|s| arguments.shows(s)).collect();
            let look = table::Look::of_stdout();
            // Dots have colours; every other cell has been made visible.
            let mut raw = output::raw_stdout();
            if let Some(template) = of_all {
                writeln!(raw, "{}", format::of_all(&template, &shown, look.color))?;
                return Ok(());
            }
            if let Some(template) = of_each {
                for session in shown {
                    writeln!(raw, "{}", format::of_each(&template, session, now, look.color))?;
                }
                return Ok(());
            }
            let hidden = sessions.len() - shown.len();
            raw.write_all(table::render(&shown, hidden, now, &look).as_bytes())?;
        }
    }
    Ok(())
}

impl Arguments {
    fn shows(&self, session: &Session) -> bool {
        self.all || session.state() != State::Stopped
    }
}

/// Every session as it is now, the one that changed longest ago first.
pub fn current_sessions(paths: &StatePaths, now: Timestamp) -> Result<Vec<Session>> {
    let sessions = session_store::read_all(paths)
        .with_context(|| format!("could not read `{}`", paths.sessions_dir().display()))?;
    let config_dir = claude_config_dir();
    let mut sessions: Vec<_> = sessions
        .into_iter()
        .map(|session| with_signals(session, config_dir.as_deref(), now))
        .collect();
    sessions.sort_by(|a, b| (a.since(), &a.id).cmp(&(b.since(), &b.id)));
    Ok(sessions)
}

pub fn find<'a>(sessions: &'a [Session], id: &str) -> Result<&'a Session> {
    let exact = sessions.iter().find(|session| session.id.as_str() == id);
    let matching: Vec<_> =
        sessions.iter().filter(|session| session.id.as_str().starts_with(id)).collect();
    match (exact, matching.as_slice()) {
        (Some(session), _) => Ok(session),
        (None, [session]) => Ok(session),
        (None, []) => Err(hinted(
            format!("there is no session `{id}`"),
            "run `turnbridge sessions --all --json` to see every id",
        )),
        (None, several) => {
            let ids: Vec<_> = several.iter().take(5).map(|session| session.id.as_str()).collect();
            Err(hinted(
                format!("`{id}` is the beginning of {} sessions", several.len()),
                format!("give more of the id: {}", ids.join(", ")),
            ))
        }
    }
}
