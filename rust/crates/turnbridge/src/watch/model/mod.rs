//! Keeps the state of the view, and changes it by keys. It has no side effects: sessions, turns and
//! keys go in, effects come out (`WatchEffect`); files, terminal and clock are in `run`.
//!
//! The selection is a session, not a row: rows move while sessions change, and a reply must not
//! reach another session that has moved below the cursor.

use std::collections::BTreeMap;
use std::time::Duration;

use turnbridge_core::agents::resume::is_refused;
use turnbridge_core::ids::{SessionKey, is_uuid};
use turnbridge_core::session::turn_record::TurnRecord;
use turnbridge_core::session::{Session, State};
use turnbridge_core::terminals::panes::{PaneView, Panes};
use turnbridge_core::timestamp::Timestamp;
use turnbridge_system::observe::session_follower::SessionChange;
use turnbridge_system::resume_command::ResumeCommand;

use super::filter::Filter;
use super::key::Key;
use super::text_box::TextBox;

/// The number of rows that Page Up and Page Down move.
const PAGE: usize = 10;

/// The time for which a green dot is on, and then off (KT-77).
pub const BLINK: Duration = Duration::from_millis(500);

#[derive(Debug, Default)]
pub struct WatchModel {
    sessions: BTreeMap<SessionKey, Session>,
    /// The visible sessions, from the top.
    visible: Vec<SessionKey>,
    chosen: Option<SessionKey>,
    shown: SessionFilter,
    filter: Filter,
    mode: WatchMode,
    message: Option<String>,
    turns: Option<(SessionKey, Vec<TurnRecord>)>,
    panes: Panes,
    /// The number of lines of the selected session's text above the window.
    scroll: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SessionFilter {
    #[default]
    Live,
    All,
}

#[derive(Debug, Default)]
pub enum WatchMode {
    #[default]
    List,
    Filter,
    Reply {
        to: SessionKey,
        text: TextBox,
    },
    Help,
}

/// An action for the loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchEffect {
    Quit,
    Focus(SessionKey),
    Reply {
        to: SessionKey,
        text: String,
    },
    /// Copies the text to the clipboard.
    Copy(String),
}

/// The number of sessions in each state, whether or not they are visible.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionCounts {
    pub waiting: usize,
    pub working: usize,
    pub completed: usize,
    pub stopped: usize,
}

impl WatchModel {
    pub fn new(shown: SessionFilter) -> WatchModel {
        WatchModel { shown, ..WatchModel::default() }
    }

    /// Sets the panes. Returns whether they have changed.
    pub fn set_panes(&mut self, panes: Panes) -> bool {
        let is_changed = self.panes != panes;
        self.panes = panes;
        is_changed
    }

    pub fn pane_view(&self, session: &Session) -> PaneView {
        self.panes.view_of(session)
    }

    pub fn apply(&mut self, changes: Vec<SessionChange>) {
        if changes.is_empty() {
            return;
        }
        for change in changes {
            match change {
                SessionChange::Session(session) => {
                    let session = *session;
                    self.sessions.insert(session.key.clone(), session);
                }
                SessionChange::Removed(key) => {
                    self.sessions.remove(&key);
                }
            }
        }
        self.arrange();
    }

    pub fn set_turns(&mut self, of: SessionKey, turns: Vec<TurnRecord>) {
        self.turns = Some((of, turns));
    }

    /// Shows a message until the next key.
    pub fn say(&mut self, message: impl Into<String>) {
        self.message = Some(message.into());
    }

    /// Sets the scroll position, limited by the view to the text's end.
    pub fn set_scroll(&mut self, scroll: usize) {
        self.scroll = scroll;
    }

    /// Handles a key. Returns the action that the loop must take, if there is one.
    pub fn press(&mut self, key: Key) -> Option<WatchEffect> {
        self.message = None;
        if key == Key::Quit {
            return Some(WatchEffect::Quit);
        }
        match self.mode {
            WatchMode::List => self.press_in_list(key),
            WatchMode::Filter => {
                self.press_in_filter(key);
                None
            }
            WatchMode::Reply { .. } => self.press_in_reply(key),
            WatchMode::Help => {
                self.mode = WatchMode::List;
                None
            }
        }
    }

    /// Inserts pasted text. Its line breaks send nothing.
    pub fn paste(&mut self, text: &str) {
        self.message = None;
        match &mut self.mode {
            WatchMode::Reply { text: reply, .. } => reply.insert(text),
            WatchMode::Filter => {
                let line = text.lines().next().unwrap_or_default();
                line.chars().for_each(|character| self.filter.push(character));
                self.arrange();
            }
            WatchMode::List | WatchMode::Help => {}
        }
    }

    fn press_in_list(&mut self, key: Key) -> Option<WatchEffect> {
        match key {
            Key::Down | Key::Character('j') => self.step(1),
            Key::Up | Key::Character('k') => self.step(-1),
            Key::Home | Key::Character('g') => self.choose_row(0),
            Key::End | Key::Character('G') => self.choose_row(usize::MAX),
            Key::PageDown | Key::Character(' ') => self.scroll = self.scroll.saturating_add(PAGE),
            Key::PageUp => self.scroll = self.scroll.saturating_sub(PAGE),
            Key::Character('/') => self.mode = WatchMode::Filter,
            Key::Character('a') => {
                self.shown = match self.shown {
                    SessionFilter::Live => SessionFilter::All,
                    SessionFilter::All => SessionFilter::Live,
                };
                self.arrange();
            }
            Key::Character('?') => self.mode = WatchMode::Help,
            Key::Character('q') => return Some(WatchEffect::Quit),
            Key::Escape => {
                self.filter = Filter::default();
                self.arrange();
            }
            Key::Character('r') => self.begin_reply(),
            Key::Enter | Key::Character('f') => return self.chosen.clone().map(WatchEffect::Focus),
            Key::Character('y') => {
                let Some(command) = ResumeCommand::of(self.chosen()?) else {
                    self.say("it cannot be resumed: its id is no UUID".to_owned());
                    return None;
                };
                let command = command.line();
                self.say(format!("copied: {command}"));
                return Some(WatchEffect::Copy(command));
            }
            _ => {}
        }
        None
    }

    fn press_in_filter(&mut self, key: Key) {
        match key {
            Key::Character(character) => self.filter.push(character),
            Key::Backspace => self.filter.pop(),
            Key::Enter => self.mode = WatchMode::List,
            Key::Escape => {
                self.filter = Filter::default();
                self.mode = WatchMode::List;
            }
            Key::Down => self.step(1),
            Key::Up => self.step(-1),
            _ => {}
        }
        self.arrange();
    }

    fn begin_reply(&mut self) {
        let Some(key) = self.chosen.clone() else { return };
        if !is_uuid(key.id.as_str()) {
            self.say("this session has no id by which it could be resumed");
            return;
        }
        self.mode = WatchMode::Reply { to: key, text: TextBox::default() };
    }

    fn press_in_reply(&mut self, key: Key) -> Option<WatchEffect> {
        let WatchMode::Reply { to, text } = &mut self.mode else { return None };
        match key {
            Key::Escape => {
                self.mode = WatchMode::List;
                None
            }
            Key::Enter if text.as_str().trim().is_empty() => {
                self.mode = WatchMode::List;
                self.say("nothing was sent");
                None
            }
            Key::Enter if is_refused(to.agent, text.as_str()) => {
                self.say(
                    "this command would end or empty the session; it cannot be sent from here",
                );
                None
            }
            Key::Enter => {
                let effect = WatchEffect::Reply { to: to.clone(), text: text.as_str().to_owned() };
                self.mode = WatchMode::List;
                Some(effect)
            }
            key => {
                text.press(key);
                None
            }
        }
    }

    fn step(&mut self, rows: isize) {
        let row = self.chosen_row().unwrap_or(0);
        self.choose_row(row.saturating_add_signed(rows));
    }

    fn choose_row(&mut self, row: usize) {
        let row = row.min(self.visible.len().saturating_sub(1));
        let key = self.visible.get(row).cloned();
        if key != self.chosen {
            self.scroll = 0;
        }
        self.chosen = key;
    }

    /// Computes the visible sessions and their order.
    fn arrange(&mut self) {
        let row = self.chosen_row().unwrap_or(0);
        let is_shown = |session: &Session| {
            (self.shown == SessionFilter::All || session.state() != State::Stopped)
                && self.filter.matches(session)
        };
        let mut visible: Vec<_> =
            self.sessions.iter().filter(|(_, session)| is_shown(session)).collect();
        visible.sort_by_key(|(key, session)| (urgency(session), *key));
        self.visible = visible.into_iter().map(|(key, _)| key.clone()).collect();
        if self.chosen_row().is_none() {
            self.choose_row(row);
        }
    }

    pub fn visible(&self) -> impl ExactSizeIterator<Item = &Session> {
        // Every visible key is in the map, because `arrange` takes the keys from it.
        self.visible.iter().map(|key| &self.sessions[key])
    }

    pub fn chosen_row(&self) -> Option<usize> {
        let chosen = self.chosen.as_ref()?;
        self.visible.iter().position(|key| key == chosen)
    }

    pub fn chosen_key(&self) -> Option<&SessionKey> {
        self.chosen.as_ref()
    }

    pub fn chosen(&self) -> Option<&Session> {
        self.session(self.chosen.as_ref()?)
    }

    pub fn session(&self, key: &SessionKey) -> Option<&Session> {
        self.sessions.get(key)
    }

    /// Returns the last turns of the selected session, oldest first.
    pub fn turns(&self) -> &[TurnRecord] {
        match &self.turns {
            Some((of, turns)) if Some(of) == self.chosen.as_ref() => turns,
            _ => &[],
        }
    }

    pub fn counts(&self) -> SessionCounts {
        let mut counts = SessionCounts::default();
        for session in self.sessions.values() {
            let count = match session.state() {
                State::WaitingUser => &mut counts.waiting,
                State::Working => &mut counts.working,
                State::Completed => &mut counts.completed,
                State::Stopped => &mut counts.stopped,
            };
            *count += 1;
        }
        counts
    }

    pub fn shown(&self) -> SessionFilter {
        self.shown
    }

    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    pub fn mode(&self) -> &WatchMode {
        &self.mode
    }

    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    pub fn scroll(&self) -> usize {
        self.scroll
    }
}

/// Returns the sort key: waiting sessions first, the longest-waiting on top; then the others, the
/// last changed first.
fn urgency(session: &Session) -> (u8, i64) {
    let since = session.since().as_micros();
    match session.state() {
        State::WaitingUser => (0, since),
        State::Working => (1, since.saturating_neg()),
        State::Completed => (2, since.saturating_neg()),
        State::Stopped => (3, since.saturating_neg()),
    }
}

/// Returns whether a blinking dot is on.
pub fn is_lit(now: Timestamp) -> bool {
    let half = i64::try_from(BLINK.as_micros()).unwrap_or(i64::MAX);
    now.as_micros().div_euclid(half).rem_euclid(2) == 0
}

/// Returns how long a shown age stays the same.
pub fn age_holds(since: Timestamp, now: Timestamp) -> Duration {
    let age = now.since(since);
    let unit = match age.as_secs() {
        0..60 => 1,
        60..3_600 => 60,
        3_600..86_400 => 3_600,
        _ => 86_400,
    };
    let next = (age.as_secs() / unit + 1) * unit;
    Duration::from_secs(next).saturating_sub(age)
}

#[cfg(test)]
mod tests;
