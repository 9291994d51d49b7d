//! Writes the daemon's definitions for service managers: a property list for launchd, a unit for
//! systemd, a task for Windows. They are texts; other code writes the file and calls the manager.
//!
//! A value may contain any character of a folder's name. A value that a format cannot represent is
//! refused: a definition with another meaning would start another program.

pub mod launchd;
pub mod systemd;
pub mod task_scheduler;
mod xml;

use std::fmt;

/// Names and values, in the order in which they are written.
pub type EnvironmentVariables = Vec<(String, String)>;

/// The program that the service manager runs, and restarts whenever it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The absolute path.
    pub program: String,
    pub arguments: Vec<String>,
    pub environment: EnvironmentVariables,
}

/// A value that the format cannot represent.
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
    /// Refuses control characters, which no format has; in two of them a line break begins an
    /// entry.
    fn check(&self) -> Result<(), Unwritable> {
        let names = self.environment.iter().map(|(name, _)| name);
        let values = self.environment.iter().map(|(_, value)| value);
        for text in self.arguments.iter().chain([&self.program]).chain(names).chain(values) {
            check(text)?;
        }
        Ok(())
    }
}

/// Escapes a control character, which would be invisible, or have its effect.
fn visible(c: char) -> String {
    if c.is_control() { c.escape_default().to_string() } else { c.to_string() }
}

fn check(text: &str) -> Result<(), Unwritable> {
    // The last two are no characters in XML.
    let is_bad = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    refuse_if(text.contains(is_bad), text, "has a control character")
}

fn refuse_if(is_bad: bool, value: &str, why: &'static str) -> Result<(), Unwritable> {
    if is_bad { Err(Unwritable { value: value.to_owned(), why }) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
