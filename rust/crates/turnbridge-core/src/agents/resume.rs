//! Builds the arguments and the standard input by which an agent runs a reply as the next prompt of
//! a session, and the command that opens a session in a terminal.
//!
//! A prompt is passed by standard input, never through a shell: all users of the machine can read
//! the arguments of a process, and an agent might parse the prompt as a subcommand (`claude -r ID
//! mcp`). Claude Code 2.1.197 accepts the same there as in an argument: commands, `@` files, `!`,
//! `#`, blank lines. Only `codex queue` needs an argument.

use crate::ids::{Agent, SessionId, SessionKey, is_uuid};

/// How a reply is run if the user has its session open in a terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LiveSession {
    /// It is run anyway, beside the terminal.
    #[default]
    Run,
    /// It waits until the terminal has been closed.
    Hold,
    /// It is typed into that terminal, as soon as the agent there is idle.
    Pane,
}

/// How line ends in a prompt for Claude are passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ClaudeNewlines {
    /// Unchanged.
    #[default]
    Keep,
    /// As the two characters `\n` (SLV-52).
    Literal,
}

/// Whether another process has the Codex thread open for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodexWriter {
    Held,
    /// Or it is not known: `codex exec` then reports it itself.
    Free,
}

/// The session of Claude that a reply continues.
#[derive(Debug, Clone, Copy)]
pub struct ResumedSession<'a> {
    pub id: &'a SessionId,
    /// Set if the session was started with it: its hooks are there.
    pub plugin_dir: Option<&'a str>,
    /// As last seen; Claude does not restore it itself.
    pub permission_mode: Option<&'a str>,
    pub allow_bypass: bool,
    pub newlines: ClaudeNewlines,
}

/// The thread of Codex that a reply continues.
#[derive(Debug, Clone, Copy)]
pub struct ResumedThread<'a> {
    pub id: &'a SessionId,
    /// `codex exec` works in its current folder unless it receives another.
    pub cwd: Option<&'a str>,
    pub writer: CodexWriter,
}

/// A program's arguments and its standard input, if any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    pub arguments: Vec<String>,
    pub stdin: Option<String>,
}

/// Why a reply cannot be run in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumeRefusal {
    /// The agent would take it for a name, or worse.
    NoSessionId,
    /// A command that would end or empty the session.
    Command,
    /// SLV-53: it is too long for an argument, and has no other way.
    TooLong,
}

/// Linux accepts 128 KB in one argument, others less in all.
const LONGEST_ARGUMENT: usize = 100 << 10;

/// Commands of Claude after which the session cannot continue.
const REFUSED: [&str; 3] = ["/clear", "/exit", "/quit"];

/// Modes that Claude knows. Any other word in a session file is not passed on.
const MODES: [&str; 5] = ["default", "plan", "acceptEdits", "dontAsk", "auto"];
const BYPASS: &str = "bypassPermissions";

/// Returns whether the text is a command that must not be run from another channel.
pub fn is_refused(agent: Agent, text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    agent.has_slash_commands() && REFUSED.iter().any(|command| first.eq_ignore_ascii_case(command))
}

/// Returns the call of Claude Code that runs the prompt in the session.
pub fn claude(session: &ResumedSession<'_>, prompt: &str) -> Result<Invocation, ResumeRefusal> {
    if !is_uuid(session.id.as_str()) {
        return Err(ResumeRefusal::NoSessionId);
    }
    if is_refused(Agent::Claude, prompt) {
        return Err(ResumeRefusal::Command);
    }
    let mut arguments = Vec::new();
    if let Some(folder) = session.plugin_dir {
        // With `=`, so that no folder's name is an option.
        arguments.push(format!("--plugin-dir={folder}"));
    }
    let is_allowed = |mode: &&str| MODES.contains(mode) || *mode == BYPASS && session.allow_bypass;
    if let Some(mode) = session.permission_mode.filter(is_allowed) {
        arguments.extend(["--permission-mode".to_owned(), mode.to_owned()]);
    }
    arguments.extend(["-r".to_owned(), session.id.to_string(), "-p".to_owned()]);
    let prompt = match session.newlines {
        ClaudeNewlines::Keep => prompt.to_owned(),
        ClaudeNewlines::Literal => prompt.replace("\r\n", "\n").replace(['\r', '\n'], "\\n"),
    };
    Ok(Invocation { arguments, stdin: Some(prompt) })
}

/// Returns the call of Codex that runs the prompt in the thread, or queues it if another process
/// has the thread open. Options precede `resume`, where Codex reads them.
pub fn codex(thread: &ResumedThread<'_>, prompt: &str) -> Result<Invocation, ResumeRefusal> {
    if !is_uuid(thread.id.as_str()) {
        return Err(ResumeRefusal::NoSessionId);
    }
    let id = thread.id.to_string();
    if thread.writer == CodexWriter::Held {
        if prompt.len() > LONGEST_ARGUMENT || prompt.contains('\0') {
            return Err(ResumeRefusal::TooLong);
        }
        let message = format!("--message={prompt}");
        let arguments = vec!["queue".to_owned(), "--thread".to_owned(), id, message];
        return Ok(Invocation { arguments, stdin: None });
    }
    let mut arguments = vec!["exec".to_owned()];
    if let Some(cwd) = thread.cwd {
        arguments.extend(["-C".to_owned(), cwd.to_owned()]);
    }
    arguments.extend(["--skip-git-repo-check", "resume"].map(str::to_owned));
    arguments.extend([id, "-".to_owned()]);
    Ok(Invocation { arguments, stdin: Some(prompt.to_owned()) })
}

/// Returns the command that opens a session in a terminal, to be run in its folder. Returns `None`
/// if the agent would take the id for a name.
pub fn in_terminal(key: &SessionKey, plugin_dir: Option<&str>) -> Option<Vec<String>> {
    let SessionKey { agent, id } = key;
    if !is_uuid(id.as_str()) {
        return None;
    }
    let mut arguments = vec![agent.as_str().to_owned()];
    match agent {
        Agent::Claude => {
            arguments.extend(plugin_dir.map(|folder| format!("--plugin-dir={folder}")));
            arguments.extend(["-r".to_owned(), id.to_string()]);
        }
        Agent::Codex => arguments.extend(["resume".to_owned(), id.to_string()]),
    }
    Some(arguments)
}

/// Returns whether the agent's standard error reports that it does not know the session (any more).
pub fn says_session_unknown(stderr: &str) -> bool {
    ["No conversation found with session ID", "no rollout found for thread id", "is archived"]
        .iter()
        .any(|words| stderr.contains(words))
}

/// Returns whether the agent's standard error reports that another process has opened the thread
/// since the check; no prompt was run then.
pub fn says_thread_held(stderr: &str) -> bool {
    stderr.contains("already has an active writer")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "825c8529-ee09-4cb8-8902-dd785b12ca0a";

    fn id() -> SessionId {
        SessionId::parse(ID).unwrap()
    }

    fn of_claude(prompt: &str) -> Invocation {
        let id = id();
        let session = ResumedSession {
            id: &id,
            plugin_dir: None,
            permission_mode: None,
            allow_bypass: false,
            newlines: ClaudeNewlines::Keep,
        };
        claude(&session, prompt).unwrap()
    }

    /// SLV-51 wants the prompt as an argument. X30 and X47 revoke that for all but a single line,
    /// X52 for more than 1,000 characters, because all users can read the arguments of a process.
    /// This is the safest reading of them: always by stdin, which means the same to Claude.
    #[test]
    fn slv_51_x30_x47_x52_every_reply_to_claude_goes_by_stdin_and_none_as_an_argument() {
        let [longest, longer] = [1_000, 40_000].map(|length| "a b ".repeat(length / 4));
        for prompt in [
            longest.as_str(),
            longer.as_str(),
            "go on",
            "$(touch /tmp/x) `id` \"a\" 'b' \\ ; rm -rf *",
            "/review the last commit",
            "日本語で 返事して",
            "--dangerously-skip-permissions",
            "one\ntwo",
            "mcp",
            "",
        ] {
            let invocation = of_claude(prompt);
            assert_eq!(invocation.arguments, ["-r", ID, "-p"], "{prompt:.60}");
            assert_eq!(invocation.stdin.as_deref(), Some(prompt));
        }
    }

    #[test]
    fn slv_52_literal_newlines_are_two_characters() {
        let id = id();
        let session = ResumedSession {
            id: &id,
            plugin_dir: None,
            permission_mode: None,
            allow_bypass: false,
            newlines: ClaudeNewlines::Literal,
        };
        let invocation = claude(&session, "one\r\ntwo three\rfour\n").unwrap();
        assert_eq!(invocation.arguments, ["-r", ID, "-p"]);
        assert_eq!(invocation.stdin.as_deref(), Some("one\\ntwo three\\nfour\\n"));
    }

    #[test]
    fn plugin_and_permission_mode_are_passed_on_and_bypass_only_when_allowed() {
        let id = id();
        let arguments = |mode: &str, allow_bypass: bool| {
            let session = ResumedSession {
                id: &id,
                plugin_dir: Some("/plug in"),
                permission_mode: Some(mode),
                allow_bypass,
                newlines: ClaudeNewlines::Keep,
            };
            claude(&session, "go on").unwrap().arguments.join("|")
        };
        let plain = format!("--plugin-dir=/plug in|-r|{ID}|-p");
        let with =
            |mode: &str| format!("--plugin-dir=/plug in|--permission-mode|{mode}|-r|{ID}|-p");
        assert_eq!(arguments("plan", false), with("plan"));
        assert_eq!(arguments("bypassPermissions", true), with("bypassPermissions"));
        assert_eq!(arguments("bypassPermissions", false), plain);
        assert_eq!(arguments("--dangerously-skip-permissions", true), plain);
    }

    /// X46.
    #[test]
    fn slv_50_codex_reads_the_prompt_from_stdin_with_its_options_before_resume() {
        let id = id();
        let thread = |writer| ResumedThread { id: &id, cwd: Some("/home/user/a b"), writer };
        let free = codex(&thread(CodexWriter::Free), "-x\n$(y)").unwrap();
        insta::assert_snapshot!(free.arguments.join("|"), @"exec|-C|/home/user/a b|--skip-git-repo-check|resume|825c8529-ee09-4cb8-8902-dd785b12ca0a|-");
        assert_eq!(free.stdin.as_deref(), Some("-x\n$(y)"));
        let held = codex(&thread(CodexWriter::Held), "-x\n$(y)").unwrap();
        insta::assert_snapshot!(held.arguments.join("|"), @"
        queue|--thread|825c8529-ee09-4cb8-8902-dd785b12ca0a|--message=-x
        $(y)
        ");
        assert_eq!(held.stdin, None);
        let long = "x".repeat(LONGEST_ARGUMENT + 1);
        assert_eq!(codex(&thread(CodexWriter::Held), &long), Err(ResumeRefusal::TooLong));
        assert!(codex(&thread(CodexWriter::Free), &long).is_ok());
        assert!(codex(&thread(CodexWriter::Held), &long[1..]).is_ok(), "the longest that fits");
        // No argument can contain it.
        assert_eq!(codex(&thread(CodexWriter::Held), "a\0b"), Err(ResumeRefusal::TooLong));
    }

    #[test]
    fn a_session_is_opened_in_a_terminal_by_its_id_and_by_nothing_else() {
        let words = |agent: &str, id: &str, plugin_dir| {
            let words = in_terminal(&SessionKey::of(agent, id).unwrap(), plugin_dir);
            words.map(|words| words.join("|"))
        };
        let plugin = Some("/plug in");
        let claude = format!("claude|--plugin-dir=/plug in|-r|{ID}");
        assert_eq!(words("claude", ID, plugin), Some(claude));
        assert_eq!(words("claude", ID, None), Some(format!("claude|-r|{ID}")));
        assert_eq!(words("codex", ID, plugin), Some(format!("codex|resume|{ID}")));
        for agent in ["claude", "codex"] {
            assert_eq!(words(agent, "last", None), None, "the agent takes it for a name");
        }
    }

    #[test]
    fn a_session_that_has_gone_is_told_from_one_that_is_taken_and_from_any_other_failure() {
        let gone = [
            format!("No conversation found with session ID: {ID}\n"),
            format!("Error: no rollout found for thread id {ID}"),
            format!("Error: session {ID} is archived"),
        ];
        for stderr in &gone {
            assert!(says_session_unknown(stderr), "{stderr}");
            assert!(!says_thread_held(stderr), "{stderr}");
        }
        let held = format!("Error: thread {ID} already has an active writer (code -32600)");
        assert!(says_thread_held(&held) && !says_session_unknown(&held));
        for stderr in ["", "Error: stream disconnected before completion"] {
            assert!(!says_session_unknown(stderr) && !says_thread_held(stderr), "{stderr}");
        }
    }

    #[test]
    fn an_id_that_is_no_uuid_starts_nothing() {
        let id = SessionId::parse("last").unwrap();
        let session = ResumedSession {
            id: &id,
            plugin_dir: None,
            permission_mode: None,
            allow_bypass: false,
            newlines: ClaudeNewlines::Keep,
        };
        assert_eq!(claude(&session, "go on"), Err(ResumeRefusal::NoSessionId));
        let thread = ResumedThread { id: &id, cwd: None, writer: CodexWriter::Free };
        assert_eq!(codex(&thread, "go on"), Err(ResumeRefusal::NoSessionId));
    }

    #[test]
    fn commands_that_end_or_empty_a_session_are_refused_for_claude() {
        for text in ["/clear", " /exit ", "/QUIT", "/clear now"] {
            assert!(is_refused(Agent::Claude, text), "{text}");
            assert!(!is_refused(Agent::Codex, text), "{text}");
        }
        for text in ["/compact", "/clearance", "clear", "what does /clear do"] {
            assert!(!is_refused(Agent::Claude, text), "{text}");
        }
    }
}
