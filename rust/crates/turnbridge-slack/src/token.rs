//! Defines the type of Slack tokens. It always prints as `***`, so that a token cannot reach a log
//! by accident.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// `xoxb-`: posts messages.
    Bot,
    /// `xapp-`: opens a Socket Mode connection.
    App,
}

impl TokenKind {
    pub const fn prefix(self) -> &'static str {
        match self {
            TokenKind::Bot => "xoxb-",
            TokenKind::App => "xapp-",
        }
    }
}

/// A token that always prints as `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Returns `None` if the text is a token of another kind, or no token (SLV-16).
    pub fn parse(kind: TokenKind, text: &str) -> Option<Token> {
        let rest = text.strip_prefix(kind.prefix())?;
        let is_plain = rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        (!rest.is_empty() && is_plain).then(|| Token(text.to_owned()))
    }

    /// Returns the token itself, for the one header that contains it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_never_printed_slv_16() {
        let token = Token::parse(TokenKind::Bot, "xoxb-12-ab").unwrap();
        assert_eq!(format!("{token} {token:?} {:?}", Some(&token)), "*** *** Some(***)");
        assert_eq!(token.expose(), "xoxb-12-ab");
        for text in ["xapp-1", "xoxb-", "xoxb-a b", "", "xoxb-a\r\nX: y"] {
            assert_eq!(Token::parse(TokenKind::Bot, text), None, "{text:?}");
        }
    }
}
