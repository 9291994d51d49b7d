//! What the daemon looks like to those who keep it running: a property list for launchd, a unit for
//! systemd, a task for Windows. Text only; where it lies and who is told of it is elsewhere.
//!
//! Every value may hold whatever a folder may be called. What a format cannot carry at all is
//! refused: a definition that means something else than was asked for starts another program.

pub mod launchd;
pub mod systemd;
pub mod task_scheduler;
mod xml;

use std::fmt;

/// Names and values, in the order in which they are written.
pub type Environment = Vec<(String, String)>;

/// What is to run, and be started again whenever it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The whole path.
    pub program: String,
    pub arguments: Vec<String>,
    pub environment: Environment,
}

/// A value that the format has no way to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unwritable {
    pub value: String,
    pub why: &'static str,
}

impl fmt::Display for Unwritable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = self.value.chars().map(visible).collect();
        write!(f, "`{shown}` {}", self.why)
    }
}

impl Job {
    /// No format carries control characters, and two of them would take a line break for its own.
    fn check(&self) -> Result<(), Unwritable> {
        let names = self.environment.iter().map(|(name, _)| name);
        let values = self.environment.iter().map(|(_, value)| value);
        for text in self.arguments.iter().chain([&self.program]).chain(names).chain(values) {
            check(text)?;
        }
        Ok(())
    }
}

/// A control character would not be seen, or do what it does.
fn visible(c: char) -> String {
    if c.is_control() { c.escape_default().to_string() } else { c.to_string() }
}

fn check(text: &str) -> Result<(), Unwritable> {
    // The last two are no characters to XML.
    let is_bad = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    refuse_if(text.contains(is_bad), text, "has a control character")
}

fn refuse_if(is_bad: bool, value: &str, why: &'static str) -> Result<(), Unwritable> {
    if is_bad { Err(Unwritable { value: value.to_owned(), why }) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
