//! The repository's address has one home, `repository` in rust/Cargo.toml. Files that cannot ask for it
//! (manifests, scripts, pages) repeat it, and are compared with it here.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::at;

const HOST: &str = "github.com/";

/// What a repository's name stands behind, where no whole address does.
const BEFORE_NAMES: [&str; 3] = [HOST, "marketplace add ", "--repo "];

/// And a Homebrew tap's, which is another repository of the same owner.
const BEFORE_TAPS: [&str; 3] = ["brew install ", "brew tap ", "tap = \""];

/// Not ours, or made by tools.
const LEFT_OUT: [&str; 5] = [".git", "bin", "node_modules", "target", "testdata"];

pub fn problems(top: &Path, address: &str) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for path in files(top)? {
        // What is no text holds no address that anybody follows.
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

/// What looks like an address of ours and is another one.
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

/// Owners and names of repositories behind these words.
fn names_after<'a>(line: &'a str, words: &'a [&str]) -> impl Iterator<Item = (&'a str, &'a str)> {
    let is_of_a_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let places = words
        .iter()
        .flat_map(|word| line.match_indices(word).map(|(index, _)| &line[index + word.len()..]));
    places.filter_map(move |rest| {
        let (owner, rest) = rest.split_once('/')?;
        let end = rest.find(|c| !is_of_a_name(c)).unwrap_or(rest.len());
        let name = rest[..end].trim_end_matches('.').trim_end_matches(".git");
        // So that a path is none.
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

    /// This file is looked at as well, so that its wrong addresses are put together first.
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
