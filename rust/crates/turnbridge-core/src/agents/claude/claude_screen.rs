//! Finds out from the text on Claude Code's screen whether typed text would become a prompt.
//!
//! No hook and no file reports that the user has begun a shell command (`!`), reads the transcript
//! (Ctrl-O), has a menu open (`/model`), or sees the list of agents, where a text begins another
//! session. An unknown screen counts as not ready.

/// The input line, if text typed into it becomes a prompt of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InputLine<'a> {
    /// Its first line: a draft, or a proposal of Claude's, which looks the same.
    pub text: &'a str,
    /// A draft is stashed by Ctrl-S. A second Ctrl-S would restore it, or replace it.
    pub has_draft_aside: bool,
}

impl InputLine<'_> {
    /// Returns the input line: it is between two rules and begins with its own sign. Returns `None`
    /// if typed text would not become a prompt.
    pub fn on(screen: &str) -> Option<InputLine<'_>> {
        let lines: Vec<&str> = screen.lines().collect();
        let is_rule = |line: &str| line.starts_with("──");
        // A status line of the user's may contain a rule below it.
        let last = lines.iter().rposition(|line| is_rule(line))?;
        let first = lines[..last]
            .windows(2)
            .rposition(|pair| is_rule(pair[0]) && pair[1].starts_with(['❯', '!']))?;
        let text = lines[first + 1].strip_prefix('❯')?.trim();
        let end = first + 2 + lines[first + 2..].iter().position(|line| is_rule(line))?;
        if is_list_of_agents(&lines, text, &lines[end..]) {
            return None;
        }
        let has_draft_aside = lines[first..].iter().any(|line| line.contains("› stashed"));
        Some(InputLine { text, has_draft_aside })
    }
}

/// Returns whether the screen shows only the rest of a long input text, whose first line has left
/// it at the top. It does not show whether the text becomes a prompt: the caller must know that
/// from before it was pasted.
pub fn is_filled_by_input(screen: &str) -> bool {
    let lines: Vec<&str> = screen.lines().collect();
    let Some(rule) = lines.iter().position(|line| line.starts_with("──")) else { return false };
    // The first one may have lost its indent.
    rule > 1 && lines[1..rule].iter().all(|line| line.starts_with("  "))
}

/// Returns whether it is the list of agents. Its input line looks like a session's, but a text
/// there begins another session. Its signs are the counts above, which a small pane or 2.1.326
/// omits (`1 awaiting input · 0 working · 2 completed`), the words in the empty line, and the keys
/// below it: Enter creates, opens or returns.
fn is_list_of_agents(lines: &[&str], text: &str, below: &[&str]) -> bool {
    let counts = |line: &&str| line.contains(" awaiting input · ") && line.contains(" working · ");
    let keys = |line: &&str| {
        let line = line.trim_start();
        line.starts_with("enter to ") || line.contains("ctrl+x to ")
    };
    lines.iter().any(counts)
        || text == "describe a task for a new session"
        || below.iter().any(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = "────────────────────────────────────────";

    fn input(screen: &str) -> Option<(&str, bool)> {
        InputLine::on(screen).map(|input| (input.text, input.has_draft_aside))
    }

    /// Screens of Claude Code 2.1.197.
    #[test]
    fn the_input_line_is_known_by_its_sign_between_two_rules() {
        let footer = "  ? for shortcuts · ← for agents\n\n";
        let history = "❯ earlier\n\n● Answer.\n\n✻ Worked for 0s\n\n";
        let idle = format!("{history}{RULE}\n❯\u{a0}\n{RULE}\n{footer}");
        assert_eq!(input(&idle), Some(("", false)));
        let lines = format!("{history}{RULE}\n❯\u{a0}half a\n  draft\n{RULE}\n{footer}");
        assert_eq!(input(&lines), Some(("half a", false)));
        let aside = format!("{history}{RULE}\n❯\u{a0}\n{RULE}\n  ? for shortcuts     › stashed\n");
        assert_eq!(input(&aside), Some(("", true)));
        let status = format!("{RULE}\n❯\u{a0}\n{RULE}\n  main\n{RULE}\n  12 %\n");
        assert_eq!(input(&status), Some(("", false)));
    }

    #[test]
    fn a_text_that_is_longer_than_the_screen_is_known_by_its_end() {
        let rest = format!("word word\n  word\n{RULE}\n  ? for shortcuts\n");
        assert!(is_filled_by_input(&rest));
        assert_eq!(input(&rest), None);
        for other in [
            format!("● Answer.\n\n{RULE}\n! ls\n{RULE}\n"),
            format!("❯ /model\n\n{RULE}\n  Select model\n"),
            format!("{RULE}\n! ls\n{RULE}\n"),
            "  word\n".to_owned(),
            String::new(),
        ] {
            assert!(!is_filled_by_input(&other), "{other}");
        }
    }

    #[test]
    fn whatever_else_is_in_front_takes_no_prompt() {
        let shell = format!("❯ earlier\n\n{RULE}\n!\u{a0}ls\n{RULE}\n  ! for shell mode\n");
        let status = format!("{shell}{RULE}\n  12 %\n");
        let transcript =
            format!("❯ earlier\n\n● Answer.\n\n{RULE}\n  Showing detailed transcript\n");
        let menu = format!("❯ /model\n\n{RULE}\n  Select model\n\n  ❯ 1. Default ✔\n    2. Opus\n");
        let agents = format!(
            "▝▜█████▛▘  /project\n  ▘▘ ▝▝    1 awaiting input · 0 working · 0 completed\n\n\
             {RULE}\n❯\u{a0}describe a task for a new session\n{RULE}\n  enter to open\n"
        );
        for screen in [&shell, &status, &transcript, &menu, &agents, "$ \n", ""] {
            assert_eq!(input(screen), None, "{screen}");
        }
    }

    /// Screens of Claude Code 2.1.326, also in a pane of 40 columns and 12 rows.
    #[test]
    fn the_list_of_agents_takes_no_prompt_however_little_of_it_is_shown() {
        let list = |above: &str, line: &str, below: &str| {
            format!("{above}\n\n{RULE}\n❯\u{a0}{line}\n{RULE}\n  {below}\n")
        };
        let task = "describe a task for a new session";
        let header = " ▝▝   ▝▝   1 awaiting input\n\n  Needs input\n❯ ✻ hello there   Done.  27s";
        let keys = "enter to return · space to reply · ctrl+x to remove · ? for shortcuts";
        let help = "alt+↑/↓ to jump groups    @ to mention              ctrl+x to stop";
        for screen in [
            list(header, task, keys),
            list("", task, "enter to return · ? for shortcuts"),
            list("", "half a draft", "enter to create · esc×2 to clear · ctrl+f to find"),
            list("", "half a draft", help),
            list("", task, ""),
        ] {
            assert_eq!(input(&screen), None, "{screen}");
        }
        let own = list("  enter to go on", "draft\n  enter to win", "? for shortcuts");
        assert_eq!(input(&own), Some(("draft", false)));
    }
}
