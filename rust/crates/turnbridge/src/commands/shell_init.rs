//! `turnbridge shell-init SHELL`: prints the script by which a shell reports events of its pane.
//! The scripts are separate files beside this one; only the path of this executable is inserted.

use std::io::Write;

use anyhow::Result;
use clap::{Args, ValueEnum};
use turnbridge_core::text::shell_words::single_quoted;
use turnbridge_system::programs;

use crate::output;

/// Print the script that ties your shell to its pane
///
/// zsh, bash:   eval "$(turnbridge shell-init zsh)"
/// fish:        turnbridge shell-init fish | source
/// PowerShell:  turnbridge shell-init powershell | Out-String | Invoke-Expression
///
/// at the end of the shell's start-up file. See docs/panes.md.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    shell: Shell,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shell {
    Zsh,
    Bash,
    Fish,
    #[value(name = "powershell", alias = "pwsh")]
    Pwsh,
}

/// The placeholder of the path in a script.
const PLACE: &str = "@TURNBRIDGE@";

pub fn run(arguments: &Arguments) -> Result<()> {
    let program = programs::own_text("turnbridge")?;
    let script = script(arguments.shell, &program);
    output::raw_stdout().write_all(script.as_bytes())?;
    Ok(())
}

fn script(shell: Shell, program: &str) -> String {
    let script = match shell {
        Shell::Zsh => include_str!("../shell_init/init.zsh"),
        Shell::Bash => include_str!("../shell_init/init.bash"),
        Shell::Fish => include_str!("../shell_init/init.fish"),
        Shell::Pwsh => include_str!("../shell_init/init.ps1"),
    };
    script.replacen(PLACE, &quoted(shell, program), 1)
}

/// Quotes any text as one word of the shell.
fn quoted(shell: Shell, text: &str) -> String {
    match shell {
        Shell::Zsh | Shell::Bash => single_quoted(text),
        Shell::Fish => format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'")),
        Shell::Pwsh => {
            // PowerShell treats typographic quotes like plain ones.
            let double = |letter: char| match letter {
                '\'' | '\u{2018}'..='\u{201b}' => format!("{letter}{letter}"),
                _ => letter.to_string(),
            };
            format!("'{}'", text.chars().map(double).collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_the_program_is_one_word_of_each_shell() {
        let path = "/a b/it's \\ $HOME ‘x’/turnbridge";
        for (shell, expected) in [
            (Shell::Zsh, r"'/a b/it'\''s \ $HOME ‘x’/turnbridge'"),
            (Shell::Bash, r"'/a b/it'\''s \ $HOME ‘x’/turnbridge'"),
            (Shell::Fish, r"'/a b/it\'s \\ $HOME ‘x’/turnbridge'"),
            (Shell::Pwsh, r"'/a b/it''s \ $HOME ‘‘x’’/turnbridge'"),
        ] {
            assert_eq!(quoted(shell, path), expected);
            let script = script(shell, path);
            assert!(script.contains(expected) && !script.contains(PLACE), "{shell:?}");
        }
    }

    /// The tests have no parser of PowerShell; they check only that quotes and braces match.
    #[test]
    fn the_script_for_powershell_closes_what_it_opens() {
        let script = script(Shell::Pwsh, "C:\\it's\\turnbridge.exe");
        let code: Vec<&str> =
            script.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
        for line in &code {
            for quote in ['\'', '"'] {
                assert_eq!(line.matches(quote).count() % 2, 0, "{line}");
            }
        }
        let code = code.join("\n");
        for (open, close) in [('{', '}'), ('(', ')')] {
            assert_eq!(code.matches(open).count(), code.matches(close).count(), "{open}");
        }
        assert!(script.is_ascii(), "PowerShell 5.1 reads it in the system's own encoding");
    }
}
