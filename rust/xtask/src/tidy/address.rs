//! Checks that files name the repository by the address of `repository` in rust/Cargo.toml.
//! Manifests, scripts and pages cannot read it there, so they repeat it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::at;

const HOST: &str = "github.com/";

/// The texts before a repository's name without a whole address.
const BEFORE_NAMES: [&str; 3] = [HOST, "marketplace add ", "--repo "];

/// The texts before a Homebrew tap, which is another repository of the same owner.
const BEFORE_TAPS: [&str; 3] = ["brew install ", "brew tap ", "tap = \""];

/// Folders of other projects, or generated ones.
const LEFT_OUT: [&str; 5] = [".git", "bin", "node_modules", "target", "testdata"];

pub fn problems(top: &Path, address: &str) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for path in files(top)? {
        // A binary file contains no address for readers.
        let Ok(text) = fs::read_to_string(&path) else { continue };
        for (index, line) in text.lines().enumerate() {
            for other in other_addresses(line, address) {
                let problem =
                    format!("`{other}` is not the address in rust/Cargo.toml, `{address}`");
                problems.push(at(&path, index + 1, &problem));
            }
        }
    }
    Ok(problems)
}

/// Returns the addresses that look like this repository's and differ from it.
fn other_addresses(line: &str, address: &str) -> Vec<String> {
    let ours = address.split_once(HOST).map_or(address, |(_, name)| name);
    let (our_owner, our_name) = ours.split_once('/').unwrap_or((ours, ""));
    let repositories = names_after(line, &BEFORE_NAMES).filter(|(owner, name)| {
        let is_claimed = *owner == our_owner || [our_name, "turnbridge"].contains(name);
        let is_tap = *owner == our_owner && name.starts_with("homebrew-");
        is_claimed && !is_tap && (*owner, *name) != (our_owner, our_name)
    });
    let taps = names_after(line, &BEFORE_TAPS).filter(|(owner, _)| *owner != our_owner);
    repositories.chain(taps).map(|(owner, name)| format!("{owner}/{name}")).collect()
}

/// Returns the owners and names of repositories after these words.
fn names_after<'a>(line: &'a str, words: &'a [&str]) -> impl Iterator<Item = (&'a str, &'a str)> {
    let is_of_a_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let places = words
        .iter()
        .flat_map(|word| line.match_indices(word).map(|(index, _)| &line[index + word.len()..]));
    places.filter_map(move |rest| {
        let (owner, rest) = rest.split_once('/')?;
        let end = rest.find(|c| !is_of_a_name(c)).unwrap_or(rest.len());
        let name = rest[..end].trim_end_matches('.').trim_end_matches(".git");
        // This excludes paths.
        let is_of_an_owner = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let is_owner = !owner.is_empty() && owner.chars().all(is_of_an_owner);
        is_owner.then_some((owner, name))
    })
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries =
        fs::read_dir(folder).with_context(|| format!("could not read `{}`", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let is_left_out = LEFT_OUT.iter().any(|name| entry.file_name() == *name);
        match entry.file_type()? {
            _ if is_left_out => {}
            kind if kind.is_dir() => files.extend(self::files(&entry.path())?),
            kind if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: &str = "https://github.com/turnbridge/turnbridge";

    /// The scan includes this file, so its wrong addresses are built from parts.
    fn others(before: &str, rest: &str) -> Vec<String> {
        other_addresses(&format!("see {before}{rest}"), ADDRESS)
    }

    #[test]
    fn our_address_and_those_of_others_are_left_alone() {
        for rest in [
            "turnbridge/turnbridge#install, please",
            "turnbridge/turnbridge.git",
            "turnbridge/turnbridge/releases/latest.",
            "turnbridge/homebrew-tap",
            "rust-lang/rust",
            "${owner}",
        ] {
            assert_eq!(others(HOST, rest), Vec::<String>::new(), "{rest}");
        }
        let [_, marketplace, _] = BEFORE_NAMES;
        for rest in ["turnbridge/turnbridge && x", "FOLDER", "./turnbridge", "/x/turnbridge"] {
            assert_eq!(others(marketplace, rest), Vec::<String>::new(), "{rest}");
        }
        let [install, ..] = BEFORE_TAPS;
        for rest in ["turnbridge/tap/turnbridge", "espeak-ng # see a/b"] {
            assert_eq!(others(install, rest), Vec::<String>::new(), "{rest}");
        }
    }

    #[test]
    fn another_address_of_ours_is_named() {
        assert_eq!(others(HOST, "someone/turnbridge."), ["someone/turnbridge"]);
        assert_eq!(others(HOST, "turnbridge/turnbridge2/x"), ["turnbridge/turnbridge2"]);
        for before in BEFORE_NAMES {
            assert_eq!(others(before, "turnbridge/other\""), ["turnbridge/other"]);
        }
        for before in BEFORE_TAPS {
            assert_eq!(others(before, "someone/tap/turnbridge"), ["someone/tap"]);
        }
    }

    #[test]
    fn after_a_move_the_old_address_is_named_everywhere() {
        let moved = format!("https://{HOST}newcomer/turnbridge");
        assert_eq!(other_addresses(ADDRESS, &moved), ["turnbridge/turnbridge"]);
    }
}
