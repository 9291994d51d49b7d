//! Creates a separate home for one test: temporary folders, and an environment whose folders are
//! all among them. Of the developer's environment it keeps only `PATH` (on Windows also the
//! variables that programs need to start). A test must neither see nor change the developer's
//! agents, settings, tokens or sessions. The tests decide which programs run in the home.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use tempfile::TempDir;

/// A home for one test. A drop removes it with all its files, once the last [`Lease`] on it is
/// dropped.
pub struct Hermetic {
    root: PathBuf,
    folder: Lease,
    codex_folder: String,
}

/// Keeps the folder for a process that still runs in it. Fields are dropped in the order of their
/// declaration, so a test's `Hermetic` may be dropped before the processes it started.
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

    /// Creates a home with another name for the folder of `CODEX_HOME`: one that breaks careless
    /// shell commands.
    #[track_caller]
    pub fn with_codex_folder(name: &str) -> Hermetic {
        let folder =
            tempfile::Builder::new().prefix("tb-").tempdir().expect("make a temporary folder");
        // Agents report resolved paths, and macOS's temporary folder is behind a symlink. On
        // Windows the resolution would add the `\\?\` prefix, which no agent reports.
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

    /// Returns the folder that contains all others; tests may add their own beside them.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the user's home folder.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Returns the working folder of the agent under test.
    pub fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// Returns the folder of Claude's settings (`CLAUDE_CONFIG_DIR`).
    pub fn claude_config_dir(&self) -> PathBuf {
        self.home().join(".claude")
    }

    /// Returns the folder of Codex's settings and threads (`CODEX_HOME`).
    pub fn codex_home(&self) -> PathBuf {
        self.home().join(&self.codex_folder)
    }

    /// Returns the folder of turnbridge's settings.
    pub fn config_dir(&self) -> PathBuf {
        match cfg!(windows) {
            true => self.home().join("AppData").join("Roaming").join("turnbridge"),
            false => self.home().join(".config").join("turnbridge"),
        }
    }

    /// Returns the folder of turnbridge's state.
    pub fn state_dir(&self) -> PathBuf {
        match cfg!(windows) {
            true => self.home().join("AppData").join("Local").join("turnbridge"),
            false => self.home().join(".local").join("state").join("turnbridge"),
        }
    }

    /// Returns a command with only this environment, in the project folder.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.environment()).current_dir(self.project());
        command
    }

    /// Returns all variables of the environment.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let mut variables: Vec<_> = self
            .folders()
            .into_iter()
            .map(|(name, folder)| (name, folder.into_os_string()))
            .collect();
        variables.push(("LANG", "C.UTF-8".into()));
        variables.push(("TERM", "xterm-256color".into()));
        // Windows finds neither sockets nor temporary folders without SystemRoot, and no `.exe`
        // without PATHEXT.
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

    /// Returns a handle that keeps the home's folder until it is dropped.
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
    // Programs refuse an XDG_RUNTIME_DIR that other users can enter.
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
