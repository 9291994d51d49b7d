//! Returns the paths of Turnbridge's files and of the agents' folders, according to the
//! environment. A session's key is checked before it becomes a part of a name.

use std::path::{Path, PathBuf};

use turnbridge_core::ids::SessionKey;

/// The folder of Turnbridge's state and, on macOS, the separate one of its logs.
#[derive(Debug, Clone)]
pub struct StatePaths {
    state: PathBuf,
    logs: PathBuf,
}

impl StatePaths {
    /// Returns `None` if the environment names no home.
    pub fn from_env() -> Option<StatePaths> {
        let state = platform_state_dir()?.join("turnbridge");
        let logs = platform_log_dir().unwrap_or_else(|| state.join("logs"));
        Some(StatePaths { state, logs })
    }

    /// Puts everything below one folder, whatever the platform's usual folders are.
    pub fn below(state: &Path) -> StatePaths {
        StatePaths { state: state.to_owned(), logs: state.join("logs") }
    }

    pub fn sessions_dir(&self) -> PathBuf {
        self.state.join("sessions")
    }

    pub fn session_file(&self, key: &SessionKey) -> PathBuf {
        self.sessions_dir().join(format!("{key}{SESSION_END}"))
    }

    pub fn session_lock(&self, key: &SessionKey) -> PathBuf {
        self.sessions_dir().join(format!("{key}.lock"))
    }

    pub fn turns_dir(&self) -> PathBuf {
        self.state.join("turns")
    }

    pub fn turns_file(&self, key: &SessionKey) -> PathBuf {
        self.turns_dir().join(format!("{key}{TURNS_END}"))
    }

    /// Returns the session file to which a file in `turns/` belongs: `KEY.jsonl`, `KEY.PID.prompt`,
    /// `KEY.PID.answer` or `KEY.sandbox.noted`. The key may name an agent that only a newer version
    /// knows.
    pub fn session_file_of_turns(&self, turns: &Path) -> PathBuf {
        let name = turns.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let without_extension = |name| Path::new(name).file_stem()?.to_str();
        let key =
            name.strip_suffix(TURNS_END).or_else(|| without_extension(without_extension(name)?));
        self.sessions_dir().join(format!("{}{SESSION_END}", key.unwrap_or_default()))
    }

    /// The whole of a prompt that is too long for the session file. There is one per process: a
    /// side run has a separate one.
    pub fn prompt_file(&self, key: &SessionKey, pid: u32) -> PathBuf {
        self.turns_dir().join(format!("{key}.{pid}.prompt"))
    }

    /// The answer of a Stop that the gate blocked, until the turn ends; one per process.
    pub fn answer_file(&self, key: &SessionKey, pid: u32) -> PathBuf {
        self.turns_dir().join(format!("{key}.{pid}.answer"))
    }

    /// Exists once this session has shown the user that the sandbox switches the gate off. It is
    /// removed with the session's turns.
    pub fn sandbox_note(&self, key: &SessionKey) -> PathBuf {
        self.turns_dir().join(format!("{key}.sandbox.noted"))
    }

    /// The turns whose end a hook has seen but not handled yet; see `pending_turns`.
    pub fn pending_dir(&self) -> PathBuf {
        self.state.join("pending")
    }

    pub fn outbox_dir(&self) -> PathBuf {
        self.state.join("outbox")
    }

    pub fn inbox_dir(&self) -> PathBuf {
        self.state.join("inbox")
    }

    pub fn routes_file(&self) -> PathBuf {
        self.state.join("routes.jsonl")
    }

    /// The lock that the daemon holds while it runs.
    pub fn daemon_lock(&self) -> PathBuf {
        self.state.join("daemon.lock")
    }

    /// The `notify` program that Codex had before Turnbridge; see `state::previous_notify`.
    pub fn previous_notify(&self) -> PathBuf {
        self.state.join("codex-notify.json")
    }

    /// The daemon's report on itself.
    pub fn daemon_status(&self) -> PathBuf {
        self.state.join("daemon.json")
    }

    /// The address of the board, and its token; see `board_wire`.
    pub fn board_file(&self) -> PathBuf {
        self.state.join("board.json")
    }

    /// The ticket that signs one browser in, once; see the board's `sign_in`.
    pub fn board_ticket(&self) -> PathBuf {
        self.state.join("board-ticket")
    }

    /// The page that leads a browser to the board with the ticket.
    pub fn board_page(&self) -> PathBuf {
        self.state.join("board-open.html")
    }

    /// The code that signs in one user who types it, once.
    pub fn board_code(&self) -> PathBuf {
        self.state.join("board-code")
    }

    /// The file by which another process asks the daemon to stop.
    pub fn daemon_stop(&self) -> PathBuf {
        self.state.join("daemon.stop")
    }

    pub fn state_dir(&self) -> PathBuf {
        self.state.clone()
    }

    /// The name of this machine among those that use the same Slack app; see `machine_wire`.
    pub fn machine_file(&self) -> PathBuf {
        self.state.join("machine.json")
    }

    /// How far each of Turnbridge's threads in Slack has been read; see `thread_marks`.
    pub fn thread_marks(&self) -> PathBuf {
        self.state.join("slack-threads.jsonl")
    }

    /// The messages that were received but not judged yet; see `heard`.
    pub fn heard_dir(&self) -> PathBuf {
        self.state.join("heard")
    }

    /// The direct message with the user, and its workspace; see `slack_place`.
    pub fn slack_place(&self) -> PathBuf {
        self.state.join("slack-place.json")
    }

    /// The newest message in Slack that a daemon of 0.1 had received.
    pub fn slack_heard(&self) -> PathBuf {
        self.state.join("slack-heard")
    }

    pub fn daemon_log(&self) -> PathBuf {
        self.logs.join("daemon.log")
    }

    /// How far Codex's rollouts have been read; see `codex_offsets`.
    pub fn codex_offsets(&self) -> PathBuf {
        self.state.join("codex-offsets.json")
    }

    pub fn notify_log(&self) -> PathBuf {
        self.logs.join("notify.log")
    }

    pub fn hooks_log(&self) -> PathBuf {
        self.logs.join("hooks.log")
    }

    /// The name of the speech that may play; see `speech_mark`.
    pub fn speech_mark(&self) -> PathBuf {
        self.state.join("speaking")
    }

    /// The panes that launches have reported; see `pane_store`.
    pub fn panes_file(&self) -> PathBuf {
        self.state.join("panes.json")
    }

    pub fn panes_lock(&self) -> PathBuf {
        self.state.join("panes.lock")
    }

    /// The lock of the process that searches for old files.
    pub fn prune_lock(&self) -> PathBuf {
        self.state.join("prune.lock")
    }

    /// The time of the last search for old files; see `prune_plan`.
    pub fn prune_mark(&self) -> PathBuf {
        self.state.join("pruned")
    }
}

/// The end of the names of session files.
const SESSION_END: &str = ".json";
/// The end of the names of the files with sessions' turns.
const TURNS_END: &str = ".jsonl";

/// Returns the session whose file has this name, as `StatePaths::session_file` makes it. Returns
/// `None` for a lock, a file that is being written, and any other name.
pub fn session_of_file(name: &str) -> Option<SessionKey> {
    SessionKey::parse(name.strip_suffix(SESSION_END)?)
}

/// Returns the session whose turns the file with this name contains, as `StatePaths::turns_file`
/// makes it.
pub fn session_of_turns_file(name: &str) -> Option<SessionKey> {
    SessionKey::parse(name.strip_suffix(TURNS_END)?)
}

/// Returns an absolute path from the environment. XDG requires that a relative one is ignored.
fn absolute(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

pub fn home_dir() -> Option<PathBuf> {
    absolute(if cfg!(windows) { "USERPROFILE" } else { "HOME" })
}

/// Returns Claude's folder: `CLAUDE_CONFIG_DIR`, else `~/.claude`.
pub fn claude_config_dir() -> Option<PathBuf> {
    absolute("CLAUDE_CONFIG_DIR").or_else(|| home_dir().map(|home| home.join(".claude")))
}

/// Returns Codex's folder: `CODEX_HOME`, else `~/.codex`.
pub fn codex_home() -> Option<PathBuf> {
    absolute("CODEX_HOME").or_else(|| home_dir().map(|home| home.join(".codex")))
}

/// Returns the settings file of the original CVI plugin.
pub fn cvi_config_file() -> Option<PathBuf> {
    home_dir().map(|home| home.join(".cvi").join("config"))
}

/// Returns the path of `config.toml`, whether it exists or not.
pub fn config_file() -> Option<PathBuf> {
    platform_config_dir().map(|folder| folder.join("turnbridge").join("config.toml"))
}

#[cfg(windows)]
fn platform_config_dir() -> Option<PathBuf> {
    let in_home = || home_dir().map(|home| home.join("AppData").join("Roaming"));
    absolute("APPDATA").or_else(in_home)
}

#[cfg(not(windows))]
fn platform_config_dir() -> Option<PathBuf> {
    absolute("XDG_CONFIG_HOME").or_else(|| home_dir().map(|home| home.join(".config")))
}

#[cfg(windows)]
fn platform_state_dir() -> Option<PathBuf> {
    let in_home = || home_dir().map(|home| home.join("AppData").join("Local"));
    absolute("LOCALAPPDATA").or_else(in_home)
}

#[cfg(not(windows))]
fn platform_state_dir() -> Option<PathBuf> {
    let in_home = || home_dir().map(|home| home.join(".local").join("state"));
    absolute("XDG_STATE_HOME").or_else(in_home)
}

fn platform_log_dir() -> Option<PathBuf> {
    if !cfg!(target_os = "macos") || absolute("XDG_STATE_HOME").is_some() {
        return None;
    }
    home_dir().map(|home| home.join("Library").join("Logs").join("turnbridge"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnbridge_core::ids::Agent;

    fn name_of(file: &Path) -> &str {
        file.file_name().and_then(|name| name.to_str()).unwrap()
    }

    #[test]
    fn names_that_are_no_sessions_are_passed_over() {
        let paths = StatePaths::below(Path::new("state"));
        for agent in Agent::ALL {
            for id in ["825c8529-ee09-4cb8-8902-000000000001", "a.b-c"] {
                let key = SessionKey::of(agent.as_str(), id).unwrap();
                let file = paths.session_file(&key);
                assert_eq!(session_of_file(name_of(&file)), Some(key.clone()));
                assert_eq!(session_of_turns_file(name_of(&file)), None);
                let file = paths.turns_file(&key);
                assert_eq!(session_of_turns_file(name_of(&file)), Some(key));
                assert_eq!(session_of_file(name_of(&file)), None);
            }
        }
        for stem in ["claude-x.lock", ".claude-x.json.7.tmp", "codex-x.7.prompt", "pruned", ""] {
            assert_eq!(
                (session_of_file(stem), session_of_turns_file(stem)),
                (None, None),
                "{stem}"
            );
        }
        for stem in [".claude-x", "other-x", "claude-", "rm"] {
            assert_eq!(session_of_file(&format!("{stem}.json")), None, "{stem}");
            assert_eq!(session_of_turns_file(&format!("{stem}.jsonl")), None, "{stem}");
        }
    }

    #[test]
    fn every_file_of_a_session_s_turns_leads_to_the_session_also_of_an_agent_that_is_not_known() {
        let paths = StatePaths::below(Path::new("state"));
        let key = SessionKey::of("codex", "a.b-c").unwrap();
        let files = [
            paths.turns_file(&key),
            paths.prompt_file(&key, 7),
            paths.answer_file(&key, 7),
            paths.sandbox_note(&key),
        ];
        for file in files {
            assert_eq!(paths.session_file_of_turns(&file), paths.session_file(&key));
        }
        let newer = paths.session_file_of_turns(&paths.turns_dir().join("gemini-x.jsonl"));
        assert_eq!(newer, paths.sessions_dir().join("gemini-x.json"));
    }
}
