//! `board.json`: where the running daemon serves its board, and the token that opens it. Readable by
//! its user alone; whether the daemon runs is told by its lock.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardFile {
    pub version: u32,
    pub pid: u32,
    pub port: u16,
    pub token: String,
}

impl BoardFile {
    /// The token stands in the fragment, which browsers keep to themselves: no server, log or
    /// referrer sees it.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/#{}", self.port, self.token)
    }

    /// For a browser that others may see being started.
    pub fn url_with_ticket(&self, ticket: &str) -> String {
        format!("http://127.0.0.1:{}/#ticket={ticket}", self.port)
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
        let file = BoardFile { version: 1, pid: 7, port: 4_000, token: "secret".into() };
        assert_eq!(file.url(), "http://127.0.0.1:4000/#secret");
        insta::assert_snapshot!(format!("{file:?}"), @r#"BoardFile { pid: 7, port: 4000, token: "***" }"#);
    }
}
