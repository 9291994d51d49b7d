//! Returns the script for a shell, with the path of this program put in. The scripts are the files
//! `init.*` in this folder.

use clap::ValueEnum;
use turnbridge_core::text::shell_words::single_quoted;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShellName {
    Zsh,
    Bash,
    Fish,
    #[value(name = "powershell", alias = "pwsh")]
    Pwsh,
}

/// The placeholder for the path in a script.
const PLACE: &str = "@TURNBRIDGE@";

/// Returns the script for a shell, with the path of `turnbridge` in it.
pub fn script(shell: ShellName, program: &str) -> String {
    let script = match shell {
        ShellName::Zsh => include_str!("init.zsh"),
        ShellName::Bash => include_str!("init.bash"),
        ShellName::Fish => include_str!("init.fish"),
        ShellName::Pwsh => include_str!("init.ps1"),
    };
    script.replacen(PLACE, &quoted(shell, program), 1)
}

/// Quotes a text as one word of the shell, whatever it contains.
fn quoted(shell: ShellName, text: &str) -> String {
    match shell {
        ShellName::Zsh | ShellName::Bash => single_quoted(text),
        ShellName::Fish => format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'")),
        ShellName::Pwsh => {
            // It takes typographic quotes for plain ones.
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
            (ShellName::Zsh, r"'/a b/it'\''s \ $HOME ‘x’/turnbridge'"),
            (ShellName::Bash, r"'/a b/it'\''s \ $HOME ‘x’/turnbridge'"),
            (ShellName::Fish, r"'/a b/it\'s \\ $HOME ‘x’/turnbridge'"),
            (ShellName::Pwsh, r"'/a b/it''s \ $HOME ‘‘x’’/turnbridge'"),
        ] {
            assert_eq!(quoted(shell, path), expected);
            let script = script(shell, path);
            assert!(script.contains(expected) && !script.contains(PLACE), "{shell:?}");
        }
    }

    /// No parser of PowerShell is available here: the test only checks that quotes and braces
    /// match.
    #[test]
    fn the_script_for_powershell_closes_what_it_opens() {
        let script = script(ShellName::Pwsh, "C:\\it's\\turnbridge.exe");
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
