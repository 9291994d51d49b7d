//! Reads a line without echo on Unix. Signals from keys are off too: Ctrl-C is a byte here, so that
//! the terminal is restored before Ctrl-C takes effect.

use std::io::{self, BufRead};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

const INTERRUPT: u8 = 0x03;
const END: u8 = 0x04;
const ERASE: [u8; 2] = [0x08, 0x7f];
const KILL_LINE: u8 = 0x15;

/// The terminal's former settings.
struct EchoGuard(Termios);

impl Drop for EchoGuard {
    fn drop(&mut self) {
        // An error cannot be reported here.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

pub fn read() -> io::Result<String> {
    let before = tcgetattr(io::stdin())?;
    let mut hidden = before.clone();
    hidden.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
    let _shown = EchoGuard(before);
    tcsetattr(io::stdin(), OptionalActions::Now, &hidden)?;
    line_of(io::stdin().lock())
}

fn line_of(input: impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    for byte in input.bytes() {
        match byte? {
            b'\r' | b'\n' => return Ok(String::from_utf8_lossy(&line).into_owned()),
            INTERRUPT => return Err(io::ErrorKind::Interrupted.into()),
            END => break,
            KILL_LINE => line.clear(),
            byte if ERASE.contains(&byte) => drop(line.pop()),
            byte => line.push(byte),
        }
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_edit_and_end_a_line_do_so() {
        let read = |typed: &str| line_of(typed.as_bytes()).map_err(|error| error.kind());
        assert_eq!(read("xoxb-1\rrest"), Ok("xoxb-1".to_owned()));
        assert_eq!(read("ab\u{7f}c\u{15}d\u{8}e\n"), Ok("e".to_owned()));
        assert_eq!(read("xoxb\u{3}"), Err(io::ErrorKind::Interrupted));
        for typed in ["", "xoxb", "xoxb\u{4}\n"] {
            assert_eq!(read(typed), Err(io::ErrorKind::UnexpectedEof), "{typed:?}");
        }
    }
}
