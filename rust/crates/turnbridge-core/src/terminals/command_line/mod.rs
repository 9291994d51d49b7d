//! Finds the agents that a typed command line starts, for shells that report their next command.
//!
//! It splits words as a shell does, but expands nothing: a variable stays as written. The result
//! only binds a pane (KT-57), so a line that cannot be parsed simply contains no agent.

pub mod words;

use crate::ids::Agent;
use words::{Piece, pieces};

/// The quoting rules of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellSyntax {
    /// bash, zsh and fish, as far as it matters here.
    Posix,
    PowerShell,
}

/// An agent that the line starts, with its arguments and folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    pub agent: Agent,
    /// From the program's name on.
    pub argv: Vec<String>,
    /// The folders that the line changes into before, in order, as written.
    pub folders: Vec<String>,
}

/// Returns every agent that the line starts, in the order in which they are started.
pub fn agents_in(line: &str, syntax: ShellSyntax) -> Vec<Started> {
    let mut started = Vec::new();
    let mut folders: Vec<String> = Vec::new();
    let mut command: Vec<String> = Vec::new();
    let mut take = |command: &mut Vec<String>, end: &str| {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        if let Some((agent, argv)) = agent(&words) {
            let argv = argv.iter().map(|word| (*word).to_owned()).collect();
            started.push(Started { agent, argv, folders: folders.clone() });
        } else if let (["cd" | "pushd" | "Set-Location" | "sl", folder], ";" | "&&") =
            (words.as_slice(), end)
        {
            folders.push((*folder).to_owned());
        }
        command.clear();
    };
    for piece in pieces(line, syntax) {
        match piece {
            Piece::Word(word) => command.push(word),
            Piece::Operator(operator) => take(&mut command, operator),
        }
    }
    take(&mut command, ";");
    started
}

/// Returns the agent that an argument vector starts, also after words that only run the rest.
pub fn agent<'a, 'w>(words: &'a [&'w str]) -> Option<(Agent, &'a [&'w str])> {
    let mut rest = words;
    loop {
        let (first, others) = rest.split_first()?;
        let name = program_name(first);
        if let Some(agent) = Agent::parse(name) {
            return Some((agent, rest));
        }
        rest = match name {
            _ if is_assignment(first) => others,
            _ if PLAIN_WRAPPERS.contains(&name) => others,
            // `command -v codex` only prints its path.
            "command" if others.first().is_some_and(|word| matches!(*word, "-v" | "-V")) => {
                return None;
            }
            "command" | "builtin" | "time" | "nohup" | "caffeinate" => without_options(others, &[]),
            "exec" => without_options(others, &["-a"]),
            "nice" => without_options(others, &["-n"]),
            "env" => without_options(others, &["-u", "--unset", "-C", "--chdir"]),
            "turnbridge" => without_options(others.strip_prefix(&["run"])?, &[]),
            _ => return None,
        };
    }
}

/// Words of a shell's own grammar, and others that take no options.
const PLAIN_WRAPPERS: [&str; 20] = [
    "!",
    "{",
    "(",
    "&",
    "if",
    "then",
    "else",
    "elif",
    "while",
    "until",
    "do",
    "and",
    "or",
    "not",
    "begin",
    "noglob",
    "nocorrect",
    "-",
    "coproc",
    "setsid",
];

/// Returns the last part of a path, without Windows' extension.
fn program_name(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or_default();
    [".exe", ".cmd", ".ps1"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.trim_end_matches('+').chars().all(is_letter)
}

/// Returns the words after the leading options and their values.
fn without_options<'a, 'w>(words: &'a [&'w str], with_value: &[&str]) -> &'a [&'w str] {
    let mut rest = words;
    while let Some((option, others)) = rest.split_first() {
        if !option.starts_with('-') || option.len() == 1 {
            break;
        }
        let values = usize::from(with_value.contains(option));
        rest = others.get(values..).unwrap_or_default();
        if *option == "--" {
            break;
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str, syntax: ShellSyntax) -> String {
        let shown = |started: &Started| {
            let folders: String =
                started.folders.iter().map(|folder| format!("[{folder}] ")).collect();
            format!("{folders}{}", started.argv.join("|"))
        };
        agents_in(line, syntax).iter().map(shown).collect::<Vec<_>>().join(" ; ")
    }

    #[track_caller]
    fn check(line: &str, expected: &str) {
        assert_eq!(shown(line, ShellSyntax::Posix), expected, "{line}");
    }

    #[test]
    fn an_agent_is_found_behind_what_only_runs_it() {
        check("codex", "codex");
        check("  codex resume 'a b' \"c d\" e\\ f", "codex|resume|a b|c d|e f");
        check("/opt/x/codex.exe -m 'gpt 5'", "/opt/x/codex.exe|-m|gpt 5");
        for line in [
            "A=1 B='x y' claude -c",
            "command claude -c",
            "exec -a me claude -c",
            "env -u X A=1 claude -c",
            "env -i -- claude -c",
            "noglob nocorrect claude -c",
            "time -p claude -c",
            "nice -n 5 nohup claude -c",
            "turnbridge run -- claude -c",
            "~/bin/turnbridge run claude -c",
            "if true; then claude -c; fi",
            "! claude -c",
            "{ claude -c; }",
            "(claude -c)",
            "claude -c > log 2>&1 < /dev/null",
            "echo x | claude -c | tee 'a;b'",
            "claude -c & ",
            "claude -c # codex",
        ] {
            let found = shown(line, ShellSyntax::Posix);
            assert!(found.ends_with("claude|-c"), "{line}: {found}");
        }
    }

    #[test]
    fn what_only_speaks_of_an_agent_starts_none() {
        for line in [
            "",
            "   ",
            "vim codex",
            "echo codex; ls claude",
            "command -v codex",
            "codexx",
            "npx codex",
            "git commit -m 'codex; claude'",
            "echo \"$(codex exec x)\"",
            "echo `claude -p x`",
            "# codex",
            "X=codex",
            "turnbridge sessions claude",
            "sudo codex",
            "'",
            "\"",
            "\\",
            "$(",
        ] {
            check(line, "");
        }
    }

    #[test]
    fn several_commands_are_told_apart_with_the_folder_that_each_begins_in() {
        check("cd proj && codex", "[proj] codex");
        check("cd a; cd '../b c' && claude; codex", "[a] [../b c] claude ; [a] [../b c] codex");
        check("cd a || codex", "codex");
        check("cd a &\ncodex", "codex");
        check("codex exec 'x' && codex\nclaude", "codex|exec|x ; codex ; claude");
    }

    #[test]
    fn nothing_is_expanded() {
        check(
            "codex resume $ID \"$(cat x)\" `y z` ${a b}",
            "codex|resume|$ID|$(cat x)|`y z`|${a b}",
        );
        check("codex $'a\\'b' --x='1 2'", "codex|a'b|--x=1 2");
    }

    #[test]
    fn powershell_quotes_in_its_own_way() {
        let check = |line: &str, expected: &str| {
            assert_eq!(shown(line, ShellSyntax::PowerShell), expected, "{line}");
        };
        check(r"C:\bin\codex.exe resume x", r"C:\bin\codex.exe|resume|x");
        check(r#"& "C:\my bin\claude.exe" -c"#, r"C:\my bin\claude.exe|-c");
        check("codex 'it''s' \"a `\" b\" c` d", "codex|it's|a \" b|c d");
        check("Set-Location C:\\x; codex | Out-Null", "[C:\\x] codex");
    }

    #[test]
    fn no_line_makes_it_fail_whatever_it_is_cut_from() {
        let line = "cd a && A=1 env -u x codex \"$(b 'c')\" $'d\\x' `e` 2>&1 | claude 'é' \\";
        for end in (0..=line.len()).filter(|end| line.is_char_boundary(*end)) {
            for syntax in [ShellSyntax::Posix, ShellSyntax::PowerShell] {
                agents_in(&line[..end], syntax);
                agents_in(&line[end..], syntax);
            }
        }
    }
}
