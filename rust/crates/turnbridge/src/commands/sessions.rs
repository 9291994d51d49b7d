//! `turnbridge sessions`: shows the state of every session. It needs no daemon: it looks for
//! changes that no hook reports, and records the turns that a killed hook left.

use std::io::Write;

use anyhow::Result;
use clap::{Args, Subcommand};
use turnbridge_core::session::{Session, State};
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::clock;
use turnbridge_store::paths::StatePaths;
use turnbridge_store::process::detached_process;
use turnbridge_store::state::recovery;
use turnbridge_system::observe::current_sessions::{all_sessions, find_session, open_sessions};

use crate::output;
use crate::session_views::format::{OfAll, OfEach, Template};
use crate::session_views::{format, json, show, table};

/// Show the sessions of your agents and what each is doing
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct SessionsArgs {
    #[command(subcommand)]
    command: Option<SessionsAction>,
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
enum SessionsAction {
    /// Show one session with its runs and its last turns
    Show {
        /// The session's id, or the beginning of it
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub fn run(arguments: &SessionsArgs) -> Result<()> {
    let paths = super::state_paths()?;
    let now = clock::now();
    let of_all = arguments.format.as_deref().map(Template::<OfAll>::parse).transpose()?;
    let of_each = arguments.format_each.as_deref().map(Template::<OfEach>::parse).transpose()?;
    let recovered = recovery::recover(&paths);
    if recovered.has_notice {
        // The deliverer reports its errors itself.
        let _ = detached_process::wake(&paths);
    }
    let mut out = output::stdout();
    if let Some(SessionsAction::Show { id, json }) = &arguments.command {
        let session = find_session(&paths, id, now)?;
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
    let look = table::TableStyle::of_stdout();
    // The dots contain colour codes; every other cell was escaped.
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

impl SessionsArgs {
    fn shows(&self, session: &Session) -> bool {
        self.all || session.state() != State::Stopped
    }

    /// Returns the sessions to show, and the number of the others.
    fn sessions(&self, paths: &StatePaths, now: Timestamp) -> Result<(Vec<Session>, usize)> {
        if self.all {
            return Ok((all_sessions(paths, now)?, 0));
        }
        open_sessions(paths, now)
    }
}
