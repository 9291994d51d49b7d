//! Defines the file formats of `board.json`, with the address and the token of the running daemon's
//! board, and of `board-code`, with the code of a sign-in (`sign_in`). Only the daemon's lock, and
//! neither file, shows whether the daemon runs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The contents of `board.json`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardFile {
    pub version: u32,
    pub pid: u32,
    pub port: u16,
    pub token: String,
    /// Another program listens at `[::1]` with this port, where a browser may look for `localhost`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_ipv6_taken: bool,
}

/// The contents of `board-code`: the one valid code, and the number of wrong ones since it was
/// made.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeFile {
    pub version: u32,
    pub code: String,
    pub wrong: u32,
}

impl BoardFile {
    /// Returns the address with the token in the fragment, which browsers do not send: no server,
    /// log or referrer contains it.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/#{}", self.port, self.token)
    }

    /// Returns the address without any secret: a browser may be started with it.
    pub fn plain_url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }
}

impl fmt::Debug for BoardFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoardFile")
            .field("pid", &self.pid)
            .field("port", &self.port)
            .field("token", &"***")
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_in_the_fragment_and_in_no_debug_output() {
        let file = BoardFile {
            version: 1,
            pid: 7,
            port: 4_000,
            token: "secret".into(),
            is_ipv6_taken: false,
        };
        assert_eq!(file.url(), "http://127.0.0.1:4000/#secret");
        assert_eq!(file.plain_url(), "http://127.0.0.1:4000/");
        let text = serde_json::to_string(&file).unwrap();
        insta::assert_snapshot!(text, @r#"{"version":1,"pid":7,"port":4000,"token":"secret"}"#);
        insta::assert_snapshot!(format!("{file:?}"), @r#"BoardFile { pid: 7, port: 4000, token: "***" }"#);
    }
}
