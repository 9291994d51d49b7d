//! Switches to the terminal pane in which a session runs, or resumes the session in a new one
//! (KT-74). If neither is possible, it returns the command for the user.

use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};
use turnbridge_core::agents::agent_differences::LifeSign;
use turnbridge_core::ids::{Agent, SessionId};
use turnbridge_core::session::{Session, State};
use turnbridge_core::terminals::terminal_calls::Pane;
use turnbridge_store::foreign::codex_lock::{self, ThreadWriter};
use turnbridge_store::foreign::codex_rollouts;
use turnbridge_store::paths::{StatePaths, codex_home};
use turnbridge_store::state::pane_store;

use crate::failure::{Remark, hinted};
use crate::resume_command::ResumeCommand;
use crate::terminals;

/// The action that was taken.
#[derive(Debug)]
pub enum FocusAction {
    Switched(Pane),
    Opened(Pane),
    /// No action was possible: the user can run the command.
    OnlyCommand,
}

/// The result: the action, and the command that opens the session.
#[derive(Debug)]
pub struct Focused {
    pub done: FocusAction,
    pub command: ResumeCommand,
    /// Whether an agent has the session open.
    pub is_open: bool,
    pub agent: Agent,
    pub session_id: SessionId,
}

impl Focused {
    /// Finds the command, and switches to no terminal.
    pub fn without_going(paths: &StatePaths, session: Session) -> Result<Focused> {
        FocusPlan::of(paths, session).map(|plan| plan.ended(FocusAction::OnlyCommand))
    }

    /// Switches to the session's pane, or opens a new one.
    pub fn go(paths: &StatePaths, session: Session, remark: Remark) -> Result<Focused> {
        let plan = FocusPlan::of(paths, session)?;
        let done = plan.go(remark)?;
        Ok(plan.ended(done))
    }

    /// Returns whether another pane has a session open that only one may have open. A command that
    /// resumes it would be wrong then.
    pub fn is_open_elsewhere(&self) -> bool {
        matches!(self.done, FocusAction::OnlyCommand)
            && self.is_open
            && !self.agent.may_be_open_twice()
    }

    /// Returns the output of `turnbridge focus --json`.
    pub fn to_json(&self) -> Value {
        json!({
            "version": 1,
            "done": self.word(),
            "terminal": self.terminal(),
            "session_id": self.session_id.as_str(),
            "tool": self.agent.as_str(),
            "open": self.is_open,
            "folder": self.command.folder,
            "argv": self.command.argv,
            "environment": self.environment(),
            "command": self.command.line(),
        })
    }

    fn environment(&self) -> Value {
        let home = self.command.home.iter().map(|home| (home.name.to_owned(), json!(home.value)));
        Value::Object(home.collect())
    }

    fn word(&self) -> &'static str {
        match self.done {
            FocusAction::Switched(_) => "switched",
            FocusAction::Opened(_) => "opened",
            FocusAction::OnlyCommand => "printed",
        }
    }

    /// Returns the name of the terminal that was switched to, or in which a pane was opened.
    pub fn terminal(&self) -> Option<&'static str> {
        match &self.done {
            FocusAction::Switched(pane) | FocusAction::Opened(pane) => Some(pane.terminal()),
            FocusAction::OnlyCommand => None,
        }
    }
}

struct FocusPlan {
    session: Session,
    panes: Vec<Pane>,
    command: ResumeCommand,
    is_open: bool,
}

impl FocusPlan {
    fn of(paths: &StatePaths, session: Session) -> Result<FocusPlan> {
        let command = ResumeCommand::of(&session).ok_or_else(|| {
            hinted(format!("`{}` cannot be resumed", session.key.id), "its id is no UUID")
        })?;
        let panes = terminals::panes(&session, &pane_store::read(paths));
        let is_open = session.state() != State::Stopped || is_held(&session);
        Ok(FocusPlan { session, panes, command, is_open })
    }

    fn ended(self, done: FocusAction) -> Focused {
        let FocusPlan { session, command, is_open, .. } = self;
        Focused { done, command, is_open, agent: session.key.agent, session_id: session.key.id }
    }

    /// Switches to the existing pane, otherwise opens a new tab (KT-74).
    fn go(&self, remark: Remark) -> Result<FocusAction> {
        for pane in self.panes.iter().filter(|_| self.is_open) {
            if terminals::is_there(pane) && terminals::switch(pane)? {
                return Ok(FocusAction::Switched(pane.clone()));
            }
        }
        let agent = self.session.key.agent;
        if self.is_open && !agent.may_be_open_twice() {
            remark(&format!(
                "{} has it open in a pane that is not known: go there, or close it there first",
                agent.product_name()
            ));
            return Ok(FocusAction::OnlyCommand);
        }
        if self.is_open {
            remark("its pane is not known; what is done here, an open one does not see");
        }
        self.open_elsewhere(remark)
    }

    fn open_elsewhere(&self, remark: Remark) -> Result<FocusAction> {
        let folder = &self.command.folder;
        if !Path::new(folder).is_dir() {
            let error = format!("the session's folder `{folder}` is gone");
            return Err(hinted(error, "`--print` prints the command that would resume it"));
        }
        let argv = self.command.argv_with_home();
        // The terminal in which it ran last, if it still answers; else the one of this process.
        let mut runs = self.session.runs.iter().rev();
        let last = runs.find_map(|run| Pane::of(|name| run.host.env(name)));
        for pane in last.into_iter().chain(terminals::own_pane()) {
            match terminals::open(&pane, folder, &argv) {
                Ok(()) => return Ok(FocusAction::Opened(pane)),
                Err(error) => remark(&format!("{error:#}")),
            }
        }
        Ok(FocusAction::OnlyCommand)
    }
}

/// Returns whether the session's lock shows that it is open. A Codex that has opened a thread, but
/// has begun no turn there yet, is in no session file.
fn is_held(session: &Session) -> bool {
    match session.key.agent.life_sign() {
        LifeSign::Process => false,
        LifeSign::WriterLock => is_held_by_codex(session),
    }
}

fn is_held_by_codex(session: &Session) -> bool {
    let id = session.key.id.as_str();
    let known = session.transcript_path.as_deref().map(Path::new);
    let home = known.and_then(codex_rollouts::home_of).or_else(codex_home);
    home.is_some_and(|home| codex_lock::writer(&home, id) == ThreadWriter::Held)
}
