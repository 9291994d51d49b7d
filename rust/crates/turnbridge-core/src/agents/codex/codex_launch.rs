//! Parses a command line of Codex: whether it starts the interface, or a program that ends by
//! itself, and which thread and folder it names.
//!
//! The result only binds a pane to a thread; it is never evidence of a state (KT-57). The options
//! are those of Codex 0.166.0; the value of an unknown option may be taken for a subcommand.

/// The facts of a command line that a pane needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CodexLaunch {
    /// Whether it starts Codex's own interface, which may stay in the terminal.
    pub tui: bool,
    /// By its full name.
    pub subcommand: Option<String>,
    /// The session that it continues under the same id: `resume ID` (KT-67). A fork is a new one
    /// (KT-68).
    pub session_id: Option<String>,
    /// Its working directory (`-C`, `--cd`), as typed: it may be relative to the shell's folder.
    pub directory: Option<String>,
}

const VALUE_OPTIONS: [&str; 13] = [
    "--config",
    "--enable",
    "--disable",
    "--remote",
    "--remote-auth-token-env",
    "--image",
    "--model",
    "--local-provider",
    "--profile",
    "--sandbox",
    "--cd",
    "--add-dir",
    "--ask-for-approval",
];
/// The same, short: `-m gpt-5`, `-mgpt-5`.
const SHORT_VALUE_OPTIONS: &str = "cimpsCa";
/// Options that take every word up to the next option.
const GREEDY: [&str; 2] = ["--image", "-i"];
const INFORMATIVE: [&str; 4] = ["-h", "--help", "-V", "--version"];

const SUBCOMMANDS: [&str; 34] = [
    "agents",
    "exec",
    "review",
    "login",
    "logout",
    "mcp",
    "mcp-server",
    "plugin",
    "app",
    "app-server",
    "remote-control",
    "completion",
    "update",
    "doctor",
    "sandbox",
    "debug",
    "apply",
    "resume",
    "queue",
    "archive",
    "delete",
    "migrate-rollouts",
    "migrate-nfs-db",
    "unarchive",
    "fork",
    "cloud",
    "exec-server",
    "features",
    "help",
    "execpolicy",
    "responses-api-proxy",
    "stdio-to-uds",
    "proto",
    "generate-ts",
];
const ALIASES: [(&str, &str); 4] =
    [("e", "exec"), ("a", "apply"), ("cloud-tasks", "cloud"), ("p", "proto")];
const TUI_SUBCOMMANDS: [&str; 3] = ["resume", "fork", "agents"];

/// Parses a command line. Returns `None` if the first word is not Codex (KT-59).
pub fn classify(argv: &[&str]) -> Option<CodexLaunch> {
    let (program, arguments) = argv.split_first()?;
    is_codex(program).then(|| classify_arguments(arguments))
}

fn is_codex(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.strip_suffix(".exe").unwrap_or(name);
    name == "codex"
}

fn classify_arguments(arguments: &[&str]) -> CodexLaunch {
    let words = words(arguments);
    if words.is_informative {
        return CodexLaunch {
            subcommand: words.subcommand().map(|(_, name)| name),
            ..CodexLaunch::default()
        };
    }
    let Some((position, name)) = words.subcommand() else {
        // One bare word that is no subcommand may be one of a later version (KT-64); a prompt has
        // several words, or follows `--` (X14).
        let is_prompt = |word: &&str| word.contains(char::is_whitespace);
        let tui = words.plain.is_empty() || words.plain.iter().any(is_prompt);
        return CodexLaunch {
            tui: tui || words.has_prompt_behind_dashes,
            directory: words.directory.map(str::to_owned),
            ..CodexLaunch::default()
        };
    };
    let resumed = words.plain.get(position + 1).filter(|id| name == "resume" && is_uuid(id));
    CodexLaunch {
        tui: TUI_SUBCOMMANDS.contains(&name.as_str()),
        session_id: resumed.map(|id| (*id).to_owned()),
        subcommand: Some(name),
        directory: words.directory.map(str::to_owned),
    }
}

#[derive(Default)]
struct ArgumentReader<'a> {
    /// The words that are neither an option nor an option's value, up to `--`.
    plain: Vec<&'a str>,
    is_informative: bool,
    has_prompt_behind_dashes: bool,
    /// The last one: a subcommand's own overrides the one before it.
    directory: Option<&'a str>,
}

impl ArgumentReader<'_> {
    /// Returns the first subcommand, in any position: Codex accepts it even after a prompt.
    fn subcommand(&self) -> Option<(usize, String)> {
        self.plain.iter().enumerate().find_map(|(position, word)| {
            let alias = ALIASES.iter().find(|(alias, _)| alias == word).map(|(_, name)| *name);
            let name = alias.unwrap_or(word);
            SUBCOMMANDS.contains(&name).then(|| (position, name.to_owned()))
        })
    }
}

fn words<'a>(arguments: &[&'a str]) -> ArgumentReader<'a> {
    let mut words = ArgumentReader::default();
    let mut rest = arguments.iter().copied().peekable();
    while let Some(word) = rest.next() {
        if word == "--" {
            words.has_prompt_behind_dashes = rest.next().is_some();
            break;
        }
        if !word.starts_with('-') || word == "-" {
            words.plain.push(word);
            continue;
        }
        words.is_informative |= INFORMATIVE.contains(&word);
        if GREEDY.contains(&word) {
            while rest.next_if(|value| !value.starts_with('-')).is_some() {}
            continue;
        }
        let value = if takes_next_word(word) { rest.next() } else { None };
        words.directory = directory(word, value).or(words.directory);
    }
    words
}

/// Returns the value of `-C DIR`, `-CDIR`, `-C=DIR`, `--cd DIR` and `--cd=DIR`.
fn directory<'a>(option: &'a str, next_word: Option<&'a str>) -> Option<&'a str> {
    match option {
        "-C" | "--cd" => next_word,
        _ => match option.strip_prefix("--cd=") {
            Some(value) => Some(value),
            None => option.strip_prefix("-C").map(|value| value.strip_prefix('=').unwrap_or(value)),
        },
    }
}

/// Returns whether the next word is the option's value: not if the value is in the same word.
fn takes_next_word(option: &str) -> bool {
    match option.strip_prefix('-') {
        Some(short) if !short.starts_with('-') => {
            short.len() == 1 && SHORT_VALUE_OPTIONS.contains(short)
        }
        _ => VALUE_OPTIONS.contains(&option),
    }
}

fn is_uuid(text: &str) -> bool {
    let lengths: Vec<_> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0199a213-81c0-7800-8aa1-bbab2a035a53";

    fn shown(line: &str) -> String {
        let argv: Vec<&str> = line.split(' ').map(|word| word.trim_matches('_')).collect();
        let argv: Vec<String> = argv.iter().map(|word| word.replace('_', " ")).collect();
        let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
        match classify(&argv) {
            None => "no codex".to_owned(),
            Some(CodexLaunch { tui, subcommand, session_id, .. }) => {
                let kind = if tui { "tui" } else { "other" };
                let id = session_id.map(|_| " ID").unwrap_or_default();
                format!("{kind} {}{id}", subcommand.as_deref().unwrap_or("-"))
            }
        }
    }

    #[track_caller]
    fn check(line: &str, expected: &str) {
        assert_eq!(shown(&line.replace("ID", ID)), expected, "{line}");
    }

    #[test]
    fn kt_59_only_codex_is_classified() {
        check("codex", "tui -");
        check("/usr/local/bin/codex", "tui -");
        check("C:\\bin\\codex.exe", "tui -");
        for line in ["claude", "codexx", "npx codex", "codex-rs", ""] {
            check(line, "no codex");
        }
    }

    #[test]
    fn kt_60_to_66_subcommands_and_help() {
        check("codex --help", "other -");
        check("codex exec -h", "other exec");
        check("codex -V", "other -");
        check("codex resume", "tui resume");
        check("codex fork ID", "tui fork");
        check("codex resume ID", "tui resume ID");
        check("codex resume --last", "tui resume");
        check("codex resume my-name", "tui resume");
        check("codex exec resume ID", "other exec");
        check("codex e hello", "other exec");
        check("codex a", "other apply");
        check("codex cloud-tasks", "other cloud");
        for name in ["review", "login", "logout", "mcp", "mcp-server", "app-server", "features"] {
            check(&format!("codex {name}"), &format!("other {name}"));
        }
        check("codex something-new", "other -");
    }

    #[test]
    fn x14_values_of_options_and_prompts_are_no_subcommands() {
        check("codex -m gpt-5 resume ID", "tui resume ID");
        check("codex -m exec", "tui -");
        check("codex -mexec", "tui -");
        check("codex --model=exec resume", "tui resume");
        check("codex -c k=v fix_the_bug", "tui -");
        check("codex fix_the_bug", "tui -");
        check("codex fix_the_bug features list", "other features");
        check("codex -- exec", "tui -");
        check("codex -- -h", "tui -");
        check("codex -i a.png exec", "tui -");
        check("codex -i a.png --search exec", "other exec");
        check("codex --image=a.png exec hi", "other exec");
        check("codex agents", "tui agents");
        check("codex --yolo --no-daemon", "tui -");
        check("codex -C /tmp/x -s read-only resume ID", "tui resume ID");
        check("codex -", "other -");
    }

    #[test]
    fn the_folder_it_is_told_to_work_in_is_known() {
        let directory = |line: &str| {
            let argv: Vec<&str> = line.split(' ').collect();
            classify(&argv).unwrap().directory
        };
        for line in [
            "codex -C /x",
            "codex -C/x",
            "codex -C=/x",
            "codex --cd /x -m gpt-5",
            "codex --cd=/x resume",
            "codex resume -C /x",
            "codex -C /y fork --cd /x",
        ] {
            assert_eq!(directory(line).as_deref(), Some("/x"), "{line}");
        }
        for line in ["codex", "codex -c cd=/x", "codex -- -C /x", "codex -m -C /x", "codex -C"] {
            assert_eq!(directory(line), None, "{line}");
        }
    }
}
