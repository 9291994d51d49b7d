//! Makes the command with which the user, or a new terminal, continues a session.

use turnbridge_core::agents::resume::in_terminal;
use turnbridge_core::session::Session;
use turnbridge_core::text::shell_words::{visible_shell_word, visible_shell_words};

use crate::agent_home::HomeVariable;
use crate::plugin_layout::to_load_again;

/// The command that opens a session, and the folder in which it must be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumeCommand {
    pub folder: String,
    pub argv: Vec<String>,
    /// The variable with the agent's own folder, if another shell may not have it.
    pub home: Option<HomeVariable>,
}

impl ResumeCommand {
    /// Returns `None` if the session's id is no UUID, because agents accept no other id.
    pub fn of(session: &Session) -> Option<ResumeCommand> {
        let plugin = session.runs.iter().rev().find_map(|run| run.host.plugin.as_ref());
        let plugin = plugin.filter(|plugin| plugin.by_plugin_dir);
        let plugin_dir = plugin.map(|plugin| to_load_again(&plugin.root));
        let argv = in_terminal(&session.key, plugin_dir.as_deref())?;
        let is_bound = session.key.agent.is_found_in_its_folder_only();
        let folder = if is_bound { session.project_dir() } else { session.cwd.as_deref() };
        let home = HomeVariable::of(session).filter(|home| !home.is_usual(session.key.agent));
        Some(ResumeCommand { folder: folder.unwrap_or(".").to_owned(), argv, home })
    }

    /// Returns `cd '/home/user/my project' && CODEX_HOME=/home/user/work codex resume ID`, for the
    /// usual shell of this system. Both shells of Windows accept `&&`, PowerShell since its version
    /// 7.
    pub fn line(&self) -> String {
        let words = if cfg!(windows) { windows_words } else { visible_shell_words };
        let cd = words(&["cd".to_owned(), self.folder.clone()]);
        let (home, argv) = (self.home.as_ref(), &self.argv);
        let command = match home {
            None => words(argv),
            Some(home) if cfg!(windows) => format!("cmd /d /c \"{}\"", windows_line(home, argv)),
            Some(home) => posix_line(home, argv),
        };
        format!("{cd} && {command}")
    }

    /// Returns the arguments that start it without a shell of the user's, with the variable set.
    pub fn argv_with_home(&self) -> Vec<String> {
        let argv = self.argv.as_slice();
        match &self.home {
            None => argv.to_owned(),
            Some(home) if cfg!(windows) => {
                [&["cmd", "/d", "/c"].map(str::to_owned), &[windows_line(home, argv)][..]].concat()
            }
            Some(home) => [&env(home), argv].concat(),
        }
    }
}

/// Returns the call of `env` that sets or removes the variable.
fn env(HomeVariable { name, value }: &HomeVariable) -> Vec<String> {
    match value {
        Some(value) => vec!["env".to_owned(), format!("{name}={value}")],
        None => ["env", "-u", name].map(str::to_owned).to_vec(),
    }
}

fn posix_line(home: &HomeVariable, argv: &[String]) -> String {
    let command = visible_shell_words(argv);
    match &home.value {
        Some(value) => format!("{}={} {command}", home.name, visible_shell_word(value)),
        None => format!("{} {command}", visible_shell_words(&env(home))),
    }
}

/// Returns the line for cmd. PowerShell passes it on unchanged unless it contains `$` or a
/// backtick. A blank before `&&` would belong to the value; without a value, `set` removes the
/// variable.
fn windows_line(HomeVariable { name, value }: &HomeVariable, argv: &[String]) -> String {
    let escaped = |c: char| match c {
        '"' => String::new(),
        '^' | '&' | '|' | '<' | '>' | '%' => format!("^{c}"),
        c => c.to_string(),
    };
    let value: String = value.iter().flat_map(|value| value.chars()).map(escaped).collect();
    format!("set {name}={value}&&{}", windows_words(argv))
}

/// Joins the words. On Windows no file name can contain a quote.
fn windows_words(argv: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./\\=:@+,".contains(c);
    let quoted = |word: &String| match !word.is_empty() && word.chars().all(is_plain) {
        true => word.clone(),
        false => format!("\"{}\"", word.replace('"', "")),
    };
    argv.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnbridge_core::ids::Agent;
    use turnbridge_core::ids::{SessionId, SessionKey};
    use turnbridge_core::timestamp::Timestamp;

    #[cfg(unix)]
    #[test]
    fn folders_are_quoted_when_they_must_be() {
        const ID: &str = "825c8529-ee09-4cb8-8902-dd785b12ca0a";
        let line = |agent: Agent, folder: Option<&str>| {
            let id = SessionId::parse(ID).unwrap();
            let mut session = Session::new(SessionKey::new(agent, id), Timestamp::default());
            session.cwd = folder.map(str::to_owned);
            ResumeCommand::of(&session).unwrap().line()
        };
        assert_eq!(line(Agent::Codex, None), format!("cd . && codex resume {ID}"));
        assert_eq!(line(Agent::Claude, Some("/a/b")), format!("cd /a/b && claude -r {ID}"));
        let folder = "/日本/it's; $(rm -rf ~)";
        let quoted = "'/日本/it'\\''s; $(rm -rf ~)'";
        assert_eq!(line(Agent::Claude, Some(folder)), format!("cd {quoted} && claude -r {ID}"));
        let folder = "/a\u{1b}日\u{202e}'\\\n";
        let quoted = r"$'/a\033日\342\200\256\047\134\012'";
        assert_eq!(line(Agent::Claude, Some(folder)), format!("cd {quoted} && claude -r {ID}"));
    }

    #[test]
    fn a_shell_of_windows_gets_its_own_quotes() {
        let argv = ["cd", "C:\\my project & more", "C:\\x", ""].map(str::to_owned);
        assert_eq!(windows_words(&argv), "cd \"C:\\my project & more\" C:\\x \"\"");
    }

    const fn variable(name: &'static str, value: Option<String>) -> HomeVariable {
        HomeVariable { name, value }
    }

    #[test]
    fn on_windows_cmd_sets_the_variable_whatever_the_shell() {
        let argv = ["codex", "resume", "x"].map(str::to_owned);
        let line = |value: Option<&str>| {
            windows_line(&variable("CODEX_HOME", value.map(str::to_owned)), &argv)
        };
        assert_eq!(line(Some("C:\\my home")), "set CODEX_HOME=C:\\my home&&codex resume x");
        assert_eq!(line(Some("C:\\a&b%c")), "set CODEX_HOME=C:\\a^&b^%c&&codex resume x");
        assert_eq!(line(None), "set CODEX_HOME=&&codex resume x");
    }

    #[cfg(unix)]
    #[test]
    fn a_shell_and_a_terminal_get_the_same_variable() {
        let argv = ["sh", "-c", "echo \"<${CODEX_HOME-none}>\""].map(str::to_owned).to_vec();
        for (value, expected) in [
            (Some("/it's a; home"), "</it's a; home>\n"),
            (Some("/=x"), "</=x>\n"),
            (None, "<none>\n"),
        ] {
            let home = variable("CODEX_HOME", value.map(str::to_owned));
            let command =
                ResumeCommand { folder: "/".to_owned(), argv: argv.clone(), home: Some(home) };
            let started = command.argv_with_home();
            for argv in [started, ["sh", "-c", &command.line()].map(str::to_owned).to_vec()] {
                let mut program = std::process::Command::new(&argv[0]);
                program.args(&argv[1..]).env("CODEX_HOME", "/other");
                let output = program.output().unwrap();
                assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{argv:?}");
            }
        }
    }

    #[test]
    fn what_is_no_uuid_is_not_resumed() {
        let id = SessionId::parse("session-1").unwrap();
        assert_eq!(
            ResumeCommand::of(&Session::new(
                SessionKey::new(Agent::Codex, id),
                Timestamp::default()
            )),
            None
        );
    }
}
