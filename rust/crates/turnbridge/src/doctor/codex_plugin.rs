//! Finds Turnbridge's plugin in Codex, and the user's trust in its hooks. Codex stores both in its
//! `config.toml`: `[plugins."turnbridge@M"]`, and for each trusted hook
//! `[hooks.state."turnbridge@M:hooks/codex.json:pre_tool_use:0:0"]` with a hash (seen with
//! 0.166.0). The hash is internal to Codex: a hook changed since then still looks trusted there.
//! Only Codex itself can check it (`codex_hooks`).

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toml_edit::{Item, TableLike};
use turnbridge_system::plugin_layout::executable_in;

use super::codex_hooks::{HookStatus, ListedHook};
use turnbridge_store::foreign::foreign_text::read_json;

/// Turnbridge's plugin from one marketplace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodexPlugin {
    /// `turnbridge@MARKETPLACE`.
    pub name: String,
    pub is_enabled: bool,
    pub has_executables: bool,
    /// The number of its hooks, and of those that Codex does not run.
    pub hooks: usize,
    pub untrusted: usize,
    /// The source of these numbers.
    pub word: HookListSource,
}

/// The source of the list of hooks that Codex runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookListSource {
    /// Codex's config, without a query: it contains hashes, but not of which content.
    Config,
    /// Codex's own response, with the reasons why some do not run.
    Codex { changed: usize, off: usize },
    /// Codex gave no response to the query.
    Unanswered(String),
}

impl CodexPlugin {
    /// Returns the plugin with Codex's own list of its hooks.
    pub fn told_by(self, hooks: &Result<Vec<ListedHook>, String>) -> CodexPlugin {
        let hooks = match hooks {
            Ok(hooks) => hooks,
            Err(reason) => {
                return CodexPlugin { word: HookListSource::Unanswered(reason.clone()), ..self };
            }
        };
        let prefix = format!("{}:", self.name);
        let own: Vec<_> = hooks.iter().filter(|hook| hook.key.starts_with(&prefix)).collect();
        let count = |fate| own.iter().filter(|hook| hook.fate == fate).count();
        CodexPlugin {
            hooks: own.len(),
            untrusted: count(HookStatus::Untrusted),
            word: HookListSource::Codex {
                changed: count(HookStatus::Changed),
                off: count(HookStatus::Off),
            },
            ..self
        }
    }
}

/// Finds the plugins. `config` is the root of Codex's config.
pub fn find(home: &Path, config: &Item) -> Vec<CodexPlugin> {
    let plugins = config.get("plugins").and_then(Item::as_table_like);
    let plugins = plugins.into_iter().flat_map(TableLike::iter);
    let state = config.get("hooks").and_then(|hooks| hooks.get("state"));
    plugins
        .filter(|(name, _)| name.starts_with("turnbridge@"))
        .map(|(name, settings)| {
            let is_enabled = settings.get("enabled").and_then(Item::as_bool).unwrap_or(true);
            let root = root(home, name);
            let keys = root.as_deref().map(|root| keys(name, root)).unwrap_or_default();
            CodexPlugin {
                name: name.to_owned(),
                is_enabled,
                has_executables: root
                    .is_some_and(|root| executable_in(&root, "turnbridge-status").is_some()),
                hooks: keys.len(),
                untrusted: keys.iter().filter(|key| !is_trusted(state, key)).count(),
                word: HookListSource::Config,
            }
        })
        .collect()
}

fn is_trusted(state: Option<&Item>, key: &str) -> bool {
    let entry = state.and_then(|state| state.get(key));
    entry.is_some_and(|entry| entry.get("trusted_hash").is_some_and(Item::is_str))
}

/// Returns the newest copy: `plugins/cache/MARKETPLACE/turnbridge/VERSION`.
fn root(home: &Path, name: &str) -> Option<PathBuf> {
    let (plugin, marketplace) = name.split_once('@')?;
    let folder = home.join("plugins/cache").join(marketplace).join(plugin);
    let versions = fs::read_dir(folder).ok()?.flatten();
    let age = |path: &PathBuf| path.metadata().and_then(|metadata| metadata.modified()).ok();
    versions.map(|version| version.path()).filter(|path| path.is_dir()).max_by_key(age)
}

/// Returns the keys by which Codex identifies the hooks of a plugin.
fn keys(name: &str, root: &Path) -> Vec<String> {
    let manifest = read_json(&root.join(".codex-plugin/plugin.json"));
    let file = manifest["hooks"].as_str().unwrap_or("hooks/hooks.json");
    let file = file.trim_start_matches("./");
    keys_in(name, file, &read_json(&root.join(file)))
}

fn keys_in(name: &str, file: &str, hooks: &Value) -> Vec<String> {
    let mut keys = Vec::new();
    for (event, groups) in hooks["hooks"].as_object().into_iter().flatten() {
        for (group, handlers) in groups.as_array().into_iter().flatten().enumerate() {
            let handlers = handlers["hooks"].as_array().map_or(0, Vec::len);
            let event = snake_case(event);
            keys.extend((0..handlers).map(|at| format!("{name}:{file}:{event}:{group}:{at}")));
        }
    }
    keys
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for character in name.chars() {
        if character.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;
    use toml_edit::Document;
    use turnbridge_core::agents::hook_table::HookEventName;
    use turnbridge_core::ids::Agent;

    #[test]
    fn the_keys_are_those_that_codex_gives_our_own_hooks() {
        let hooks = include_str!("../../../../../hooks/codex.json");
        let keys =
            keys_in("turnbridge@m", "hooks/codex.json", &serde_json::from_str(hooks).unwrap());
        let calls = HookEventName::ALL.iter().map(|name| name.calls(Agent::Codex).len());
        assert_eq!(keys.len(), calls.sum::<usize>());
        for key in [
            "session_start:0:0",
            "pre_tool_use:1:0",
            "user_prompt_submit:0:0",
            "permission_request:1:0",
        ] {
            assert!(
                keys.contains(&format!("turnbridge@m:hooks/codex.json:{key}")),
                "{key}: {keys:?}"
            );
        }
    }

    #[test]
    fn a_hook_is_trusted_when_codex_has_kept_its_hash() {
        let config = "[hooks.state.'a:0:0']\ntrusted_hash = 'sha256:x'\n[hooks.state.'b:0:0']\nenabled = true\n";
        let config = Document::parse(config).unwrap();
        let state = config.as_item().get("hooks").and_then(|hooks| hooks.get("state"));
        assert!(is_trusted(state, "a:0:0"));
        assert!(
            !is_trusted(state, "b:0:0")
                && !is_trusted(state, "c:0:0")
                && !is_trusted(None, "a:0:0")
        );
    }
}
