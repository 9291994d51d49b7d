//! Why a call failed, sorted by the one question that matters to who wants to try again: can
//! Slack have acted on it? Posting is not idempotent, and a blind repetition posts twice.
//! No text of ours or of people is in here, and no token.

use std::fmt;
use std::time::Duration;

use crate::refusals;
use crate::token::Token;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallError {
    /// An argument is not what it must be; nothing was sent.
    Invalid { what: &'static str },
    /// Nothing reached Slack: safe to repeat.
    NotSent { cause: Obstacle },
    /// Slack did nothing and says when to ask again.
    RateLimited { after: Duration },
    /// Slack may have done it, or not: look before repeating.
    Ambiguous { cause: String },
    /// Slack says no.
    Refused {
        error: String,
        /// With `missing_scope`: the scopes that the method wants, and those that the token has.
        needed: Option<String>,
        provided: Option<String>,
        /// What Slack's validator says, for a log of problems; not for people.
        messages: Vec<String>,
    },
}

/// What was in the way of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    HostNotFound,
    Certificate(String),
    Proxy(String),
    Connection(String),
}

impl CallError {
    /// Whether the same call will fail again until a person changes something.
    pub fn is_permanent(&self) -> bool {
        match self {
            CallError::Invalid { .. } => true,
            CallError::Refused { error, .. } => refusals::is_permanent(error),
            CallError::NotSent { .. }
            | CallError::RateLimited { .. }
            | CallError::Ambiguous { .. } => false,
        }
    }

    /// Whether the same message without its blocks may be taken.
    pub fn is_about_blocks(&self) -> bool {
        match self {
            CallError::Refused { error, messages, .. } => {
                refusals::is_about_blocks(error)
                    || (error == "invalid_arguments"
                        && messages.iter().any(|message| message.contains("/blocks")))
            }
            _ => false,
        }
    }

    /// One thing to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            CallError::Refused { error, needed, .. } => refusals::hint(error, needed.as_deref()),
            CallError::NotSent { cause: Obstacle::HostNotFound } => {
                Some("check the network connection, and `HTTPS_PROXY` if there is a proxy")
            }
            CallError::NotSent { cause: Obstacle::Certificate(_) } => Some(
                "if your company inspects TLS, add its certificate to the system's, or name it in `SSL_CERT_FILE`",
            ),
            CallError::NotSent { cause: Obstacle::Proxy(_) } => {
                Some("check `ALL_PROXY`, `HTTPS_PROXY` and `NO_PROXY`")
            }
            _ => None,
        }
    }

    /// For whatever a server or a proxy made us repeat.
    pub(crate) fn without(self, token: &Token) -> CallError {
        let clean = |text: String| text.replace(token.expose(), "***");
        match self {
            CallError::NotSent { cause } => CallError::NotSent {
                cause: match cause {
                    Obstacle::HostNotFound => Obstacle::HostNotFound,
                    Obstacle::Certificate(text) => Obstacle::Certificate(clean(text)),
                    Obstacle::Proxy(text) => Obstacle::Proxy(clean(text)),
                    Obstacle::Connection(text) => Obstacle::Connection(clean(text)),
                },
            },
            CallError::Ambiguous { cause } => CallError::Ambiguous { cause: clean(cause) },
            CallError::Refused { error, needed, provided, messages } => CallError::Refused {
                error: clean(error),
                needed: needed.map(clean),
                provided: provided.map(clean),
                messages: messages.into_iter().map(clean).collect(),
            },
            other @ (CallError::Invalid { .. } | CallError::RateLimited { .. }) => other,
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Invalid { what } => write!(f, "nothing was sent to Slack: {what}"),
            CallError::NotSent { cause } => write!(f, "Slack could not be reached: {cause}"),
            CallError::RateLimited { after } => {
                write!(f, "Slack asks to wait {} s", after.as_secs())
            }
            CallError::Ambiguous { cause } => write!(f, "Slack gave no clear answer: {cause}"),
            CallError::Refused { error, needed: Some(needed), .. } => {
                write!(f, "Slack refused the call (`{error}`: needs `{needed}`)")
            }
            CallError::Refused { error, .. } => write!(f, "Slack refused the call (`{error}`)"),
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::HostNotFound => f.write_str("its name was not found"),
            Obstacle::Certificate(cause) => write!(f, "its certificate is not trusted: {cause}"),
            Obstacle::Proxy(cause) => write!(f, "the proxy is in the way: {cause}"),
            Obstacle::Connection(cause) => f.write_str(cause),
        }
    }
}

impl std::error::Error for CallError {}
