//! Switches the terminal to drawing, and restores it: at the end, on an error, on a signal (which
//! ends the loop), and on a panic, which aborts without destructors.
#![expect(clippy::disallowed_methods, reason = "ratatui draws; `view::put` makes texts visible")]

use std::io::{self, IsTerminal, Stdout, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;

use crate::failure::hinted;

/// Whether the terminal must be restored.
static IS_OURS: AtomicBool = AtomicBool::new(false);

pub struct WatchScreen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl WatchScreen {
    pub fn open() -> Result<WatchScreen> {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if is_dumb || !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Err(hinted(
                "this is no terminal to draw on",
                "`turnbridge sessions` prints a table, `turnbridge watch --json` every change",
            ));
        }
        restore_on_panic();
        IS_OURS.store(true, Ordering::SeqCst);
        let opened = enable_raw_mode()
            .and_then(|()| execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste))
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        match opened {
            Ok(terminal) => Ok(WatchScreen { terminal }),
            Err(error) => {
                restore();
                Err(error).context("could not take over the terminal")
            }
        }
    }

    pub fn terminal(&mut self) -> &mut Terminal<CrosstermBackend<Stdout>> {
        &mut self.terminal
    }

    /// Makes the next draw complete. A terminal that was small for a moment has lost the rest, and
    /// may have its old size again. (`Terminal::clear` would query the cursor's position, and the
    /// response would come among the keys.)
    pub fn forget(&mut self) -> io::Result<()> {
        let size = self.terminal.size()?;
        self.terminal.resize(Rect::new(0, 0, size.width, size.height))
    }

    /// Copies the text to the clipboard by OSC 52, also through ssh. Terminals without support
    /// ignore it silently.
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        write!(out, "\u{1b}]52;c;{}\u{7}", base64(text.as_bytes()))?;
        out.flush()
    }
}

impl Drop for WatchScreen {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal, once: a second exit from the alternate screen would put the cursor over a
/// panic's message. Errors are ignored, because they cannot be reported.
fn restore() {
    if !IS_OURS.swap(false, Ordering::SeqCst) {
        return;
    }
    let _ = execute!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
    let _ = disable_raw_mode();
}

fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            before(panic);
        }));
    });
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for index in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * index) & 63) as usize];
            text.push(if index <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_padded() {
        for (text, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
            ("日本", "5pel5pys"),
        ] {
            assert_eq!(base64(text.as_bytes()), expected);
        }
    }
}
