//! What Claude Code reads of plugins and projects, as far as it says whose a name is.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use turnbridge_core::speak::{OWN_PLUGIN, is_own_voice_server};

use crate::bounded_file;

/// No manifest and no list of servers is longer.
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

/// The name of the plugin in this folder.
pub fn manifest_name(root: &Path) -> Option<String> {
    let manifest = bounded_file::read(&root.join(".claude-plugin/plugin.json"), LONGEST).ok()?;
    serde_json::from_slice::<Manifest>(&manifest).ok().map(|manifest| manifest.name)
}

/// Whether something in this folder could go by a name of ours.
pub fn takes_our_names(folder: &Path) -> bool {
    let has_servers = match bounded_file::read(&folder.join(".mcp.json"), LONGEST) {
        Ok(servers) => has_our_server(&servers),
        Err(error) => !is_absent(error.kind()),
    };
    has_servers
        || ["commands", "skills"]
            .iter()
            .any(|kind| has_our_skill(&folder.join(".claude").join(kind)))
}

fn has_our_server(servers: &[u8]) -> bool {
    // What cannot be read by us may be read by Claude Code.
    let Ok(servers) = serde_json::from_slice::<Servers>(servers) else { return true };
    servers.names.keys().any(|name| is_own_voice_server(name))
}

fn has_our_skill(folder: &Path) -> bool {
    let is_ours = |name: String| name.to_ascii_lowercase().starts_with(OWN_PLUGIN);
    match fs::read_dir(folder) {
        Ok(mut entries) => entries.any(|entry| {
            entry.is_ok_and(|entry| is_ours(entry.file_name().to_string_lossy().into_owned()))
        }),
        Err(error) => !is_absent(error.kind()),
    }
}

fn is_absent(error: ErrorKind) -> bool {
    matches!(error, ErrorKind::NotFound | ErrorKind::NotADirectory)
}
