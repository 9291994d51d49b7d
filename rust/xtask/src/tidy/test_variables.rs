//! Checks that CONTRIBUTING.md lists the environment variables that control tests, one line each:
//! those that test builds of the executables read (`test_switch`), and those of the tests and
//! scripts themselves.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::OWN_VARIABLES;

const PAGE: &str = "CONTRIBUTING.md";
const SWITCHES: &str = "rust/crates/turnbridge-store/src/test_switch.rs";

/// The folders where variables are read and set.
const FOLDERS: [&str; 4] = ["rust/crates", "rust/xtask", "scripts", "tests"];

/// The variables that the installers of releases read.
const OF_INSTALLERS: [&str; 2] = ["TURNBRIDGE_DOWNLOAD_URL", "TURNBRIDGE_NO_MODIFY_PATH"];

pub fn problems(repository: &Path) -> Result<Vec<String>> {
    let mut used = BTreeSet::new();
    for folder in FOLDERS {
        add_used(&repository.join(folder), &mut used)?;
    }
    let page = read(&repository.join(PAGE))?;
    let switches = read(&repository.join(SWITCHES))?;
    let mut problems = differences(&listed(&page), &used);
    problems.extend(unseen(&switches));
    Ok(problems)
}

fn differences(listed: &BTreeSet<String>, used: &BTreeSet<String>) -> Vec<String> {
    let missing = used.difference(listed).map(|name| format!("{PAGE} has no line for `{name}`"));
    let gone =
        listed.difference(used).map(|name| format!("{PAGE} lists `{name}`, which is not used"));
    missing.chain(gone).collect()
}

/// Returns the names of the lines ``- `TURNBRIDGE_…`: …``.
fn listed(page: &str) -> BTreeSet<String> {
    let name = |line: &str| Some(line.strip_prefix("- `")?.split_once("`: ")?.0.to_owned());
    page.lines().filter_map(name).filter(|name| name.starts_with("TURNBRIDGE_")).collect()
}

/// Returns the names that `scripts/check-no-switches` misses: it takes names from lines like `=>
/// "TURNBRIDGE_NOW",`.
fn unseen(switches: &str) -> Vec<String> {
    let is_seen = |name: &&String| {
        let is_plain = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        is_plain && switches.contains(&format!("=> \"{name}\","))
    };
    let names = variables_in(switches);
    let unseen = names.iter().filter(|name| !is_seen(name));
    unseen
        .map(|name| format!("{SWITCHES}: `scripts/check-no-switches` does not see `{name}`"))
        .collect()
}

fn add_used(folder: &Path, used: &mut BTreeSet<String>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("could not read `{}`", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            let name = path.file_name().unwrap_or_default();
            if name != "node_modules" && name != "target" && name != "testdata" {
                add_used(&path, used)?;
            }
        } else if let Ok(text) = fs::read_to_string(&path) {
            let is_a_tests = |name: &String| {
                ![OWN_VARIABLES.as_slice(), &OF_INSTALLERS].concat().contains(&name.as_str())
            };
            used.extend(variables_in(&text).into_iter().filter(is_a_tests));
        }
    }
    Ok(())
}

/// Returns every whole name in a text. A name that ends in `_` is a prefix of several.
fn variables_in(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let words = text.split(|c| !is_part(c)).filter(|word| word.starts_with("TURNBRIDGE_"));
    words.filter(|word| !word.ends_with('_')).map(str::to_owned).collect()
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("could not read `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_without_a_line_and_a_line_without_a_variable_are_named() {
        let page =
            "- `TURNBRIDGE_NOW`: the clock\n- `TURNBRIDGE_WSL_ROOT`: a folder\n- `other`: no\n";
        let used = variables_in(
            "env(\"TURNBRIDGE_NOW\"), starts_with(\"TURNBRIDGE_\"), $TURNBRIDGE_TEST_SLOW=1",
        );
        assert_eq!(
            differences(&listed(page), &used),
            [
                "CONTRIBUTING.md has no line for `TURNBRIDGE_TEST_SLOW`",
                "CONTRIBUTING.md lists `TURNBRIDGE_WSL_ROOT`, which is not used",
            ]
        );
    }

    #[test]
    fn a_switch_that_the_check_of_executables_does_not_see_is_named() {
        let seen = "TestSwitch::Now => \"TURNBRIDGE_NOW\",\n";
        assert_eq!(unseen(seen), Vec::<String>::new());
        let other = "TestSwitch::WslRoot => { \"TURNBRIDGE_WSL_ROOT\" }\n";
        let problems = unseen(&format!("{seen}{other}"));
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].ends_with("does not see `TURNBRIDGE_WSL_ROOT`"), "{problems:?}");
    }
}
