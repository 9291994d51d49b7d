//! Compares the code map in docs/ARCHITECTURE.md with the tree: every folder directly below the
//! `src` of a `turnbridge*` crate has a line, and every line names an existing folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

pub fn problems(repository: &Path) -> Result<Vec<String>> {
    let page = repository.join("docs/ARCHITECTURE.md");
    let text = fs::read_to_string(&page)
        .with_context(|| format!("could not read `{}`", page.display()))?;
    Ok(differences(&folders_in(&text), &folders_below(repository)?, |folder| {
        repository.join(folder).is_dir()
    }))
}

fn differences(
    listed: &BTreeSet<String>,
    there: &BTreeSet<String>,
    exists: impl Fn(&str) -> bool,
) -> Vec<String> {
    let missing = there.difference(listed).map(|folder| format!("has no line for `{folder}`"));
    let gone = listed.iter().filter(|folder| !exists(folder));
    let gone = gone.map(|folder| format!("names `{folder}`, which is not there"));
    missing.chain(gone).map(|problem| format!("docs/ARCHITECTURE.md {problem}")).collect()
}

/// Returns the folders of the lines ``- `src/…/`: …``, each below the crate named above it.
fn folders_in(text: &str) -> BTreeSet<String> {
    let mut package = None;
    let mut folders = BTreeSet::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("**`") {
            package = rest.split('`').next();
        }
        let folder = line.strip_prefix("- `src/").and_then(|rest| rest.split_once("/`"));
        if let (Some(package), Some((folder, _))) = (package, folder) {
            folders.insert(format!("{package}/src/{folder}"));
        }
    }
    folders
}

fn folders_below(repository: &Path) -> Result<BTreeSet<String>> {
    let mut folders = BTreeSet::new();
    let crates = repository.join("rust/crates");
    let names = |folder: &Path| -> Result<Vec<String>> {
        let entries = fs::read_dir(folder)
            .with_context(|| format!("could not read `{}`", folder.display()))?;
        let folders = entries.flatten().filter(|entry| entry.path().is_dir());
        Ok(folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
    };
    for package in names(&crates)?.into_iter().filter(|name| name.starts_with("turnbridge")) {
        for folder in names(&crates.join(&package).join("src"))? {
            folders.insert(format!("rust/crates/{package}/src/{folder}"));
        }
    }
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_line_and_a_line_without_a_folder_are_named() {
        let text = "**`rust/crates/a`**: what a is.\n\n- `src/one/`: one\n- `src/one/deep/`: deep\n- `src/gone/`: gone\n";
        let listed = folders_in(text);
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(
            listed,
            set(&["rust/crates/a/src/gone", "rust/crates/a/src/one", "rust/crates/a/src/one/deep"])
        );
        let there = set(&["rust/crates/a/src/one", "rust/crates/a/src/two"]);
        let problems = differences(&listed, &there, |folder| !folder.ends_with("gone"));
        assert_eq!(
            problems,
            [
                "docs/ARCHITECTURE.md has no line for `rust/crates/a/src/two`",
                "docs/ARCHITECTURE.md names `rust/crates/a/src/gone`, which is not there",
            ]
        );
    }
}
