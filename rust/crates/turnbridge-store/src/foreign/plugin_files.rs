//! Reads the name of a plugin, and whether a folder brings a server or a plugin with Turnbridge's
//! names, from the files that Claude Code reads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;
use turnbridge_core::gate::speak::{is_own_plugin_key, is_own_voice_server};

use crate::files::bounded_file;
use crate::process::system_home::system_home;

/// The limit of a manifest and of a list of servers.
const LONGEST: u64 = 4 << 20;

#[derive(Deserialize)]
struct Manifest {
    name: String,
}

#[derive(Deserialize)]
struct Servers {
    #[serde(default, rename = "mcpServers")]
    names: BTreeMap<String, IgnoredAny>,
}

#[derive(Deserialize)]
struct PluginSettings {
    #[serde(default, rename = "enabledPlugins")]
    plugins: BTreeMap<String, IgnoredAny>,
    #[serde(default, rename = "extraKnownMarketplaces")]
    marketplaces: BTreeMap<String, IgnoredAny>,
}

/// Returns the name of the plugin in this folder.
pub fn manifest_name(root: &Path) -> Option<String> {
    let manifest = bounded_file::read(&root.join(".claude-plugin/plugin.json"), LONGEST).ok()?;
    serde_json::from_slice::<Manifest>(&manifest).ok().map(|manifest| manifest.name)
}

/// Returns whether a server or a plugin that this folder brings could have Turnbridge's names.
pub fn takes_our_names(folder: &Path) -> bool {
    // A file that this process cannot read may be readable for Claude Code.
    let is_taken = |file: PathBuf, has_ours: fn(&[u8]) -> bool| {
        let text = bounded_file::read_if_there(&file, LONGEST);
        text.map_or(true, |text| text.is_some_and(|text| has_ours(&text)))
    };
    let is_home = || system_home().is_some_and(|home| is_same(&home, folder));
    let settings = ["settings.json", "settings.local.json"];
    let settings = settings.map(|name| folder.join(".claude").join(name));
    is_taken(folder.join(".mcp.json"), has_our_server)
        || settings.into_iter().any(|file| is_taken(file, brings_plugins)) && !is_home()
}

fn is_same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|o| o == one))
}

fn has_our_server(servers: &[u8]) -> bool {
    let Ok(servers) = serde_json::from_slice::<Servers>(servers) else { return true };
    servers.names.keys().any(|name| is_own_voice_server(name))
}

/// Returns whether the settings bring a plugin by Turnbridge's name, or a marketplace. The names of
/// a marketplace's plugins are in other files.
fn brings_plugins(settings: &[u8]) -> bool {
    let Ok(settings) = serde_json::from_slice::<PluginSettings>(settings) else { return true };
    !settings.marketplaces.is_empty() || settings.plugins.keys().any(|key| is_own_plugin_key(key))
}
