//! Defines the error of a failed call. Its variants answer the question that decides about a retry:
//! can Slack have acted on the call? Posting is not idempotent, and a blind retry posts twice. The
//! error contains no message text and no token.

use std::fmt;
use std::time::Duration;

use crate::error_codes;
use crate::token::Token;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallError {
    /// An argument is invalid; nothing was sent.
    Invalid { what: &'static str },
    /// No data reached Slack: a retry is safe.
    NotSent { cause: ConnectObstacle },
    /// Slack did nothing, and sent the time after which to retry.
    RateLimited { after: Duration },
    /// Slack may have acted or not: check before a retry.
    Ambiguous { cause: String },
    /// Slack refused the call.
    Refused {
        error: String,
        /// With `missing_scope`: the scopes that the method wants, and those that the token has.
        needed: Option<String>,
        provided: Option<String>,
        /// The messages of Slack's validator, for a log of problems; not for users.
        messages: Vec<String>,
    },
}

/// The obstacle that kept a request from Slack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectObstacle {
    HostNotFound,
    Certificate(String),
    Proxy(String),
    Connection(String),
}

impl CallError {
    /// Returns whether the same call will fail again until the user changes something.
    pub fn is_permanent(&self) -> bool {
        match self {
            CallError::Invalid { .. } => true,
            CallError::Refused { error, .. } => error_codes::is_permanent(error),
            CallError::NotSent { .. }
            | CallError::RateLimited { .. }
            | CallError::Ambiguous { .. } => false,
        }
    }

    /// Returns whether Slack may accept the same message without its blocks.
    pub fn is_about_blocks(&self) -> bool {
        match self {
            CallError::Refused { error, messages, .. } => {
                error_codes::is_about_blocks(error)
                    || (error == "invalid_arguments"
                        && messages.iter().any(|message| message.contains("/blocks")))
            }
            _ => false,
        }
    }

    /// Returns one remedy for the user.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            CallError::Refused { error, needed, .. } => error_codes::hint(error, needed.as_deref()),
            CallError::NotSent { cause: ConnectObstacle::HostNotFound } => {
                Some("check the network connection, and `HTTPS_PROXY` if there is a proxy")
            }
            CallError::NotSent { cause: ConnectObstacle::Certificate(_) } => Some(
                "if your company inspects TLS, add its certificate to the system's, or name it in `SSL_CERT_FILE`",
            ),
            CallError::NotSent { cause: ConnectObstacle::Proxy(_) } => {
                Some("check `ALL_PROXY`, `HTTPS_PROXY` and `NO_PROXY`")
            }
            _ => None,
        }
    }

    /// Replaces the token in texts that a server or a proxy sent back.
    pub(crate) fn without(self, token: &Token) -> CallError {
        let clean = |text: String| text.replace(token.expose(), "***");
        match self {
            CallError::NotSent { cause } => CallError::NotSent {
                cause: match cause {
                    ConnectObstacle::HostNotFound => ConnectObstacle::HostNotFound,
                    ConnectObstacle::Certificate(text) => ConnectObstacle::Certificate(clean(text)),
                    ConnectObstacle::Proxy(text) => ConnectObstacle::Proxy(clean(text)),
                    ConnectObstacle::Connection(text) => ConnectObstacle::Connection(clean(text)),
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

impl fmt::Display for ConnectObstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConnectObstacle::HostNotFound => f.write_str("its name was not found"),
            ConnectObstacle::Certificate(cause) => {
                write!(f, "its certificate is not trusted: {cause}")
            }
            ConnectObstacle::Proxy(cause) => write!(f, "the proxy is in the way: {cause}"),
            ConnectObstacle::Connection(cause) => f.write_str(cause),
        }
    }
}

impl std::error::Error for CallError {}
