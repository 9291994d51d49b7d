//! Finds Turnbridge's plugin in Claude Code: where it is installed, and whether it is enabled. No
//! file lists the plugins that `--plugin-dir` loads; only earlier sessions show them.

use std::path::{Path, PathBuf};

use serde_json::Value;
use turnbridge_core::agents::claude::sandbox::Layer;
use turnbridge_core::session::Session;
use turnbridge_core::timestamp::Timestamp;
use turnbridge_store::foreign::claude_settings;
use turnbridge_store::foreign::foreign_text::read_json;
use turnbridge_store::paths::claude_config_dir;

use crate::plugin_layout::executable_in;
use crate::programs::version_of_ours;

/// How long a session with `--plugin-dir` counts as evidence that the user usually passes it.
const LATELY: u64 = 7 * 24 * 60 * 60;

/// One installation of the plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginInstallation {
    /// `turnbridge@MARKETPLACE`.
    pub name: String,
    pub is_enabled: bool,
    pub is_installed: bool,
    /// The folder from which its hooks run, if it contains an executable.
    pub root: Option<PathBuf>,
    /// The version of that executable.
    pub version: Option<String>,
}

/// The settings files that Claude follows in `project`, highest precedence first.
pub struct Layers(Vec<(Layer, PathBuf, Value)>);

impl Layers {
    pub fn read(project: Option<&Path>) -> Layers {
        let layers = claude_settings::layers(project).into_iter();
        // Claude itself never reads this one (the gate reads it for its own facts).
        let layers = layers.filter(|(layer, _)| *layer != Layer::UserLocal);
        Layers(layers.map(|(layer, path)| (layer, path.clone(), read_json(&path))).collect())
    }

    /// Returns the files, highest precedence first.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(|(_, path, _)| path.as_path())
    }

    /// Returns the value of a switch in the highest layer that has one, and that layer's file.
    pub fn switch(&self, name: &str) -> Option<(bool, &Path)> {
        let mut said = self.0.iter().filter_map(|(_, path, settings)| {
            settings[name].as_bool().map(|value| (value, path.as_path()))
        });
        said.next()
    }

    /// Returns the managed file that enables something.
    pub fn managed(&self, name: &str) -> Option<&Path> {
        let mut managed = self.0.iter().filter(|(layer, _, _)| *layer == Layer::Managed);
        managed.find(|(_, _, settings)| settings[name] == true).map(|(_, path, _)| path.as_path())
    }

    /// Returns Turnbridge's plugins that are enabled or disabled, each by the highest layer that
    /// names it.
    fn enabled_plugins(&self) -> Vec<(String, bool)> {
        let mut plugins: Vec<(String, bool)> = Vec::new();
        for (_, _, settings) in &self.0 {
            let named = settings["enabledPlugins"].as_object().into_iter().flatten();
            for (name, value) in named.filter(|(name, _)| is_ours(name)) {
                let is_known = plugins.iter().any(|(known, _)| known == name);
                if let (false, Some(value)) = (is_known, value.as_bool()) {
                    plugins.push((name.clone(), value));
                }
            }
        }
        plugins
    }
}

/// Returns Turnbridge's plugins that the settings name or that Claude Code has installed.
pub fn find(config_dir: &Path, layers: &Layers) -> Vec<PluginInstallation> {
    let folder = config_dir.join("plugins");
    let installed = read_json(&folder.join("installed_plugins.json"));
    let marketplaces = read_json(&folder.join("known_marketplaces.json"));
    let mut plugins = layers.enabled_plugins();
    for (name, _) in installed["plugins"].as_object().into_iter().flatten() {
        if is_ours(name) && !plugins.iter().any(|(known, _)| known == name) {
            plugins.push((name.clone(), false));
        }
    }
    plugins
        .into_iter()
        .map(|(name, is_enabled)| {
            let places = installed["plugins"][&name].as_array();
            let with_executable = |root: PathBuf| {
                executable_in(&root, "turnbridge-status").map(|program| (root, program))
            };
            let found = roots(&name, places, &marketplaces).find_map(with_executable);
            let (root, program) = found.unzip();
            let asked = program.filter(|_| is_enabled);
            let version = asked.and_then(|program| version_of_ours(&program));
            let is_installed = places.is_some_and(|places| !places.is_empty());
            PluginInstallation { name, is_enabled, is_installed, root, version }
        })
        .collect()
}

/// Returns whether Claude Code loads Turnbridge's plugin without an option.
pub fn is_enabled() -> bool {
    let plugins =
        claude_config_dir().map(|folder| find(&folder, &Layers::read(None))).unwrap_or_default();
    plugins.iter().any(|plugin| plugin.is_enabled && plugin.root.is_some())
}

/// Returns whether a session of the last days had the plugin by `--plugin-dir`.
pub fn is_plugin_dir_seen(sessions: &[Session], now: Timestamp) -> bool {
    sessions.iter().flat_map(|session| &session.runs).any(|run| {
        run.host.plugin.as_ref().is_some_and(|plugin| plugin.by_plugin_dir)
            && now.since(run.last_at).as_secs() < LATELY
    })
}

fn is_ours(plugin: &str) -> bool {
    plugin.starts_with("turnbridge@")
}

/// Returns the folders of a plugin: the copy that Claude has made. Of a marketplace that is a
/// folder, Claude runs the original, which comes first.
fn roots<'a>(
    name: &str,
    places: Option<&'a Vec<Value>>,
    marketplaces: &'a Value,
) -> impl Iterator<Item = PathBuf> {
    let marketplace = &marketplaces[name.split_once('@').map_or("", |(_, market)| market)];
    let original = match marketplace["source"]["source"] == "directory" {
        true => marketplace["installLocation"].as_str(),
        false => None,
    };
    let copies = places.into_iter().flatten().filter_map(|place| place["installPath"].as_str());
    original.into_iter().chain(copies).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_highest_layer_that_names_a_switch_decides() {
        let layer = |layer, name: &str, value| (layer, PathBuf::from(name), value);
        let layers = Layers(vec![
            layer(Layer::Managed, "m", json!({"allowManagedHooksOnly": true})),
            layer(
                Layer::Project,
                "p",
                json!({"disableAllHooks": false, "enabledPlugins": {"turnbridge@a": false, "x@a": true}}),
            ),
            layer(
                Layer::User,
                "u",
                json!({"disableAllHooks": true, "allowManagedHooksOnly": true, "enabledPlugins": {"turnbridge@a": true, "turnbridge@b": true, "turnbridge@c": 1}}),
            ),
        ]);
        assert_eq!(layers.switch("disableAllHooks"), Some((false, Path::new("p"))));
        assert_eq!(layers.managed("allowManagedHooksOnly"), Some(Path::new("m")));
        assert_eq!(layers.managed("disableAllHooks"), None, "the user's own is no managed one");
        let expected = [("turnbridge@a".to_owned(), false), ("turnbridge@b".to_owned(), true)];
        assert_eq!(layers.enabled_plugins(), expected);
    }

    #[test]
    fn a_marketplace_that_is_a_folder_runs_its_original() {
        let places = vec![json!({"installPath": "/cache/1"}), json!({"scope": "user"}), json!(7)];
        let roots_of = |kind: &str| -> Vec<PathBuf> {
            let marketplaces = json!({"m": {"source": {"source": kind}, "installLocation": "/m"}});
            roots("turnbridge@m", Some(&places), &marketplaces).collect()
        };
        assert_eq!(roots_of("directory"), [Path::new("/m"), Path::new("/cache/1")]);
        assert_eq!(roots_of("github"), [Path::new("/cache/1")]);
    }
}
