//! What is printed. All of stdout and stderr goes through here (clippy.toml forbids the rest), so
//! that no text of people, models, projects or other programs acts on the terminal.

use std::io::{self, BufWriter, IsTerminal, StderrLock, StdoutLock, Write};

use turnbridge_core::text::token_mask::without_tokens;
use turnbridge_core::text::visible_text::visible;

/// For texts and for JSON: what a terminal must not get is shown as an escape, which JSON has, too.
pub fn stdout() -> Screen<StdoutLock<'static>> {
    Screen(raw_stdout())
}

/// For many lines. Whoever has written them flushes.
pub fn buffered_stdout() -> Screen<BufWriter<StdoutLock<'static>>> {
    Screen(BufWriter::new(raw_stdout()))
}

/// As it stands: for our own scripts and pages, for tables with colours whose cells have been made
/// visible before, and for programs that speak a protocol.
#[expect(clippy::disallowed_methods, reason = "the one place")]
pub fn raw_stdout() -> StdoutLock<'static> {
    io::stdout().lock()
}

#[expect(clippy::disallowed_methods, reason = "nothing is written")]
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// A line of ours on stderr, such as `error: …`. What follows its first line is indented, so that
/// a text of somebody else's cannot look like another line of ours.
pub fn tell(name: &str, text: &str) {
    // Whoever has closed it does not want to know.
    let _ = writeln!(stderr(), "{name}: {}", without_tokens(text).replace('\n', "\n  "));
}

/// As `stdout`.
#[expect(clippy::disallowed_methods, reason = "the one place")]
pub fn stderr() -> Screen<StderrLock<'static>> {
    Screen(io::stderr().lock())
}

/// Takes whole characters with each write, as `write!` does.
pub struct Screen<W>(W);

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(visible(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
