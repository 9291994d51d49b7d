//! Checks the flows in docs/ARCHITECTURE.md against the tree: every file that a flow names exists,
//! is named once, and the heading counts the files. Also checks that the other paths on that page
//! exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

const PAGE: &str = "docs/ARCHITECTURE.md";

pub fn problems(repository: &Path) -> Result<Vec<String>> {
    let page = repository.join(PAGE);
    let text = fs::read_to_string(&page)
        .with_context(|| format!("could not read `{}`", page.display()))?;
    let crates = repository.join("rust/crates");
    let flows = flows_in(&text);
    let mut problems = Vec::new();
    if flows.is_empty() {
        problems.push(format!("{PAGE} has no flows below `## Flows`"));
    }
    for flow in flows {
        problems.extend(flow.problems(|path| {
            repository.join(path).is_file()
                || source_file(path).iter().any(|file| crates.join(file).is_file())
        }));
    }
    problems.extend(gone(&text, |path| {
        [path.to_owned(), format!("{path}.rs"), format!("{path}/mod.rs")]
            .iter()
            .any(|path| crates.join(path).exists())
    }));
    Ok(problems)
}

/// One flow of the page: its heading and the files of its list.
struct Flow<'a> {
    title: &'a str,
    files: Vec<&'a str>,
}

impl Flow<'_> {
    fn problems(&self, exists: impl Fn(&str) -> bool) -> Vec<String> {
        let at = |problem: String| format!("{PAGE}, flow {}: {problem}", self.number());
        let mut problems = Vec::new();
        let mut seen = BTreeSet::new();
        for file in &self.files {
            if !seen.insert(file) {
                problems.push(at(format!("names `{file}` twice")));
            }
            if !exists(file) {
                problems.push(at(format!("names `{file}`, which is not there")));
            }
        }
        if !self.title.contains(&format!(": {} files", seen.len())) {
            problems.push(at(format!("has {} files, which its heading does not say", seen.len())));
        }
        problems
    }

    fn number(&self) -> &str {
        self.title.split('.').next().unwrap_or_default()
    }
}

/// Returns the flows of the page. A flow begins with a heading such as `**1. Title: 27 files**`. In
/// its list, every code with a slash is a file.
fn flows_in(text: &str) -> Vec<Flow<'_>> {
    let section = text.split_once("\n## Flows\n").map_or("", |(_, rest)| rest);
    let section = section.split("\n## ").next().unwrap_or_default();
    let mut flows = Vec::new();
    for part in section.split("\n**").skip(1) {
        let (title, list) = part.split_once('\n').unwrap_or((part, ""));
        let files = code_in(list).filter(|code| code.contains('/') && !code.contains(' '));
        flows.push(Flow { title, files: files.collect() });
    }
    flows
}

/// Returns the texts between backticks.
fn code_in(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Returns the possible places of a flow's file below the crates. Its path lacks `turnbridge-`,
/// `src/` and `.rs`, and a folder means its `mod.rs`.
fn source_file(path: &str) -> Vec<String> {
    let Some((package, rest)) = path.split_once('/') else { return Vec::new() };
    let files = [format!("{rest}.rs"), format!("{rest}/mod.rs"), rest.to_owned()];
    files.iter().map(|file| format!("{}/src/{file}", crate_of(package))).collect()
}

fn crate_of(package: &str) -> String {
    if package == "turnbridge" { package.to_owned() } else { format!("turnbridge-{package}") }
}

/// Returns a problem for each path such as `core/src/ids` that does not exist.
fn gone(text: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let paths = code_in(text).filter(|code| !code.contains(char::is_whitespace));
    let with_source = paths.filter_map(|path| Some((path, path.split_once("/src/")?)));
    let below_crates = with_source.filter(|(_, (package, _))| !package.contains('/'));
    let gone = below_crates.filter(|(_, (package, rest))| {
        !exists(&format!("{}/src/{}", crate_of(package), rest.trim_end_matches('/')))
    });
    gone.map(|(path, _)| format!("{PAGE} names `{path}`, which is not there")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# A\n\n## Flows\n\nPaths lack `src/`.\n\n**1. One: 2 files (before: 3)**\n- `hooks/hooks.json` → \
        `core/a` (`update`), then `claude -r`\n\n**2. Two: 3 files**\n- `core/a` →\n  `core/b` → `core/a`\n\n## Next\n\n- `core/c`\n";

    #[test]
    fn the_files_of_each_flow_are_read() {
        let flows = flows_in(TEXT);
        let files: Vec<_> = flows.iter().map(|flow| flow.files.join(" ")).collect();
        assert_eq!(files, ["hooks/hooks.json core/a", "core/a core/b core/a"]);
        assert!(flows_in("## Flow\n\n**1. One: 1 files**\n").is_empty());
    }

    #[test]
    fn a_file_that_is_gone_or_named_twice_and_a_wrong_count_are_named() {
        let flows = flows_in(TEXT);
        assert_eq!(flows[0].problems(|_| true), Vec::<String>::new());
        assert_eq!(
            flows[1].problems(|file| file != "core/b"),
            [
                "docs/ARCHITECTURE.md, flow 2: names `core/b`, which is not there",
                "docs/ARCHITECTURE.md, flow 2: names `core/a` twice",
                "docs/ARCHITECTURE.md, flow 2: has 2 files, which its heading does not say",
            ]
        );
    }

    #[test]
    fn a_file_of_a_flow_is_looked_for_in_its_crate() {
        assert!(source_file("core/gate").contains(&"turnbridge-core/src/gate/mod.rs".to_owned()));
        assert!(source_file("turnbridge/main").contains(&"turnbridge/src/main.rs".to_owned()));
        assert!(source_file("daemon/x.js").contains(&"turnbridge-daemon/src/x.js".to_owned()));
    }

    #[test]
    fn a_path_with_src_that_leads_nowhere_is_named() {
        let text =
            "`core/src/ids` `store/src/state/` `cargo run` `rust/crates/x/src/y` `core/src/gone`";
        let found = gone(text, |path| !path.ends_with("gone") && !path.ends_with('/'));
        assert_eq!(found, ["docs/ARCHITECTURE.md names `core/src/gone`, which is not there"]);
    }
}
