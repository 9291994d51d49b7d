//! Before a file of somebody else's is changed: what will change is shown, and the user is asked.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;

use anyhow::Result;
use clap::Args;
use turnbridge_core::system::setup_texts::SetupText;
use turnbridge_core::text::texts::Language;
use turnbridge_core::text::visible_text::visible_line;
use turnbridge_store::foreign::foreign_file::Change;
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

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Go on; without `--yes`, only from the text that was shown.
    Yes,
    No,
    NothingToDo,
}

impl Consent {
    /// `None` as `after`: the file will be deleted.
    pub fn ask(self, path: &Path, before: Option<&str>, after: Option<&str>) -> Result<Answer> {
        if before == after {
            return Ok(Answer::NothingToDo);
        }
        let shown_path = visible_line(&path.display().to_string()).into_owned();
        write!(output::stdout(), "{}", shown_diff(path, before, after))?;
        if self.dry_run {
            return Ok(Answer::No);
        }
        if self.yes {
            return Ok(Answer::Yes);
        }
        let question = SetupText::ChangeLikeThis.filled(self.language, &[&shown_path]);
        let unasked = format!("`{shown_path}` was left as it was");
        if is_agreed(&question, &unasked, "`--yes` changes it without asking")? {
            return Ok(Answer::Yes);
        }
        say(SetupText::LeftAsItWas.text(self.language))?;
        Ok(Answer::No)
    }

    /// Shows a planned change, asks, and makes it. Returns whether the file is as planned then.
    pub fn carry_out(self, change: &PlannedChange<'_>, texts: Texts) -> Result<bool> {
        match self.ask(change.path(), change.before(), change.after())? {
            Answer::No => return Ok(false),
            Answer::NothingToDo => return say(&texts.nothing_to_do).map(|()| true),
            Answer::Yes => {}
        }
        // The user has agreed to what was shown, and to nothing else.
        let basis = if self.yes { Basis::Latest } else { Basis::Shown };
        let made = change.make(basis)?;
        if let Some(text) = texts.also_done {
            say(&text)?;
        }
        say(&outcome_text(self.language, made, change.path()))?;
        if made != Change::Unchanged {
            say(texts.next.text(self.language))?;
        }
        Ok(true)
    }
}

/// What is said about a change.
pub struct Texts {
    /// Instead of anything else, when the file is as planned already.
    pub nothing_to_do: String,
    /// After the change, before the line that tells its outcome.
    pub also_done: Option<String>,
    /// How the agent comes to take it up.
    pub next: SetupText,
}

/// Asks at the terminal. Without one it is an error that says `unasked`, and which flag answers.
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

/// Only what was asked for goes to stdout.
pub fn say(line: &str) -> Result<()> {
    writeln!(output::stdout(), "{}", visible_line(line))?;
    Ok(())
}
