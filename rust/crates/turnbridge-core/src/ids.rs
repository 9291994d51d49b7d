//! Identifiers that become file names and arguments, checked once, here.
//! A value of these types is safe as a path component and never looks like an option.

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

/// A session's id as the agent gives it (a UUID in every version seen so far).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(String);

impl SessionId {
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

/// Letters, digits, `-`, `_` and inner dots, at most 128, beginning with a letter or digit:
/// no separator, no `..`, no leading dash, no device name with a colon.
pub fn is_safe_component(text: &str) -> bool {
    text.len() <= 128
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && !text.ends_with('.')
        && !text.contains("..")
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// As Codex names its threads and turns. It takes anything else for a name or a prompt.
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
