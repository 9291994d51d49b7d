//! Finds the files that belong to Turnbridge and the backups of the agents' files, for an
//! uninstallation, and deletes files. It removes no entry from an agent's file; `registration` does
//! that.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use turnbridge_store::foreign::foreign_file::changed_files;
use turnbridge_store::paths::StatePaths;

use crate::config_file;
use crate::registration::{claude_hooks, codex_notify};

/// Returns an error if Turnbridge has changed files of another `CLAUDE_CONFIG_DIR` or `CODEX_HOME`,
/// or in a distribution of WSL, because an uninstallation does not find these by itself. As long as
/// they are changed, Turnbridge's records of them must not be deleted.
pub fn check_elsewhere(paths: &StatePaths) -> Result<()> {
    let mut left = changed_files(paths).context("could not read the state folder")?;
    let own = [claude_hooks::settings_file()?, codex_notify::config_file(paths)?];
    left.retain(|path| own.iter().all(|file| file.path() != path));
    if left.is_empty() {
        return Ok(());
    }
    let left: Vec<_> = left.iter().map(|path| format!("`{}`", path.display())).collect();
    let hint = "`turnbridge hooks remove` and `turnbridge codex notify remove` give them back, with \
                `--wsl DISTRO`, or with CLAUDE_CONFIG_DIR or CODEX_HOME as they were";
    Err(anyhow!("{} still call us; {hint}", left.join(", ")))
}

/// Returns the existing files and folders that belong to Turnbridge alone. The folder of the config
/// is not among them, because it may contain other files.
pub fn own_files(paths: &StatePaths) -> Result<Vec<PathBuf>> {
    let config = config_file::path()?;
    let lock = config.with_file_name("config.toml.lock");
    let logs = paths.daemon_log().parent().map(Path::to_owned);
    let all = [Some(config), Some(lock), logs, Some(paths.state_dir())];
    Ok(all.into_iter().flatten().filter(|path| path.exists()).collect())
}

/// Deletes a file or a folder. One that is missing counts as deleted.
pub fn delete(path: &Path) -> Result<()> {
    let deleted = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match deleted {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("could not delete `{}`", path.display()))
        }
        _ => Ok(()),
    }
}

/// Returns the existing backups of the agents' files.
pub fn backups(paths: &StatePaths) -> Result<Vec<PathBuf>> {
    let files = [claude_hooks::settings_file()?, codex_notify::config_file(paths)?];
    Ok(files.iter().map(|file| file.backup_path()).filter(|backup| backup.exists()).collect())
}
