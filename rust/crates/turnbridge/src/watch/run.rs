//! The loop of `turnbridge watch`: one owner of the model, threads that only send. It sleeps until
//! an event, or until a visible age or a blinking dot changes. Once a second it polls for changes
//! of files and processes that no event has reported.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use crossterm::event::{self, Event as TerminalEvent};
use turnbridge_core::ids::SessionKey;
use turnbridge_store::clock;
use turnbridge_store::paths::{StatePaths, claude_config_dir};
use turnbridge_store::state::pane_store;
use turnbridge_system::focus::{Done, Focused};
use turnbridge_system::observe::current_sessions::current_session;
use turnbridge_system::observe::session_follower::{Change, Schedule, SessionFollower};

use super::bell::Bell;
use super::key::Key;
use super::last_turns::last_turns;
use super::model::{Effect, Model, Shown};
use super::reply::Replies;
use super::terminal::Screen;
use super::view::{self, Look};
use crate::session_views::table;

const SECOND: Duration = Duration::from_secs(1);

enum Event {
    Key(Key),
    Pasted(String),
    Resized,
    /// A changed session file.
    Changed(SessionKey),
    Say(String),
    /// A signal, or the end of the terminal.
    End,
}

pub fn run(paths: StatePaths, shown: Shown) -> Result<()> {
    let look = Look { color: table::Look::of_stdout().color };
    let mut screen = Screen::open()?;
    let (events, happened) = channel();
    listen(&events)?;
    let ring = events.clone();
    let bell = Bell::new(paths.sessions_dir(), move |key| drop(ring.send(Event::Changed(key))));
    let follower = SessionFollower::new(paths.clone(), claude_config_dir(), Schedule::WATCH);
    let mut watch = Watch {
        paths,
        look,
        events,
        bell,
        follower,
        model: Model::new(shown),
        replies: Replies::default(),
        turns_of: None,
        rows: 0,
    };
    watch.run(&mut screen, &happened)
}

/// Forwards keys and signals as events.
fn listen(events: &Sender<Event>) -> Result<()> {
    let ended = events.clone();
    ctrlc::set_handler(move || drop(ended.send(Event::End)))
        .context("could not listen for signals")?;
    let typed = events.clone();
    let read = move || {
        loop {
            let event = match event::read() {
                Ok(TerminalEvent::Key(key)) => Key::of(key).map(Event::Key),
                Ok(TerminalEvent::Paste(text)) => Some(Event::Pasted(text)),
                Ok(TerminalEvent::Resize(..)) => Some(Event::Resized),
                Ok(_) => None,
                Err(_) => Some(Event::End),
            };
            let Some(event) = event else { continue };
            let is_end = matches!(event, Event::End);
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

struct Watch {
    paths: StatePaths,
    look: Look,
    events: Sender<Event>,
    bell: Bell,
    follower: SessionFollower,
    model: Model,
    replies: Replies,
    /// The session whose turns the model contains.
    turns_of: Option<SessionKey>,
    rows: usize,
}

enum Going {
    On,
    End,
}

impl Watch {
    fn run(&mut self, screen: &mut Screen, happened: &Receiver<Event>) -> Result<()> {
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
                        if let Going::End = self.take(event, screen)? {
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

    fn take(&mut self, event: Event, screen: &mut Screen) -> Result<Going> {
        match event {
            Event::End => return Ok(Going::End),
            Event::Resized => screen.forget().context("could not draw on the terminal")?,
            Event::Say(text) => self.model.say(text),
            Event::Pasted(text) => self.model.paste(&text),
            Event::Changed(key) => {
                let change = self.follower.read(&key, clock::now());
                self.apply(change.into_iter().collect());
            }
            Event::Key(key) => match self.model.press(key) {
                None => {}
                Some(Effect::Quit) => return Ok(Going::End),
                Some(Effect::Copy(text)) => screen.copy(&text)?,
                Some(Effect::Focus(key)) => self.focus(key),
                Some(Effect::Reply { to, text }) => {
                    if let Some(session) = self.model.session(&to) {
                        let said = self.replies.send(&self.paths, session, text, clock::now());
                        self.model.say(said);
                    }
                }
            },
        }
        Ok(Going::On)
    }

    /// Polls for changes. Returns whether there are any.
    fn look_around(&mut self) -> bool {
        self.bell.arm();
        let changes = self.follower.changes(clock::now());
        let mut is_changed = !changes.is_empty();
        self.apply(changes);
        is_changed |= self.model.set_panes(pane_store::read(&self.paths));
        if let Some(said) = self.replies.look(&self.paths) {
            self.model.say(said);
            is_changed = true;
        }
        is_changed
    }

    fn apply(&mut self, changes: Vec<Change>) {
        // A turn is recorded before its session's file is written.
        let is_chosen = |change: &Change| match change {
            Change::Session(session) => self.model.chosen_key() == Some(&session.key),
            Change::Removed(_) => false,
        };
        if changes.iter().any(is_chosen) {
            self.turns_of = None;
        }
        self.model.apply(changes);
    }

    fn draw(&mut self, screen: &mut Screen) -> Result<()> {
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
            let _ = said.send(Event::Say(focus(&paths, &key)));
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
        (Done::Switched(pane), _) => {
            return format!("switched to its pane in {}", pane.terminal());
        }
        (Done::Opened(pane), _) => {
            return format!("resumed in a new tab or window of {}", pane.terminal());
        }
        (Done::OnlyCommand, _) if !focused.is_open => {
            "no terminal could be opened for it; y copies the command that resumes it"
        }
        (Done::OnlyCommand, agent) if agent.may_be_open_twice() => {
            "its pane is not known; y copies the command that resumes it"
        }
        (Done::OnlyCommand, agent) => {
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
        let said = |done: Done, agent: Agent, is_open: bool| {
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
        let switched = said(Done::Switched(pane()), Agent::Claude, true);
        assert_eq!(switched, "switched to its pane in tmux");
        let opened = said(Done::Opened(pane()), Agent::Claude, true);
        assert_eq!(opened, "resumed in a new tab or window of tmux");
        let printed = said(Done::OnlyCommand, Agent::Claude, true);
        assert_eq!(printed, "its pane is not known; y copies the command that resumes it");
        assert!(said(Done::OnlyCommand, Agent::Codex, true).contains("close Codex there"));
        // An ended session is in no pane.
        for agent in Agent::ALL {
            let ended = said(Done::OnlyCommand, agent, false);
            assert!(ended.starts_with("no terminal could be opened for it;"), "{ended}");
        }
    }
}
