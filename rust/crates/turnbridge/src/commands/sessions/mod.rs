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
use turnbridge_store::clock;
use turnbridge_store::paths::{StatePaths, claude_config_dir};
use turnbridge_store::process::companion;
use turnbridge_store::state::{recovery, session_store};
use turnbridge_system::observe::signals::with_signals;

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
    let mut out = output::stdout();
    if let Some(Command::Show { id, json }) = &arguments.command {
        let session = current_session(&paths, id, now)?;
        let text = match json {
            true => json::one(&session, &paths)?,
            false => show::render(&session, &paths, now),
        };
        writeln!(out, "{}", text.trim_end())?;
        return Ok(());
    }
    let (sessions, stopped) = arguments.sessions(&paths, now)?;
    if arguments.json {
        let shown = sessions.iter().filter(|session| arguments.shows(session));
        writeln!(out, "{}", json::list(shown)?)?;
        return Ok(());
    }
    let shown: Vec<_> = sessions.iter().filter(|session| arguments.shows(session)).collect();
    let look = table::Look::of_stdout();
    // Dots have colours; every other cell has been made visible.
    let mut raw = output::raw_stdout();
    if let Some(template) = of_all {
        writeln!(raw, "{}", format::of_all(&template, &shown, look.color))?;
    } else if let Some(template) = of_each {
        for session in shown {
            writeln!(raw, "{}", format::of_each(&template, session, now, look.color))?;
        }
    } else {
        let hidden = stopped + sessions.len() - shown.len();
        raw.write_all(table::render(&shown, hidden, now, &look).as_bytes())?;
    }
    Ok(())
}

impl Arguments {
    fn shows(&self, session: &Session) -> bool {
        self.all || session.state() != State::Stopped
    }

    /// The sessions that may be shown, and how many there are besides them.
    fn sessions(&self, paths: &StatePaths, now: Timestamp) -> Result<(Vec<Session>, usize)> {
        if self.all {
            return Ok((current_sessions(paths, now)?, 0));
        }
        let open = reading(paths, session_store::read_open(paths))?;
        Ok((as_they_are(open.sessions, now), open.stopped))
    }
}

/// Every session as it is now, the one that changed longest ago first.
pub fn current_sessions(paths: &StatePaths, now: Timestamp) -> Result<Vec<Session>> {
    Ok(as_they_are(reading(paths, session_store::read_all(paths))?, now))
}

/// The one session whose id is or begins with `id`.
pub fn current_session(paths: &StatePaths, id: &str, now: Timestamp) -> Result<Session> {
    let sessions = reading(paths, session_store::read_matching(paths, id))?;
    find(&as_they_are(sessions, now), id).cloned()
}

fn reading<T>(paths: &StatePaths, read: std::io::Result<T>) -> Result<T> {
    read.with_context(|| format!("could not read `{}`", paths.sessions_dir().display()))
}

fn as_they_are(sessions: Vec<Session>, now: Timestamp) -> Vec<Session> {
    let config_dir = claude_config_dir();
    let with_signals = |session| with_signals(session, config_dir.as_deref(), now);
    let mut sessions: Vec<_> = sessions.into_iter().map(with_signals).collect();
    sessions.sort_by(|a, b| (a.since(), &a.id).cmp(&(b.since(), &b.id)));
    sessions
}

fn find<'a>(sessions: &'a [Session], id: &str) -> Result<&'a Session> {
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
