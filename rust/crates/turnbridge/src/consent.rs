//! Before a file of somebody else's is changed: what will change is shown, and the user is asked.

use std::fmt;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;

use anyhow::Result;
use clap::Args;
use turnbridge_core::system::setup_texts::SetupText;
use turnbridge_core::text::line_diff::diff;
use turnbridge_core::text::texts::Language;
use turnbridge_core::text::token_mask::without_tokens;
use turnbridge_core::text::visible_text::visible_line;
use turnbridge_store::foreign::foreign_file::{Change, Current, Failure};

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
        let (old, new) = (before.unwrap_or_default(), after.unwrap_or_default());
        let shown_path = visible_line(&path.display().to_string()).into_owned();
        // Other programs keep tokens in their files, too.
        write!(output::stdout(), "{}", without_tokens(&diff(&shown_path, old, new)))?;
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

    /// The user has agreed to what was shown, and to nothing else.
    pub fn check_shown(self, shown: &Current, now: &Current) -> Result<(), String> {
        if self.yes || shown.text == now.text {
            return Ok(());
        }
        Err("the file has changed since it was shown".to_owned())
    }
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

/// The outcome of a change in words.
pub fn told(language: Language, change: Change, path: &Path) -> String {
    let text = match change {
        Change::Unchanged => SetupText::IsAsItShouldBe,
        Change::Written => SetupText::Changed,
        Change::Deleted => SetupText::Deleted,
    };
    text.filled(language, &[&path.display().to_string()])
}

/// The plan says no.
pub fn refused(reason: &str, path: &Path) -> anyhow::Error {
    let error = format!("could not change `{}`: {reason}", path.display());
    hinted(error, "the file was left as it was; repair it, then run this again")
}

pub fn explain<E: fmt::Display>(failure: Failure<E>, path: &Path) -> anyhow::Error {
    let hint = match &failure {
        Failure::Refused(reason) => return refused(&reason.to_string(), path),
        Failure::File { doing: "put back", .. } => {
            "what it was is in `<file>.bak`, and in the folder `foreign` of Turnbridge's state"
        }
        Failure::File { .. } => "nothing was changed; look at the owner, the mode and the disk",
        Failure::NotUtf8 { .. } => "nothing was changed; save it as UTF-8",
        Failure::HasOtherNames { .. } => {
            "nothing was changed; make it a file of its own or a symlink"
        }
        Failure::NoPeace { .. } => "nothing was changed; run this again when it has come to rest",
        Failure::NoBackup { .. } => {
            "Turnbridge has not changed the file, or the backup was removed"
        }
    };
    hinted(failure.to_string(), hint)
}
