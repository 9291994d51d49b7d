//! Parses a command line of Claude Code: whether its starter may add a session's id or a plugin
//! (TV-6, X34), and which session it names. The options are those of Claude Code 2.1.

use crate::ids::is_uuid;

/// The additions that would not change the effect of a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Additions {
    /// A session's id: the command line begins a new session and does not name its id.
    pub session_id: bool,
    /// A plugin: the command line runs a session at all.
    pub plugin: bool,
}

const SUBCOMMANDS: [&str; 20] = [
    "agents",
    "auth",
    "auto-mode",
    "config",
    "daemon",
    "doctor",
    "gateway",
    "help",
    "install",
    "mcp",
    "migrate-installer",
    "plugin",
    "plugins",
    "project",
    "remote-control",
    "setup-token",
    "ultrareview",
    "update",
    "upgrade",
    "rc",
];

/// Options that take the next word as their value, even if it begins with a dash.
const VALUE_OPTIONS: [&str; 25] = [
    "--agent",
    "--agents",
    "--append-system-prompt",
    "--append-system-prompt-file",
    "--debug-file",
    "--effort",
    "--fallback-model",
    "--input-format",
    "--json-schema",
    "--max-budget-usd",
    "--max-turns",
    "--model",
    "--name",
    "-n",
    "--output-format",
    "--permission-mode",
    "--permission-prompt-tool",
    "--plugin-dir",
    "--plugin-url",
    "--remote-control-session-name-prefix",
    "--session-id",
    "--setting-sources",
    "--settings",
    "--system-prompt",
    "--system-prompt-file",
];

/// Options that take every word up to the next option.
const GREEDY: [&str; 9] = [
    "--add-dir",
    "--allowedTools",
    "--allowed-tools",
    "--betas",
    "--disallowedTools",
    "--disallowed-tools",
    "--file",
    "--mcp-config",
    "--tools",
];

/// Options by which the session is another one, or has an id already.
const NAMES_SESSION: [&str; 11] = [
    "--session-id",
    "--resume",
    "-r",
    "--continue",
    "-c",
    "--from-pr",
    "--teleport",
    "--remote",
    "--bg",
    "--background",
    "--cloud",
];

/// Options that print information and end.
const INFORMATIVE: [&str; 4] = ["-h", "--help", "-v", "--version"];

/// Returns the possible additions. `arguments` are those after the program's name.
pub fn additions(arguments: &[&str]) -> Additions {
    let mut names_session = false;
    let mut first_word = None;
    let mut rest = arguments.iter().copied().peekable();
    while let Some(word) = rest.next() {
        if word == "--" {
            break;
        }
        if !word.starts_with('-') || word == "-" {
            first_word = first_word.or(Some(word));
            continue;
        }
        let (option, has_value) =
            word.split_once('=').map_or((word, false), |(option, _)| (option, true));
        if INFORMATIVE.contains(&option) {
            return Additions { session_id: false, plugin: false };
        }
        names_session |= NAMES_SESSION.contains(&option) || is_short_group(word);
        if has_value {
            continue;
        }
        if VALUE_OPTIONS.contains(&option) {
            rest.next();
        } else if GREEDY.contains(&option) {
            while rest.next_if(|value| !value.starts_with('-')).is_some() {}
        }
    }
    let is_session = first_word.is_none_or(|word| !SUBCOMMANDS.contains(&word));
    Additions { session_id: is_session && !names_session, plugin: is_session }
}

/// Returns the id of the session that the command line runs, if it names one that stays the same.
pub fn named_session<'a>(arguments: &[&'a str]) -> Option<&'a str> {
    let options = arguments.split(|word| *word == "--").next().unwrap_or_default();
    if options.contains(&"--fork-session") {
        return None;
    }
    let names = ["--session-id", "--resume", "-r"];
    let joined = |word: &'a str| {
        let (option, id) = word.split_once('=')?;
        names.contains(&option).then_some(id)
    };
    let apart = options.windows(2).filter(|pair| names.contains(&pair[0])).map(|pair| pair[1]);
    apart.chain(options.iter().filter_map(|word| joined(word))).find(|id| is_uuid(id))
}

/// Matches `-pc` and `-rID`: several short options in one word, or one with its value.
fn is_short_group(word: &str) -> bool {
    let letters = word.strip_prefix('-').unwrap_or_default();
    !letters.starts_with('-') && letters.trim_start_matches('p').starts_with(['c', 'r'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Additions { session_id, plugin } = additions(&words);
        let shown = match (session_id, plugin) {
            (true, true) => "both",
            (false, true) => "plugin",
            (false, false) => "nothing",
            (true, false) => "session id",
        };
        assert_eq!(shown, expected, "claude {line}");
    }

    #[test]
    fn tv_6_a_new_session_gets_an_id_and_the_plugin() {
        for line in [
            "",
            "fix",
            "-p hello",
            "--model mcp",
            "--add-dir mcp doctor -p x",
            "--permission-mode plan fix",
            "-- mcp",
            "fix mcp",
            "-n -c",
            "--debug",
        ] {
            check(line, "both");
        }
    }

    #[test]
    fn tv_7_a_session_that_is_named_keeps_its_name() {
        for line in [
            "-r",
            "-r 825c8529",
            "--resume=825c8529",
            "-c",
            "--continue -p x",
            "-pc x",
            "-rID",
            "--session-id 825c8529",
            "--session-id=825c8529",
            "fix --resume x --fork-session",
            "--bg fix",
        ] {
            check(line, "plugin");
        }
    }

    #[test]
    fn tv_10_a_session_is_known_when_the_command_line_names_it() {
        const ID: &str = "825c8529-ee09-4cb8-8902-dd785b12ca0a";
        let named = |line: &str| {
            let line = line.replace("ID", ID);
            named_session(&line.split_whitespace().collect::<Vec<_>>()).map(str::to_owned)
        };
        for line in ["-r ID", "--resume=ID x", "--session-id ID", "-p --resume ID x"] {
            assert_eq!(named(line).as_deref(), Some(ID), "{line}");
        }
        for line in ["", "-r", "-c", "-r name", "-r ID --fork-session", "-- -r ID", "-p ID"] {
            assert_eq!(named(line), None, "{line}");
        }
    }

    #[test]
    fn what_runs_no_session_is_left_alone() {
        for line in ["mcp list", "--debug mcp", "doctor", "update", "-h", "-p --help", "-v"] {
            check(line, "nothing");
        }
    }
}
