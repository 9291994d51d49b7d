//! Provides stdout and stderr. They show control characters as escapes, so that a text of users,
//! models, projects or other programs cannot control the terminal. `raw_stdout` does not escape.
//!
//! clippy.toml forbids other ways to write. `turnbridge watch` is excepted, which draws with
//! ratatui; clap prints its own help and errors.

use std::io::{self, BufWriter, IsTerminal, StderrLock, StdoutLock, Write};

use turnbridge_core::text::token_mask::without_tokens;
use turnbridge_core::text::visible_text::visible;

/// Returns stdout for texts and JSON. It writes characters that would control the terminal as
/// escapes, which JSON has too.
pub fn stdout() -> EscapingWriter<StdoutLock<'static>> {
    EscapingWriter(raw_stdout())
}

/// Returns a buffered stdout for many lines. The caller must flush it.
pub fn buffered_stdout() -> EscapingWriter<BufWriter<StdoutLock<'static>>> {
    EscapingWriter(BufWriter::new(raw_stdout()))
}

/// Returns stdout without escaping: for Turnbridge's scripts and pages, for tables with colours
/// whose cells were escaped before, and for protocols.
#[expect(clippy::disallowed_methods, reason = "the one place")]
pub fn raw_stdout() -> StdoutLock<'static> {
    io::stdout().lock()
}

#[expect(clippy::disallowed_methods, reason = "nothing is written")]
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Prints a line to stderr, such as `error: …`. It indents all further lines, so that foreign text
/// cannot look like another such line.
pub fn tell(name: &str, text: &str) {
    // An error is ignored: the reader has closed stderr.
    let _ = writeln!(stderr(), "{name}: {}", without_tokens(text).replace('\n', "\n  "));
}

/// Returns stderr, escaped like `stdout`.
#[expect(clippy::disallowed_methods, reason = "the one place")]
pub fn stderr() -> EscapingWriter<StderrLock<'static>> {
    EscapingWriter(io::stderr().lock())
}

/// An escaping writer. Each write must contain whole characters, like those of `write!`.
pub struct EscapingWriter<W>(W);

impl<W: Write> Write for EscapingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(visible(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
