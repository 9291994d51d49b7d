//! Runs the loop of `turnbridge watch`. It owns the model; other threads only send it events. It
//! sleeps until an event, or until a visible age or a blinking dot changes. Once a second it polls
//! for changes of files and processes that no event has reported.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use crossterm::event::{self, Event as TerminalEvent};
use turnbridge_core::ids::SessionKey;
use turnbridge_store::clock;
use turnbridge_store::paths::{StatePaths, claude_config_dir};
use turnbridge_store::state::pane_store;
use turnbridge_system::focus::{FocusAction, Focused};
use turnbridge_system::observe::current_sessions::current_session;
use turnbridge_system::observe::session_follower::{Schedule, SessionChange, SessionFollower};

use super::bell::Bell;
use super::key::Key;
use super::last_turns::last_turns;
use super::model::{SessionFilter, WatchEffect, WatchModel};
use super::reply::SentReplies;
use super::terminal::WatchScreen;
use super::view::{self, ViewStyle};
use crate::session_views::table;

const SECOND: Duration = Duration::from_secs(1);

enum WatchEvent {
    Key(Key),
    Pasted(String),
    Resized,
    /// A changed session file.
    Changed(SessionKey),
    Say(String),
    /// A signal, or the end of the terminal.
    End,
}

pub fn run(paths: StatePaths, shown: SessionFilter) -> Result<()> {
    let look = ViewStyle { color: table::TableStyle::of_stdout().color };
    let mut screen = WatchScreen::open()?;
    let (events, happened) = channel();
    listen(&events)?;
    let ring = events.clone();
    let bell =
        Bell::new(paths.sessions_dir(), move |key| drop(ring.send(WatchEvent::Changed(key))));
    let follower = SessionFollower::new(paths.clone(), claude_config_dir(), Schedule::WATCH);
    let mut watch = WatchLoop {
        paths,
        look,
        events,
        bell,
        follower,
        model: WatchModel::new(shown),
        replies: SentReplies::default(),
        turns_of: None,
        rows: 0,
    };
    watch.run(&mut screen, &happened)
}

/// Forwards keys and signals as events.
fn listen(events: &Sender<WatchEvent>) -> Result<()> {
    let ended = events.clone();
    ctrlc::set_handler(move || drop(ended.send(WatchEvent::End)))
        .context("could not listen for signals")?;
    let typed = events.clone();
    let read = move || {
        loop {
            let event = match event::read() {
                Ok(TerminalEvent::Key(key)) => Key::of(key).map(WatchEvent::Key),
                Ok(TerminalEvent::Paste(text)) => Some(WatchEvent::Pasted(text)),
                Ok(TerminalEvent::Resize(..)) => Some(WatchEvent::Resized),
                Ok(_) => None,
                Err(_) => Some(WatchEvent::End),
            };
            let Some(event) = event else { continue };
            let is_end = matches!(event, WatchEvent::End);
            if typed.send(event).is_err() || is_end {
                return;
            }
        }
    };
    std::thread::Builder::new()
        .name("keys".to_owned())
        .spawn(read)
        .context("no thread could be started")?;
    Ok(())
}

struct WatchLoop {
    paths: StatePaths,
    look: ViewStyle,
    events: Sender<WatchEvent>,
    bell: Bell,
    follower: SessionFollower,
    model: WatchModel,
    replies: SentReplies,
    /// The session whose turns the model contains.
    turns_of: Option<SessionKey>,
    rows: usize,
}

enum LoopControl {
    On,
    End,
}

impl WatchLoop {
    fn run(&mut self, screen: &mut WatchScreen, happened: &Receiver<WatchEvent>) -> Result<()> {
        let first = self.follower.changes(clock::now());
        self.apply(first);
        self.model.set_panes(pane_store::read(&self.paths));
        let mut next_look = Instant::now() + SECOND;
        let mut next_draw = Some(Instant::now());
        loop {
            let now = Instant::now();
            if next_draw.is_some_and(|at| at <= now) {
                self.draw(screen)?;
                let holds = view::next_change(&self.model, self.look, clock::now(), self.rows);
                next_draw = holds.map(|holds| Instant::now() + holds);
            }
            let until = next_draw.map_or(next_look, |at| at.min(next_look));
            let mut is_changed = false;
            match happened.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(event) => {
                    is_changed = true;
                    for event in std::iter::once(event).chain(happened.try_iter()) {
                        if let LoopControl::End = self.handle(event, screen)? {
                            return Ok(());
                        }
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            if Instant::now() >= next_look {
                next_look = Instant::now() + SECOND;
                is_changed |= self.look_around();
            }
            if is_changed {
                next_draw = Some(Instant::now());
            }
        }
    }

    fn handle(&mut self, event: WatchEvent, screen: &mut WatchScreen) -> Result<LoopControl> {
        match event {
            WatchEvent::End => return Ok(LoopControl::End),
            WatchEvent::Resized => screen.forget().context("could not draw on the terminal")?,
            WatchEvent::Say(text) => self.model.say(text),
            WatchEvent::Pasted(text) => self.model.paste(&text),
            WatchEvent::Changed(key) => {
                let change = self.follower.read(&key, clock::now());
                self.apply(change.into_iter().collect());
            }
            WatchEvent::Key(key) => match self.model.press(key) {
                None => {}
                Some(WatchEffect::Quit) => return Ok(LoopControl::End),
                Some(WatchEffect::Copy(text)) => screen.copy(&text)?,
                Some(WatchEffect::Focus(key)) => self.focus(key),
                Some(WatchEffect::Reply { to, text }) => {
                    if let Some(session) = self.model.session(&to) {
                        let said = self.replies.send(&self.paths, session, text, clock::now());
                        self.model.say(said);
                    }
                }
            },
        }
        Ok(LoopControl::On)
    }

    /// Polls for changes. Returns whether there are any.
    fn look_around(&mut self) -> bool {
        self.bell.arm();
        let changes = self.follower.changes(clock::now());
        let mut is_changed = !changes.is_empty();
        self.apply(changes);
        is_changed |= self.model.set_panes(pane_store::read(&self.paths));
        if let Some(said) = self.replies.next_news(&self.paths) {
            self.model.say(said);
            is_changed = true;
        }
        is_changed
    }

    fn apply(&mut self, changes: Vec<SessionChange>) {
        // A turn is recorded before its session's file is written.
        let is_chosen = |change: &SessionChange| match change {
            SessionChange::Session(session) => self.model.chosen_key() == Some(&session.key),
            SessionChange::Removed(_) => false,
        };
        if changes.iter().any(is_chosen) {
            self.turns_of = None;
        }
        self.model.apply(changes);
    }

    fn draw(&mut self, screen: &mut WatchScreen) -> Result<()> {
        if self.turns_of.as_ref() != self.model.chosen_key() {
            self.turns_of = self.model.chosen_key().cloned();
            if let Some(key) = self.turns_of.clone() {
                let turns = last_turns(&self.paths, &key);
                self.model.set_turns(key, turns);
            }
        }
        let (model, look, now) = (&self.model, self.look, clock::now());
        let mut drawn = None;
        screen
            .terminal()
            .draw(|frame| {
                let done = view::draw(model, look, now, frame.area(), frame.buffer_mut());
                if let Some(cursor) = done.cursor {
                    frame.set_cursor_position(cursor);
                }
                drawn = Some(done);
            })
            .context("could not draw on the terminal")?;
        if let Some(drawn) = drawn {
            self.rows = drawn.rows;
            self.model.set_scroll(drawn.scroll);
        }
        Ok(())
    }

    /// Goes to the terminal in a separate thread, because terminals may be slow.
    fn focus(&mut self, key: SessionKey) {
        let (said, paths) = (self.events.clone(), self.paths.clone());
        let focus = move || {
            // The receiver is gone after the view's end.
            let _ = said.send(WatchEvent::Say(focus(&paths, &key)));
        };
        let started = std::thread::Builder::new().name("focus".to_owned()).spawn(focus);
        if let Err(error) = started {
            self.model.say(format!("no thread could be started: {error}"));
        }
    }
}

/// Goes to a session's terminal, and returns the result as one line.
fn focus(paths: &StatePaths, key: &SessionKey) -> String {
    let Some(session) = current_session(paths, key, clock::now()) else {
        return "error: its file is gone".to_owned();
    };
    match Focused::go(paths, session, |_| {}) {
        Err(error) => format!("error: {error:#}"),
        Ok(focused) => what_was_done(&focused),
    }
}

fn what_was_done(focused: &Focused) -> String {
    let text = match (&focused.done, focused.agent) {
        (FocusAction::Switched(pane), _) => {
            return format!("switched to its pane in {}", pane.terminal());
        }
        (FocusAction::Opened(pane), _) => {
            return format!("resumed in a new tab or window of {}", pane.terminal());
        }
        (FocusAction::OnlyCommand, _) if !focused.is_open => {
            "no terminal could be opened for it; y copies the command that resumes it"
        }
        (FocusAction::OnlyCommand, agent) if agent.may_be_open_twice() => {
            "its pane is not known; y copies the command that resumes it"
        }
        (FocusAction::OnlyCommand, agent) => {
            return format!(
                "its pane is not known: go there, or close {} there; y copies the command that resumes it",
                agent.product_name()
            );
        }
    };
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnbridge_core::ids::{Agent, SessionId};
    use turnbridge_core::terminals::terminal_calls::Pane;
    use turnbridge_system::resume_command::ResumeCommand;

    #[test]
    fn what_focus_has_done_is_said_in_one_line() {
        let said = |done: FocusAction, agent: Agent, is_open: bool| {
            let session_id = SessionId::parse("825c8529-ee09-4cb8-8902-dd785b12ca0a").unwrap();
            let command = ResumeCommand { folder: "/p".to_owned(), argv: Vec::new(), home: None };
            what_was_done(&Focused { done, command, is_open, agent, session_id })
        };
        let pane = || {
            let variable = |name: &str| match name {
                "TMUX" => Some("/tmp/tmux-0/default,1,0"),
                "TMUX_PANE" => Some("%1"),
                _ => None,
            };
            Pane::of(variable).unwrap()
        };
        let switched = said(FocusAction::Switched(pane()), Agent::Claude, true);
        assert_eq!(switched, "switched to its pane in tmux");
        let opened = said(FocusAction::Opened(pane()), Agent::Claude, true);
        assert_eq!(opened, "resumed in a new tab or window of tmux");
        let printed = said(FocusAction::OnlyCommand, Agent::Claude, true);
        assert_eq!(printed, "its pane is not known; y copies the command that resumes it");
        assert!(said(FocusAction::OnlyCommand, Agent::Codex, true).contains("close Codex there"));
        // An ended session is in no pane.
        for agent in Agent::ALL {
            let ended = said(FocusAction::OnlyCommand, agent, false);
            assert!(ended.starts_with("no terminal could be opened for it;"), "{ended}");
        }
    }
}
