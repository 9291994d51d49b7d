//! Defines the identifiers that become parts of file names or arguments: agents, sessions and
//! channels. A parsed value is safe as a path component and never looks like an option. Only
//! `NamedSession` may also hold unchecked text, for display.

use std::borrow::Cow;
use std::fmt;

/// The agent program that a session belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Agent {
    Claude,
    Codex,
}

impl Agent {
    pub const ALL: [Agent; 2] = [Agent::Claude, Agent::Codex];

    pub const fn as_str(self) -> &'static str {
        match self {
            Agent::Claude => "claude",
            Agent::Codex => "codex",
        }
    }

    pub fn parse(text: &str) -> Option<Agent> {
        Agent::ALL.into_iter().find(|agent| agent.as_str() == text)
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A session's id from the agent (a UUID in every version seen so far).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(String);

impl SessionId {
    /// Parses an id. Returns `None` if it is not safe in a file name.
    pub fn parse(text: &str) -> Option<SessionId> {
        is_safe_component(text).then(|| SessionId(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The key of a session: two agents may use the same id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey {
    pub agent: Agent,
    pub id: SessionId,
}

impl SessionKey {
    pub const fn new(agent: Agent, id: SessionId) -> SessionKey {
        SessionKey { agent, id }
    }

    /// Parses the text that `Display` writes. Returns `None` if the agent is not known or the id is
    /// not safe.
    pub fn parse(text: &str) -> Option<SessionKey> {
        let (agent, id) = text.split_once('-')?;
        SessionKey::of(agent, id)
    }

    /// Returns the key, or `None` if the agent is not known or the id is not safe.
    pub fn of(agent: &str, id: &str) -> Option<SessionKey> {
        Some(SessionKey { agent: Agent::parse(agent)?, id: SessionId::parse(id)? })
    }
}

/// Writes `claude-825c8529-…`, the prefix of the names of the session's files.
impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.agent, self.id)
    }
}

/// The name of a channel, such as `slack`, by which users receive notices and reply. It becomes a
/// part of file names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelName(Cow<'static, str>);

impl ChannelName {
    pub const SLACK: ChannelName = ChannelName(Cow::Borrowed("slack"));
    /// The channels of this version. A file that names another one belongs to a later version.
    pub const KNOWN: [ChannelName; 1] = [ChannelName::SLACK];

    /// Parses a name: a lower-case letter and at most 31 more such letters and digits. Returns
    /// `None` for others: a dot or a dash could look like the end of an id.
    pub fn parse(text: &str) -> Option<ChannelName> {
        let is_rest = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_name = text.len() <= 32
            && text.starts_with(|first: char| first.is_ascii_lowercase())
            && text.bytes().all(is_rest);
        is_name.then(|| ChannelName(Cow::Owned(text.to_owned())))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ChannelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The session that a state file names. A file from another version, or edited by hand, may name an
/// unusable one, which is still shown and passed on unchanged.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum NamedSession {
    Known(SessionKey),
    /// The agent is not known, the id is not safe, or both are empty.
    Unknown {
        agent: String,
        id: String,
    },
}

impl NamedSession {
    /// Returns the session with these words, `Unknown` if they are not usable.
    pub fn of(agent: &str, id: &str) -> NamedSession {
        let unknown = || NamedSession::Unknown { agent: agent.to_owned(), id: id.to_owned() };
        SessionKey::of(agent, id).map_or_else(unknown, NamedSession::Known)
    }

    /// Returns the value for no session: both words are empty.
    pub fn nobody() -> NamedSession {
        NamedSession::of("", "")
    }

    /// Returns the session of a known agent. With an empty id it names the agent alone.
    pub fn of_agent(agent: Agent, id: &str) -> NamedSession {
        NamedSession::of(agent.as_str(), id)
    }

    /// Returns the session's key, or `None` if the words are not usable.
    pub const fn key(&self) -> Option<&SessionKey> {
        match self {
            NamedSession::Known(key) => Some(key),
            NamedSession::Unknown { .. } => None,
        }
    }

    /// Returns the session if its id may become an argument: both agents name their sessions by
    /// UUIDs, and take any other text for a name or a prompt (SLV-48).
    pub fn resumable(&self) -> Option<&SessionKey> {
        self.key().filter(|key| is_uuid(key.id.as_str()))
    }

    /// Returns the agent, also if it is named without a session.
    pub fn agent(&self) -> Option<Agent> {
        Agent::parse(self.agent_text())
    }

    /// Returns the agent as written and shown; empty if no agent is named.
    pub fn agent_text(&self) -> &str {
        match self {
            NamedSession::Known(key) => key.agent.as_str(),
            NamedSession::Unknown { agent, .. } => agent,
        }
    }

    /// Returns the id as written and shown; empty if no id is named.
    pub fn id_text(&self) -> &str {
        match self {
            NamedSession::Known(key) => key.id.as_str(),
            NamedSession::Unknown { id, .. } => id,
        }
    }

    /// Returns the agent's and the id's words, each `None` if it is empty.
    pub fn words(&self) -> [Option<&str>; 2] {
        [self.agent_text(), self.id_text()].map(|word| Some(word).filter(|word| !word.is_empty()))
    }
}

impl From<SessionKey> for NamedSession {
    fn from(key: SessionKey) -> NamedSession {
        NamedSession::Known(key)
    }
}

/// Returns whether the text is at most 128 letters, digits, `-`, `_` and inner dots, beginning with
/// a letter or digit: no separator, no `..`, no leading dash, no device name with a colon.
pub fn is_safe_component(text: &str) -> bool {
    text.len() <= 128
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && !text.ends_with('.')
        && !text.contains("..")
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// Returns whether it is a UUID, as Codex's ids of threads and turns are. Codex takes any other
/// text for a name or a prompt.
pub fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_could_leave_their_folder_or_look_like_options_are_refused() {
        for good in ["825c8529-ee09-4cb8-8902-dd785b12ca0a", "a", "a.b_c-1"] {
            assert!(SessionId::parse(good).is_some(), "{good}");
        }
        let long = "a".repeat(129);
        for bad in [
            "", ".", "..", "a/b", "a\\b", "../x", "-rf", ".x", "a..b", "x.", "a b", "a\0", "日本",
            &long,
        ] {
            assert!(SessionId::parse(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn what_names_no_session_keeps_its_words_and_leads_nowhere() {
        let id = "825c8529-ee09-4cb8-8902-dd785b12ca0a";
        for (agent, id, is_known, is_resumable) in [
            ("claude", id, true, true),
            ("codex", "s", true, false),
            ("codex", "", false, false),
            ("claude", "../x", false, false),
            ("gemini", id, false, false),
            ("", "", false, false),
        ] {
            let named = NamedSession::of(agent, id);
            assert_eq!((named.agent_text(), named.id_text()), (agent, id));
            let known = (named.key().is_some(), named.resumable().is_some());
            assert_eq!(known, (is_known, is_resumable), "{named:?}");
            assert_eq!(named.agent(), Agent::parse(agent));
        }
    }

    #[test]
    fn only_a_uuid_is_one() {
        assert!(is_uuid("01a1e18e-2062-79f1-b187-979e8f997b9c"));
        for bad in [
            "",
            "..",
            "last",
            "01a1e18e-2062-79f1-b187-979e8f997b9",
            "01a1e18e/2062/79f1/b187/979e8f997b9c",
        ] {
            assert!(!is_uuid(bad), "{bad}");
        }
    }
}
