//! The command with which the user continues a session in a shell.

use turnbridge_core::agents::resume::in_terminal;
use turnbridge_core::session::Session;
use turnbridge_core::text::shell_words::visible_shell_words;

use crate::plugin_layout::to_load_again;

/// The command that opens a session, and the folder in which it must be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumeCommand {
    pub folder: String,
    pub argv: Vec<String>,
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
        Some(ResumeCommand { folder: folder.unwrap_or(".").to_owned(), argv })
    }

    /// Returns `cd '/home/user/my project' && claude -r ID`, for the usual shell of this system.
    /// Both shells of Windows accept `&&`, PowerShell since its version 7.
    pub fn line(&self) -> String {
        let words = if cfg!(windows) { windows_words } else { visible_shell_words };
        let cd = words(&["cd".to_owned(), self.folder.clone()]);
        format!("{cd} && {}", words(&self.argv))
    }
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
