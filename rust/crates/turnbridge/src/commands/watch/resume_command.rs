//! The command with which a person goes on with a session in a shell of their own.

use turnbridge_core::ids::Tool;
use turnbridge_core::session::Session;

/// `cd '/home/user/my project' && claude -r ID`. Agents know a session only in its own folder.
pub fn resume_command(session: &Session) -> String {
    let mut command = String::new();
    // Both shells of Windows have it as well, PowerShell since its version 7.
    if let Some(folder) = session.project_dir() {
        command.push_str(&format!("cd {} && ", quoted(folder)));
    }
    let id = quoted(session.id.as_str());
    match session.tool {
        Tool::Codex => command.push_str(&format!("codex resume {id}")),
        Tool::Claude => {
            command.push_str("claude");
            let plugin = session.current_run().and_then(|run| run.host.plugin.as_ref());
            if let Some(plugin) = plugin.filter(|plugin| plugin.by_plugin_dir) {
                command.push_str(&format!(" --plugin-dir {}", quoted(&plugin.root)));
            }
            command.push_str(&format!(" -r {id}"));
        }
    }
    command
}

/// For the shell that is usual here.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| {
        c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c) || cfg!(windows) && c == '\\'
    };
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    match cfg!(windows) {
        // No file's name can have a quote in it there.
        true => format!("\"{}\"", text.replace('"', "")),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use turnbridge_core::ids::SessionId;
    use turnbridge_core::timestamp::Timestamp;

    use super::*;

    #[track_caller]
    fn check(tool: Tool, folder: Option<&str>, expected: &str) {
        let id = SessionId::parse("825c8529-ee09-4cb8-8902-dd785b12ca0a").unwrap();
        let mut session = Session::new(tool, id, Timestamp::default());
        session.cwd = folder.map(str::to_owned);
        assert_eq!(resume_command(&session), expected);
    }

    #[test]
    fn folders_are_quoted_when_they_must_be() {
        let id = "825c8529-ee09-4cb8-8902-dd785b12ca0a";
        check(Tool::Codex, None, &format!("codex resume {id}"));
        check(Tool::Claude, Some("/a/b"), &format!("cd /a/b && claude -r {id}"));
        let folder = "/日本/it's; $(rm -rf ~)";
        let quoted = "'/日本/it'\\''s; $(rm -rf ~)'";
        check(Tool::Claude, Some(folder), &format!("cd {quoted} && claude -r {id}"));
    }
}
