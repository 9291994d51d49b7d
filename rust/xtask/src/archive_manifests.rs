//! The manifests of a release archive, `packaging/archive/`. An archive is a plugin with its executables
//! beside the manifests, where installers look for them, and its own marketplace. So they are the
//! checkout's files but for that; `cargo xtask tidy` says when they are not.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::metadata::{load, repository};

pub const FOLDER: &str = "packaging/archive";

const MARKETPLACE: &str = ".claude-plugin/marketplace.json";

const CALLING: [&str; 4] = [
    ".claude-plugin/plugin.json",
    ".codex-plugin/plugin.json",
    "hooks/hooks.json",
    "hooks/codex.json",
];

/// Writes all of them anew.
pub fn run() -> Result<String> {
    for (name, text) in wanted(&load()?.address)? {
        let path = repository().join(FOLDER).join(name);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(&path, text).with_context(|| format!("could not write `{}`", path.display()))?;
    }
    Ok(format!("wrote the manifests in {FOLDER}/\n"))
}

/// Those that are not what the checkout's make of them.
pub fn problems(address: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let wanted = match wanted(address) {
        Ok(wanted) => wanted,
        Err(error) => return vec![format!("{error:#}")],
    };
    for (name, text) in wanted {
        if fs::read_to_string(repository().join(FOLDER).join(name)).ok() != Some(text) {
            let problem =
                "is not what the checkout's makes of it; run `cargo xtask archive-manifests`";
            problems.push(format!("{FOLDER}/{name}: {problem}"));
        }
    }
    problems
}

fn wanted(address: &str) -> Result<Vec<(&'static str, String)>> {
    let mut files = Vec::new();
    for name in CALLING {
        files.push((name, without_bin(&read(name)?)));
    }
    files.push((MARKETPLACE, with_own_source(&read(MARKETPLACE)?, address)?));
    Ok(files)
}

fn read(name: &str) -> Result<String> {
    fs::read_to_string(repository().join(name)).with_context(|| format!("could not read `{name}`"))
}

/// Both ways of writing a path, the second escaped for JSON.
fn without_bin(text: &str) -> String {
    text.replace("/bin/turnbridge", "/turnbridge").replace(r"\\bin\\turnbridge", r"\\turnbridge")
}

/// The checkout's sends people to the branch that holds a release; a release is there itself. It is a `url`, because Codex
/// does not know the kind `github` (seen with 0.166.0).
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
    fn a_release_is_its_own_source() {
        let source = r#"{ "source": "url", "url": "https://x/a/b.git", "ref": "plugin" }"#;
        let text = format!(r#"{{"source": {source}}}"#);
        assert_eq!(with_own_source(&text, "https://x/a/b").unwrap(), r#"{"source": "./"}"#);
        assert!(with_own_source(&text, "https://x/a/c").is_err());
    }
}
