//! Asks and informs the user during the set-up, in one language. Without a terminal, or with
//! `--yes`, a yes-or-no question takes its default. Any other question then fails immediately, and
//! its error names the flag to use instead.

use std::cell::RefCell;
use std::io::{self, BufRead, IsTerminal, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::Result;
use turnbridge_core::system::setup_texts::SetupText;
use turnbridge_core::text::texts::Language;

use super::secret_line;
use crate::failure::hinted;
use crate::output;

/// The language of the set-up, and the reader of answers.
pub struct Dialogue {
    pub language: Language,
    /// Whether there is a user to ask.
    pub is_interactive: bool,
    lines: RefCell<Option<LineReader>>,
}

/// A thread that reads a line on request, so that a question can stay open while something else is
/// awaited.
struct LineReader {
    wanted: Sender<()>,
    read: Receiver<io::Result<String>>,
    /// A line is being read.
    is_open: bool,
}

impl Dialogue {
    /// Creates the dialogue. `asks` is false if the user wants no questions.
    pub fn new(language: Language, asks: bool) -> Dialogue {
        let is_interactive = asks && io::stdin().is_terminal() && output::is_terminal();
        Dialogue { language, is_interactive, lines: RefCell::new(None) }
    }

    pub fn text(&self, text: SetupText, values: &[&str]) -> String {
        text.filled(self.language, values)
    }

    pub fn say(&self, text: SetupText, values: &[&str]) -> Result<()> {
        self.print(&self.text(text, values))
    }

    /// Prints each line indented below its heading.
    pub fn print(&self, text: &str) -> Result<()> {
        let mut out = output::stdout();
        for line in text.lines() {
            writeln!(out, "{}{line}", if line.is_empty() { "" } else { "  " })?;
        }
        Ok(())
    }

    pub fn heading(&self, text: &str) -> Result<()> {
        Ok(writeln!(output::stdout(), "\n{text}")?)
    }

    /// Prints an error and its hint before the question is repeated.
    pub fn warn(&self, trouble: &anyhow::Error) -> Result<()> {
        self.print(&format!("! {trouble:#}"))?;
        match trouble.downcast_ref::<crate::failure::Hinted>() {
            Some(hinted) => self.print(&format!("  {}", hinted.hint)),
            None => Ok(()),
        }
    }

    /// Returns an error with a hint, in the dialogue's language.
    pub fn trouble(&self, what: (SetupText, &[&str]), hint: (SetupText, &[&str])) -> anyhow::Error {
        hinted(self.text(what.0, what.1), self.text(hint.0, hint.1))
    }

    /// Asks yes or no. Enter means `default`, which is also the result without questions.
    pub fn ask_yes(&self, question: &str, default: bool) -> Result<bool> {
        if !self.is_interactive {
            return Ok(default);
        }
        loop {
            let choices = if default { "[Y/n]" } else { "[y/N]" };
            let answer = self.ask(&format!("{question} {choices} "))?;
            match answer.to_lowercase().as_str() {
                "" => return Ok(default),
                "y" | "yes" | "はい" | "ｙ" => return Ok(true),
                "n" | "no" | "いいえ" | "ｎ" => return Ok(false),
                _ => {}
            }
        }
    }

    /// Asks for a line of text, which may be empty.
    pub fn ask_line(&self, question: &str, flag: &str) -> Result<String> {
        if !self.is_interactive {
            return Err(self.nobody_to_ask(question, flag));
        }
        self.ask(question)
    }

    /// Asks for a line without echo.
    pub fn ask_secret(&self, question: &str, flag: &str) -> Result<String> {
        if !self.is_interactive {
            return Err(self.nobody_to_ask(question, flag));
        }
        self.prompt(question)?;
        let line = secret_line::read();
        writeln!(output::stdout())?;
        match line {
            Ok(line) => Ok(line.trim().to_owned()),
            Err(error) => Err(self.unanswered(error)),
        }
    }

    /// Waits for Enter or for the timeout. Returns whether it was Enter.
    pub fn enter_within(&self, timeout: Duration) -> Result<bool> {
        if !self.is_interactive {
            std::thread::sleep(timeout);
            return Ok(false);
        }
        let mut lines = self.lines.borrow_mut();
        let lines = lines.get_or_insert_with(LineReader::start);
        lines.open();
        match lines.read.recv_timeout(timeout) {
            Ok(line) => {
                lines.is_open = false;
                line.map(|_| true).map_err(|error| self.unanswered(error))
            }
            Err(RecvTimeoutError::Timeout) => Ok(false),
            Err(RecvTimeoutError::Disconnected) => Ok(true),
        }
    }

    fn nobody_to_ask(&self, question: &str, flag: &str) -> anyhow::Error {
        let question = question.trim().trim_end_matches([':', '：']);
        self.trouble((SetupText::NoTerminal, &[question]), (SetupText::FlagAnswers, &[flag]))
    }

    fn unanswered(&self, error: io::Error) -> anyhow::Error {
        match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::Interrupted => {
                self.trouble((SetupText::Interrupted, &[]), (SetupText::InterruptedHint, &[]))
            }
            _ => error.into(),
        }
    }

    fn ask(&self, question: &str) -> Result<String> {
        self.prompt(question)?;
        let mut lines = self.lines.borrow_mut();
        let lines = lines.get_or_insert_with(LineReader::start);
        lines.open();
        let line = lines.read.recv().unwrap_or(Err(io::ErrorKind::UnexpectedEof.into()));
        lines.is_open = false;
        line.map(|line| line.trim().to_owned()).map_err(|error| self.unanswered(error))
    }

    fn prompt(&self, question: &str) -> Result<()> {
        let mut out = output::stdout();
        write!(out, "  {question}")?;
        Ok(out.flush()?)
    }
}

impl LineReader {
    fn start() -> LineReader {
        let (wanted, wishes) = channel::<()>();
        let (sender, read) = channel();
        std::thread::spawn(move || {
            while wishes.recv().is_ok() {
                let mut line = String::new();
                let line = match io::stdin().lock().read_line(&mut line) {
                    Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
                    Ok(_) => Ok(line),
                    Err(error) => Err(error),
                };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        LineReader { wanted, read, is_open: false }
    }

    fn open(&mut self) {
        if !self.is_open {
            // Without its thread no line is read, and the receiver gets an error.
            let _ = self.wanted.send(());
            self.is_open = true;
        }
    }
}
