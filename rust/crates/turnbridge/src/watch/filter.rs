//! Filters sessions by the words that the user has typed. Each must occur in a session's texts, or
//! begin its id.

use turnbridge_core::session::Session;

use crate::session_views::table::state_words;

/// The typed filter, and its words in lower case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    typed: String,
    words: Vec<String>,
}

impl Filter {
    pub fn push(&mut self, character: char) {
        if !character.is_control() {
            self.typed.push(character);
            self.split();
        }
    }

    pub fn pop(&mut self) {
        self.typed.pop();
        self.split();
    }

    fn split(&mut self) {
        self.words = self.typed.split_whitespace().map(str::to_lowercase).collect();
    }

    pub fn typed(&self) -> &str {
        &self.typed
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub fn matches(&self, session: &Session) -> bool {
        if self.words.is_empty() {
            return true;
        }
        let prompt = session.current_run().and_then(|run| run.turn.prompt.as_ref());
        let places = [
            session.key.agent.as_str(),
            session.project_dir().unwrap_or_default(),
            session.cwd.as_deref().unwrap_or_default(),
            session.state().as_str(),
            session.model.as_deref().unwrap_or_default(),
            &state_words(session),
            prompt.map_or("", |prompt| &prompt.text),
        ]
        .map(str::to_lowercase);
        let is_there = |word: &String| {
            // Ids match only from their start: a short text would match random digits.
            session.key.id.as_str().starts_with(word.as_str())
                || places.iter().any(|place| place.contains(word.as_str()))
        };
        self.words.iter().all(is_there)
    }
}
