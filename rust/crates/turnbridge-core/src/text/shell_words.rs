//! Quotes words for a POSIX shell, and for programs that split a line into words as such a shell
//! does.

use crate::text::visible_text::visible_line;

/// Returns a command line that a shell reads as these words.
pub fn shell_words(argv: &[String]) -> String {
    argv.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

/// Returns the text as one word of a shell. Words without special characters are unchanged, so that
/// a line is easy to read and options look like options. `=` counts as special, but for the options
/// `--name=value`: zsh replaces `=name` by the path of a program, and a line that begins with
/// `name=value` sets a variable.
pub fn shell_word(text: &str) -> String {
    let is_option = text.starts_with("--");
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,".contains(c) || c == '=' && is_option;
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    single_quoted(text)
}

/// Returns the text in single quotes, in which a shell interprets no character.
pub fn single_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns a command line like `shell_words`, for a user who reads it in a terminal, copies and
/// runs it. Characters that a terminal would interpret, or that are invisible, are escapes in
/// `$'…'`. bash, zsh and ksh know this form; dash, and programs that split words themselves, do not
/// and get `shell_words`.
pub fn visible_shell_words(argv: &[String]) -> String {
    argv.iter().map(|word| visible_shell_word(word)).collect::<Vec<_>>().join(" ")
}

/// Returns one word of `visible_shell_words`.
pub fn visible_shell_word(text: &str) -> String {
    if visible_line(text) == text {
        return shell_word(text);
    }
    format!("$'{}'", text.chars().map(in_escapes).collect::<String>())
}

fn in_escapes(c: char) -> String {
    let text = c.to_string();
    if visible_line(&text) == text && !['\'', '\\'].contains(&c) {
        return text;
    }
    text.bytes().map(|byte| format!("\\{byte:03o}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text, its word for a program, and its word for a user.
    const WORDS: [(&str, &str, &str); 18] = [
        ("/usr/bin/x-1_2.3", "/usr/bin/x-1_2.3", "/usr/bin/x-1_2.3"),
        ("a@b:c%d+e,f", "a@b:c%d+e,f", "a@b:c%d+e,f"),
        ("", "''", "''"),
        ("-r", "-r", "-r"),
        ("--plugin-dir", "--plugin-dir", "--plugin-dir"),
        ("--plugin-dir=/opt/x", "--plugin-dir=/opt/x", "--plugin-dir=/opt/x"),
        ("~", "'~'", "'~'"),
        ("~/my project", "'~/my project'", "'~/my project'"),
        ("=ls", "'=ls'", "'=ls'"),
        ("PATH=/x", "'PATH=/x'", "'PATH=/x'"),
        ("it's", r"'it'\''s'", r"'it'\''s'"),
        ("\"$HOME\" `x` \\ !", "'\"$HOME\" `x` \\ !'", "'\"$HOME\" `x` \\ !'"),
        ("*?[a] {b,c} #&;|<>()", "'*?[a] {b,c} #&;|<>()'", "'*?[a] {b,c} #&;|<>()'"),
        ("日本 é", "'日本 é'", "'日本 é'"),
        ("a\nb\tc", "'a\nb\tc'", r"$'a\012b\011c'"),
        ("\u{1b}[31m\u{7f}", "'\u{1b}[31m\u{7f}'", r"$'\033[31m\177'"),
        ("日\u{202e}'\\$x", "'日\u{202e}'\\''\\$x'", r"$'日\342\200\256\047\134$x'"),
        ("\n", "'\n'", r"$'\012'"),
    ];

    #[test]
    fn words_are_quoted_when_they_must_be_and_a_person_sees_every_character() {
        for (text, word, visible_word) in WORDS {
            let argv = [text.to_owned()];
            assert_eq!(shell_words(&argv), word);
            assert_eq!(visible_shell_words(&argv), visible_word);
            assert_eq!(visible_line(visible_word), visible_word);
        }
        let argv = ["cd", "a b", "", "-x"].map(str::to_owned);
        assert_eq!(shell_words(&argv), "cd 'a b' '' -x");
        assert_eq!(visible_shell_words(&argv), "cd 'a b' '' -x");
    }

    #[cfg(unix)]
    #[test]
    fn shells_read_the_words_that_were_written() {
        let argv = WORDS.map(|(text, ..)| text.to_owned());
        let lines = [shell_words(&argv), argv.clone().map(|word| single_quoted(&word)).join(" ")];
        for line in lines {
            assert_eq!(read_by("sh", &line).unwrap(), argv);
        }
        for shell in ["bash", "zsh"] {
            for line in [shell_words(&argv), visible_shell_words(&argv)] {
                let read = read_by(shell, &line);
                assert!(read.as_ref().is_none_or(|read| *read == argv), "{shell}: {read:?}");
            }
        }
    }

    /// Returns `None` if there is no such shell.
    #[cfg(unix)]
    fn read_by(shell: &str, line: &str) -> Option<Vec<String>> {
        let script = format!("printf '%s\\0' {line}");
        let output = std::process::Command::new(shell).args(["-c", &script]).output().ok()?;
        assert!(output.status.success(), "{shell}: {output:?}");
        let printed = String::from_utf8(output.stdout).unwrap();
        Some(printed.strip_suffix('\0').unwrap().split('\0').map(str::to_owned).collect())
    }
}
