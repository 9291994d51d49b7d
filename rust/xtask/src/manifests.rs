//! Generates manifests. The plugin's `hooks/*.json` come from the core's table of hook events.
//! Those in `packaging/archive/` come from the checkout's: a release archive is a plugin with its
//! executables beside the manifests, where installers look for them, and its own marketplace.
//! `cargo xtask tidy` reports files that differ from what this module would write.

use std::fs;

use anyhow::{Context, Result, bail};

use turnbridge_core::agents::hook_manifest;
use turnbridge_core::ids::Agent;

use crate::metadata::{load, repository};

/// The folder of a release archive's manifests.
pub const FOLDER: &str = "packaging/archive";

const MARKETPLACE: &str = ".claude-plugin/marketplace.json";

/// The manifests that call executables, besides the hooks of every agent.
const CALLING: [&str; 2] = [".claude-plugin/plugin.json", ".codex-plugin/plugin.json"];

/// Writes all generated files.
pub fn run() -> Result<String> {
    for agent in Agent::ALL {
        let path = repository().join(hook_manifest::path(agent));
        fs::write(&path, hook_manifest::text(agent))
            .with_context(|| format!("could not write `{}`", path.display()))?;
    }
    for (name, text) in wanted(&load()?.address)? {
        let path = repository().join(FOLDER).join(name);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(&path, text).with_context(|| format!("could not write `{}`", path.display()))?;
    }
    Ok(format!("wrote hooks/*.json and the manifests in {FOLDER}/\n"))
}

/// Returns a problem for each generated file that differs from what this module would write.
pub fn problems(address: &str) -> Vec<String> {
    let hooks = Agent::ALL.map(|agent| (hook_manifest::path(agent), hook_manifest::text(agent)));
    let mut problems = differing(&hooks, |name| read(name).ok(), "the table of hook events");
    let wanted = match wanted(address) {
        Ok(wanted) => wanted,
        Err(error) => return vec![format!("{error:#}")],
    };
    let in_archive = |name: &str| read(&format!("{FOLDER}/{name}")).ok();
    let archive = differing(&wanted, in_archive, "the checkout's");
    problems.extend(archive.into_iter().map(|problem| format!("{FOLDER}/{problem}")));
    problems
}

fn differing(
    wanted: &[(&str, String)],
    read: impl Fn(&str) -> Option<String>,
    origin: &str,
) -> Vec<String> {
    let differing = wanted.iter().filter(|(name, text)| read(name).as_ref() != Some(text));
    let problem = |(name, _): &(&str, String)| {
        format!("{name}: is not what {origin} makes of it; run `cargo xtask manifests`")
    };
    differing.map(problem).collect()
}

fn wanted(address: &str) -> Result<Vec<(&'static str, String)>> {
    let mut files = Vec::new();
    for name in CALLING.into_iter().chain(Agent::ALL.map(hook_manifest::path)) {
        files.push((name, without_bin(&read(name)?)));
    }
    files.push((MARKETPLACE, with_own_source(&read(MARKETPLACE)?, address)?));
    Ok(files)
}

fn read(name: &str) -> Result<String> {
    fs::read_to_string(repository().join(name)).with_context(|| format!("could not read `{name}`"))
}

/// Removes `bin/` from both forms of a path; the second is escaped for JSON.
fn without_bin(text: &str) -> String {
    text.replace("/bin/turnbridge", "/turnbridge").replace(r"\\bin\\turnbridge", r"\\turnbridge")
}

/// Replaces the source: the checkout's names the branch that contains a release; a release names
/// itself. It is a `url`, because Codex does not know the kind `github` (seen with 0.166.0).
fn with_own_source(text: &str, address: &str) -> Result<String> {
    let branch = format!(r#"{{ "source": "url", "url": "{address}.git", "ref": "plugin" }}"#);
    if text.matches(&branch).count() != 1 {
        bail!("{MARKETPLACE} must hold this source once: `{branch}`");
    }
    Ok(text.replace(&branch, r#""./""#))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_path_lose_their_folder_and_nothing_else_does() {
        let shell = r#""\"$PLUGIN_ROOT/bin/turnbridge-status\" --tool", "x/bin/sh""#;
        assert_eq!(
            without_bin(shell),
            r#""\"$PLUGIN_ROOT/turnbridge-status\" --tool", "x/bin/sh""#
        );
        let windows = r#""& \"$env:PLUGIN_ROOT\\bin\\turnbridge-status.exe\"""#;
        assert_eq!(without_bin(windows), r#""& \"$env:PLUGIN_ROOT\\turnbridge-status.exe\"""#);
    }

    #[test]
    fn a_file_that_is_missing_or_not_as_it_is_made_is_named() {
        let wanted = [("a", "1".to_owned()), ("b", "2".to_owned()), ("c", "3".to_owned())];
        let found = |name: &str| (name != "c").then(|| "1".to_owned());
        let problem =
            |name: &str| format!("{name}: is not what x makes of it; run `cargo xtask manifests`");
        assert_eq!(differing(&wanted, found, "x"), ["b", "c"].map(problem));
    }

    #[test]
    fn a_release_is_its_own_source() {
        let source = r#"{ "source": "url", "url": "https://x/a/b.git", "ref": "plugin" }"#;
        let text = format!(r#"{{"source": {source}}}"#);
        assert_eq!(with_own_source(&text, "https://x/a/b").unwrap(), r#"{"source": "./"}"#);
        assert!(with_own_source(&text, "https://x/a/c").is_err());
    }
}
