//! Runs the programs of terminals to switch to a pane, open another one, or paste a prompt into
//! Claude there. The core's `terminal_calls` builds the calls. Also returns the panes that show a
//! session, and whether the agent reads the text that is typed into a pane.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use turnbridge_core::agents::claude::claude_screen::{InputLine, is_filled_by_input};
use turnbridge_core::session::{Run, Session};
use turnbridge_core::terminals::panes::Panes;
use turnbridge_core::terminals::terminal_calls::{Pane, PaneReader, TerminalCall};

use crate::programs;
use crate::replies::runs::TypingPlace;

/// The timeout of a call: a live terminal answers in milliseconds.
const TIMEOUT: Duration = Duration::from_secs(5);
const APART: Duration = Duration::from_millis(150);
/// The timeout for Claude to show a pasted text.
const SHOWN_WITHIN: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(50);

/// Returns the panes that show a session now. The one in which it was launched comes first, if that
/// was reported, then those of its runs: a user's terminal first, the latest first.
pub fn panes(session: &Session, registry: &Panes) -> Vec<Pane> {
    let launched = registry.host_of(&session.key.id);
    let mut runs: Vec<&Run> = session.live_runs().filter(|run| !run.host.is_headless()).collect();
    runs.sort_by_key(|run| std::cmp::Reverse((run.host.is_interactive(), run.sequence)));
    let hosts = launched.iter().chain(runs.iter().map(|run| &run.host));
    hosts.filter_map(|host| Pane::of(|name| host.env(name))).collect()
}

/// Returns the pane in which this program runs.
pub fn own_pane() -> Option<Pane> {
    let variables: Vec<_> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    Pane::of(|name| {
        variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    })
}

/// Returns whether the pane exists. A pane that cannot be queried counts as existing.
pub fn is_there(pane: &Pane) -> bool {
    pane.probe().is_none_or(|call| match make(&call) {
        // tmux prints an empty answer for a pane that it does not know, and reports a success.
        Ok(answer) => !matches!(pane, Pane::Tmux { .. }) || answer.starts_with("alive"),
        Err(_) => false,
    })
}

/// Switches to the pane. Returns `false` if its terminal does not support that.
pub fn switch(pane: &Pane) -> Result<bool> {
    let Some(calls) = pane.switch() else { return Ok(false) };
    for call in &calls {
        make(call)?;
    }
    if let Some(call) = pane.show() {
        // It fails if no client shows the terminal.
        let _ = make(&call);
    }
    Ok(true)
}

/// Opens another pane in the same terminal, which runs `argv` in `folder`.
pub fn open(pane: &Pane, folder: &str, argv: &[String]) -> Result<()> {
    make(&pane.open(folder, argv)).map(drop)
}

/// Returns whether the terminal reports that text typed into the pane reaches the agent, and no
/// other program. This does not hold if another terminal runs inside of it (`screen`), whose
/// programs have the same variables, nor in tmux's copy mode or with its `synchronize-panes`.
pub fn is_agents(place: &TypingPlace) -> bool {
    let reader = PaneReader { pid: place.agent.pid, terminal: place.terminal.as_deref() };
    let answer = place.pane.ask_for_reader().and_then(|call| make(&call).ok());
    answer.is_some_and(|answer| place.pane.is_read_by(reader, &answer))
}

/// The result of a paste.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pasted {
    Yes,
    /// No text has reached the terminal.
    Not,
    /// It was not submitted, or this is not known.
    Partly,
}

/// Pastes a prompt into Claude and submits it. An existing draft is restored afterwards. `is_ready`
/// is called before every key: the user may suspend the agent at any moment, and a shell gets the
/// typed text then. The screen is checked too, because in Claude's shell mode (`!`) the text would
/// also be run.
pub fn paste(pane: &Pane, text: &str, is_ready: &dyn Fn() -> bool) -> Pasted {
    let Some(paste) = pane.paste(text) else { return Pasted::Not };
    let typed = || {
        // One of two drafts would be lost.
        let has_draft = match input(pane, |input| (!input.text.is_empty(), input.has_draft_aside)) {
            None | Some((true, true)) => return Pasted::Not,
            Some((has_draft, _)) => has_draft,
        };
        if paste.load.iter().any(|call| make(call).is_err()) {
            return Pasted::Not;
        }
        if has_draft && let Some(call) = pane.put_draft_aside() {
            if !is_ready() || make(&call).is_err() {
                return Pasted::Not;
            }
            // Claude may take keys that come with a paste for a part of it.
            std::thread::sleep(APART);
        }
        if input(pane, |_| ()).is_none() || !is_ready() {
            return Pasted::Not;
        }
        let is_typed = make(&paste.text).is_ok()
            && is_text_shown(pane)
            && is_ready()
            && make(&paste.enter).is_ok();
        if is_typed { Pasted::Yes } else { Pasted::Partly }
    };
    let pasted = typed();
    if let (Some(call), Pasted::Not) = (&paste.unload, pasted) {
        let _ = make(call);
    }
    pasted
}

fn screen(pane: &Pane) -> Option<String> {
    make(&pane.screen()?).ok()
}

/// Returns Claude's input line, or `None` if typed text would be no prompt.
fn input<T>(pane: &Pane, read: impl Fn(InputLine<'_>) -> T) -> Option<T> {
    InputLine::on(&screen(pane)?).map(read)
}

/// Waits until the input line has a text, which Enter would submit as a prompt.
fn is_text_shown(pane: &Pane) -> bool {
    let deadline = Instant::now() + SHOWN_WITHIN;
    let is_shown = |screen: &str| {
        InputLine::on(screen).is_some_and(|input| !input.text.is_empty())
            || is_filled_by_input(screen)
    };
    while Instant::now() < deadline {
        if screen(pane).as_deref().is_some_and(is_shown) {
            return true;
        }
        std::thread::sleep(LOOK);
    }
    false
}

/// Makes a call, and returns the output of the program.
fn make(call: &TerminalCall) -> Result<String> {
    let program = programs::find(call.program, None)
        .ok_or_else(|| anyhow!("`{}` is not on the PATH", call.program))?;
    let mut command = Command::new(program);
    command.args(&call.arguments);
    command.envs(call.environment.iter().map(|(name, value)| (name, value)));
    let answer = programs::ask_with(&mut command, call.stdin.as_deref(), TIMEOUT)
        .map_err(|error| anyhow!("`{}`: {error}", call.program))?;
    if answer.status.success() {
        return Ok(answer.text());
    }
    let errors = String::from_utf8_lossy(&answer.stderr);
    let error = errors.lines().find(|line| !line.trim().is_empty()).unwrap_or("no word why");
    Err(anyhow!("`{}` failed ({}): {}", call.program, answer.status, error.trim()))
}
