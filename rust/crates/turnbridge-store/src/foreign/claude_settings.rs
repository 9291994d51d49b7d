//! Lists the settings files that Claude follows, and reads the value of `sandbox.enabled` in one.
//! It never changes them.

use std::io;
use std::path::{Path, PathBuf};

use turnbridge_core::agents::claude::sandbox::{Layer, LayerValue, UnsetReason, sandbox_value};

use crate::files::bounded_file;
use crate::paths::claude_config_dir;

/// The limit of a settings file.
const LONGEST: u64 = 16 << 20;

#[cfg(target_os = "macos")]
const MANAGED: &str = "/Library/Application Support/ClaudeCode";
#[cfg(windows)]
const MANAGED: &str = r"C:\Program Files\ClaudeCode";
#[cfg(not(any(target_os = "macos", windows)))]
const MANAGED: &str = "/etc/claude-code";

/// Returns the files that a Claude in `project` follows, highest precedence first.
pub fn layers(project: Option<&Path>) -> Vec<(Layer, PathBuf)> {
    layers_in(Path::new(MANAGED), project, claude_config_dir().as_deref())
}

fn layers_in(
    managed: &Path,
    project: Option<&Path>,
    config: Option<&Path>,
) -> Vec<(Layer, PathBuf)> {
    let mut layers = Vec::new();
    // Claude's copy of the settings that an organisation has set for its members at claude.ai.
    layers.extend(config.map(|config| (Layer::Managed, config.join("remote-settings.json"))));
    for path in drop_ins(&managed.join("managed-settings.d")) {
        layers.push((Layer::Managed, path));
    }
    layers.push((Layer::Managed, managed.join("managed-settings.json")));
    if let Some(project) = project.map(|project| project.join(".claude")) {
        layers.push((Layer::ProjectLocal, project.join("settings.local.json")));
        layers.push((Layer::Project, project.join("settings.json")));
    }
    if let Some(config) = config {
        layers.push((Layer::UserLocal, config.join("settings.local.json")));
        layers.push((Layer::User, config.join("settings.json")));
    }
    layers
}

/// Returns the drop-in files. Claude applies them over the file beside the folder, in the order of
/// their names, so the last one wins.
fn drop_ins(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let is_meant = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".json") && !name.starts_with('.')
    };
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut paths: Vec<_> = paths.filter(is_meant).collect();
    paths.sort();
    paths.reverse();
    paths
}

/// Returns the value of `sandbox.enabled` in one of the files.
pub fn sandbox_in(path: &Path) -> LayerValue {
    match bounded_file::read(path, LONGEST) {
        Ok(contents) => sandbox_value(&contents),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            LayerValue::Silent(UnsetReason::Absent)
        }
        // A path below a file that is no folder cannot exist.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            LayerValue::Silent(UnsetReason::Absent)
        }
        Err(_) => LayerValue::Silent(UnsetReason::Unreadable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cvi_22_cvi_23_a_file_that_cannot_be_read_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let silent = LayerValue::Silent;
        let path = folder.path().join("settings.json");
        assert_eq!(sandbox_in(&path), silent(UnsetReason::Absent));
        std::fs::write(&path, r#"{"sandbox":{"enabled":true}}"#).unwrap();
        assert_eq!(sandbox_in(&path), LayerValue::Enabled);
        assert_eq!(sandbox_in(&path.join("x")), silent(UnsetReason::Absent));
        assert_eq!(sandbox_in(folder.path()), silent(UnsetReason::Unreadable));
    }

    #[test]
    fn what_the_administrator_has_set_stands_above_all_and_the_last_drop_in_above_that() {
        let folder = tempfile::tempdir().unwrap();
        let managed = folder.path().join("managed");
        let drop_ins = managed.join("managed-settings.d");
        std::fs::create_dir_all(&drop_ins).unwrap();
        for name in ["20-b.json", "10-a.json", "9-c.json", ".hidden.json", "30.txt"] {
            std::fs::write(drop_ins.join(name), "{}").unwrap();
        }
        let layers = layers_in(&managed, Some(Path::new("p")), Some(Path::new("c")));
        let shown: Vec<_> = layers
            .iter()
            .map(|(layer, path)| {
                let path = path.strip_prefix(folder.path()).unwrap_or(path).to_string_lossy();
                format!("{}: {}", layer.as_str(), path.replace('\\', "/"))
            })
            .collect();
        assert_eq!(
            shown,
            [
                "managed: c/remote-settings.json",
                "managed: managed/managed-settings.d/9-c.json",
                "managed: managed/managed-settings.d/20-b.json",
                "managed: managed/managed-settings.d/10-a.json",
                "managed: managed/managed-settings.json",
                "project local: p/.claude/settings.local.json",
                "project: p/.claude/settings.json",
                "user local: c/settings.local.json",
                "user: c/settings.json",
            ]
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_symlink_is_followed_and_a_pipe_or_a_loop_keeps_nobody_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("real.json");
        std::fs::write(&real, r#"{"sandbox":{"enabled":false}}"#).unwrap();
        let link = folder.path().join("settings.json");
        std::os::unix::fs::symlink("real.json", &link).unwrap();
        assert_eq!(sandbox_in(&link), LayerValue::Disabled);
        let turn = folder.path().join("loop.json");
        std::os::unix::fs::symlink("loop.json", &turn).unwrap();
        assert_eq!(sandbox_in(&turn), LayerValue::Silent(UnsetReason::Unreadable));
        let pipe = folder.path().join("pipe.json");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert_eq!(sandbox_in(&pipe), LayerValue::Silent(UnsetReason::Unreadable));
    }
}
