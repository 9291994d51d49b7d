//! A home of its own for one test: temporary folders, and an environment that holds nothing but them.
//! A test must neither see nor touch the developer's agents, settings, tokens or sessions.
//! Which programs are run in it is not decided here.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use tempfile::TempDir;

/// Removed with everything in it when dropped, but not before the last [`Lease`] on it.
pub struct Hermetic {
    root: PathBuf,
    folder: Lease,
    codex_folder: String,
}

/// Keeps the folder there for something that still runs in it: the fields of a struct are dropped in the order they are
/// written in, so a test's `Hermetic` may well go before what it started.
pub(crate) type Lease = Arc<TempDir>;

impl Default for Hermetic {
    fn default() -> Self {
        Hermetic::new()
    }
}

impl Hermetic {
    #[track_caller]
    pub fn new() -> Hermetic {
        Hermetic::with_codex_folder(".codex")
    }

    /// With another name for the folder that is `CODEX_HOME`: one that a careless shell command trips over.
    #[track_caller]
    pub fn with_codex_folder(name: &str) -> Hermetic {
        let folder =
            tempfile::Builder::new().prefix("tb-").tempdir().expect("make a temporary folder");
        // Agents report resolved paths, and macOS's temporary folder lies behind a symlink. On Windows resolving
        // would add the `\\?\` prefix, which no agent reports.
        let root = match cfg!(windows) {
            true => folder.path().to_owned(),
            false => folder.path().canonicalize().expect("resolve the temporary folder"),
        };
        let hermetic = Hermetic { root, folder: Arc::new(folder), codex_folder: name.to_owned() };
        for (_, folder) in hermetic.folders() {
            create_private_folder(&folder);
        }
        create_private_folder(&hermetic.project());
        hermetic
    }

    /// The folder that holds all others; tests may add their own beside them.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Where the agent under test works.
    pub fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    pub fn claude_config_dir(&self) -> PathBuf {
        self.home().join(".claude")
    }

    pub fn codex_home(&self) -> PathBuf {
        self.home().join(&self.codex_folder)
    }

    /// Where turnbridge keeps its settings.
    pub fn config_dir(&self) -> PathBuf {
        match cfg!(windows) {
            true => self.home().join("AppData").join("Roaming").join("turnbridge"),
            false => self.home().join(".config").join("turnbridge"),
        }
    }

    /// Where turnbridge keeps its state.
    pub fn state_dir(&self) -> PathBuf {
        match cfg!(windows) {
            true => self.home().join("AppData").join("Local").join("turnbridge"),
            false => self.home().join(".local").join("state").join("turnbridge"),
        }
    }

    /// A command that sees this environment and nothing else; it starts in the project folder.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.environment()).current_dir(self.project());
        command
    }

    /// All variables of the environment.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let mut variables: Vec<_> = self
            .folders()
            .into_iter()
            .map(|(name, folder)| (name, folder.into_os_string()))
            .collect();
        variables.push(("LANG", "C.UTF-8".into()));
        variables.push(("TERM", "xterm-256color".into()));
        // Windows finds neither sockets nor temporary folders without SystemRoot, and no `.exe` without PATHEXT.
        let inherited: &[_] = if cfg!(windows) {
            &["PATH", "PATHEXT", "SystemRoot", "SystemDrive", "ComSpec"]
        } else {
            &["PATH"]
        };
        for name in inherited {
            variables.extend(std::env::var_os(name).map(|value| (*name, value)));
        }
        variables
    }

    #[cfg_attr(not(unix), allow(dead_code, reason = "only `tmux.rs` takes one"))]
    pub(crate) fn lease(&self) -> Lease {
        Arc::clone(&self.folder)
    }

    fn folders(&self) -> Vec<(&'static str, PathBuf)> {
        let home = self.home();
        let temporary = self.root.join("tmp");
        let mut folders = vec![
            ("HOME", home.clone()),
            ("XDG_CONFIG_HOME", home.join(".config")),
            ("XDG_STATE_HOME", home.join(".local").join("state")),
            ("XDG_DATA_HOME", home.join(".local").join("share")),
            ("XDG_CACHE_HOME", home.join(".cache")),
            ("XDG_RUNTIME_DIR", self.root.join("run")),
            ("CLAUDE_CONFIG_DIR", self.claude_config_dir()),
            ("CODEX_HOME", self.codex_home()),
            ("TMPDIR", temporary.clone()),
        ];
        if cfg!(windows) {
            folders.extend([
                ("USERPROFILE", home.clone()),
                ("APPDATA", home.join("AppData").join("Roaming")),
                ("LOCALAPPDATA", home.join("AppData").join("Local")),
                ("TEMP", temporary.clone()),
                ("TMP", temporary),
            ]);
        }
        folders
    }
}

#[track_caller]
fn create_private_folder(folder: &Path) {
    fs::create_dir_all(folder)
        .unwrap_or_else(|error| panic!("create `{}`: {error}", folder.display()));
    // Programs refuse an XDG_RUNTIME_DIR that others can enter.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
            .unwrap_or_else(|error| panic!("make `{}` private: {error}", folder.display()));
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_command_sees_only_the_hermetic_environment() {
        let hermetic = Hermetic::new();
        let output = hermetic.command("env").output().expect("run `env`");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let root = hermetic.root().to_str().expect("UTF-8");
        for line in text.lines() {
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            assert!(["PATH", "LANG", "TERM"].contains(&name) || value.starts_with(root), "{line}");
        }
        assert!(hermetic.state_dir().starts_with(hermetic.home()));
    }
}
