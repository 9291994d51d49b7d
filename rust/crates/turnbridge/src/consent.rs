//! Shows a planned change of a file, asks the user for consent, and makes the change.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;

use anyhow::Result;
use clap::Args;
use turnbridge_core::system::setup_texts::SetupText;
use turnbridge_core::text::texts::Language;
use turnbridge_core::text::visible_text::visible_line;
use turnbridge_store::foreign::foreign_file::FileChange;
use turnbridge_system::registration::{Basis, PlannedChange, outcome_text, shown_diff};

use crate::failure::hinted;
use crate::output;

#[derive(Debug, Clone, Copy, Args)]
pub struct Consent {
    /// Show what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Change it without asking
    #[arg(long, short, conflicts_with = "dry_run")]
    pub yes: bool,
    /// The set-up's; commands speak English.
    #[arg(skip)]
    pub language: Language,
}

/// The user's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsentAnswer {
    /// Make the change; without `--yes`, only if the file still is as shown.
    Yes,
    No,
    NothingToDo,
}

impl Consent {
    /// Shows the change and asks. `after` is `None` if the file will be deleted.
    pub fn ask(
        self,
        path: &Path,
        before: Option<&str>,
        after: Option<&str>,
    ) -> Result<ConsentAnswer> {
        if before == after {
            return Ok(ConsentAnswer::NothingToDo);
        }
        let shown_path = visible_line(&path.display().to_string()).into_owned();
        write!(output::stdout(), "{}", shown_diff(path, before, after))?;
        if self.dry_run {
            return Ok(ConsentAnswer::No);
        }
        if self.yes {
            return Ok(ConsentAnswer::Yes);
        }
        let question = SetupText::ChangeLikeThis.filled(self.language, &[&shown_path]);
        let unasked = format!("`{shown_path}` was left as it was");
        if is_agreed(&question, &unasked, "`--yes` changes it without asking")? {
            return Ok(ConsentAnswer::Yes);
        }
        say(SetupText::LeftAsItWas.text(self.language))?;
        Ok(ConsentAnswer::No)
    }

    /// Shows a planned change, asks, and makes it. Returns whether the file is then as planned.
    pub fn carry_out(self, change: &PlannedChange<'_>, texts: Texts) -> Result<bool> {
        match self.ask(change.path(), change.before(), change.after())? {
            ConsentAnswer::No => return Ok(false),
            ConsentAnswer::NothingToDo => return say(&texts.nothing_to_do).map(|()| true),
            ConsentAnswer::Yes => {}
        }
        // The user has agreed only to the change that was shown.
        let basis = if self.yes { Basis::Latest } else { Basis::Shown };
        let made = change.make(basis)?;
        if let Some(text) = texts.also_done {
            say(&text)?;
        }
        say(&outcome_text(self.language, made, change.path()))?;
        if made != FileChange::Unchanged {
            say(texts.next.text(self.language))?;
        }
        Ok(true)
    }
}

/// The texts printed about a change.
pub struct Texts {
    /// Printed instead of the others if the file is already as planned.
    pub nothing_to_do: String,
    /// Printed after the change, before its outcome.
    pub also_done: Option<String>,
    /// Explains how the agent picks up the change.
    pub next: SetupText,
}

/// Asks at the terminal. Without one it returns an error with the text `unasked` and the flag to
/// use instead.
pub fn is_agreed(question: &str, unasked: &str, flag: &str) -> Result<bool> {
    if !io::stdin().is_terminal() {
        return Err(hinted(unasked, format!("there is no terminal to ask at; {flag}")));
    }
    let mut stdout = output::stdout();
    write!(stdout, "{} [y/N] ", visible_line(question))?;
    stdout.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes" | "はい" | "ｙ"))
}

/// Prints a line to stdout, which is only for requested output.
pub fn say(line: &str) -> Result<()> {
    writeln!(output::stdout(), "{}", visible_line(line))?;
    Ok(())
}
