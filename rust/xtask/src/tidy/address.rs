//! The repository's address has one home, `repository` in rust/Cargo.toml. Files that cannot ask for it
//! (manifests, scripts, pages) repeat it, and are compared with it here.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::at;

const HOST: &str = "github.com/";

/// Before the name of a repository in a marketplace's manifest.
const MARKETPLACE_KEY: &str = r#""repo": ""#;

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

/// What looks like an address of ours and is another one. Of the same owner there may be more
/// repositories, such as the one with the Homebrew formula.
fn other_addresses(line: &str, address: &str) -> Vec<String> {
    let ours = address.split_once(HOST).map_or(address, |(_, name)| name);
    let owner = ours.split('/').next().unwrap_or_default();
    let named = [HOST, MARKETPLACE_KEY].into_iter().flat_map(|before| {
        line.match_indices(before).map(move |(index, _)| &line[index + before.len()..])
    });
    let is_of_a_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    named
        .filter_map(|rest| {
            let (found, rest) = rest.split_once('/')?;
            let end = rest.find(|c| !is_of_a_name(c)).unwrap_or(rest.len());
            let name = rest[..end].trim_end_matches('.').trim_end_matches(".git");
            let is_claimed =
                found == owner || name == "turnbridge" || ours.ends_with(&format!("/{name}"));
            let is_ours = format!("{found}/{name}") == ours;
            let is_sister = found == owner && name.starts_with("homebrew-");
            (is_claimed && !is_ours && !is_sister).then(|| format!("{found}/{name}"))
        })
        .collect()
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
        assert_eq!(others(MARKETPLACE_KEY, "turnbridge/turnbridge\""), Vec::<String>::new());
    }

    #[test]
    fn another_address_of_ours_is_named() {
        assert_eq!(others(HOST, "someone/turnbridge."), ["someone/turnbridge"]);
        assert_eq!(others(HOST, "turnbridge/turnbridge2/x"), ["turnbridge/turnbridge2"]);
        assert_eq!(others(MARKETPLACE_KEY, "turnbridge/other\""), ["turnbridge/other"]);
    }

    #[test]
    fn after_a_move_the_old_address_is_named_everywhere() {
        let moved = format!("https://{HOST}newcomer/turnbridge");
        assert_eq!(other_addresses(ADDRESS, &moved), ["turnbridge/turnbridge"]);
    }
}
