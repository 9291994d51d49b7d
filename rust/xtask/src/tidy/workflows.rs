//! Checks the text of GitHub's workflows by three rules: no job gets all secrets, an action is
//! pinned to its commit, and the content of the plugin's branch is attested. In the project's own
//! workflows no script may contain an expression either: GitHub inserts its value before the shell
//! reads the script, so that a tag's name would be executed.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::at;

/// dist writes this workflow (scripts/check-dist).
const NOT_OURS: &str = "release.yml";
const PLUGIN_BRANCH: &str = "plugin-branch.yml";

pub fn problems(top: &Path) -> Result<Vec<String>> {
    let folder = top.join(".github/workflows");
    let mut problems = Vec::new();
    for entry in fs::read_dir(&folder).context("could not read `.github/workflows`")? {
        let path = entry?.path();
        let text = fs::read_to_string(&path)
            .with_context(|| format!("could not read `{}`", path.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let found = problems_in(&name, &text);
        problems.extend(found.into_iter().map(|(line, what)| at(&path, line, &what)));
    }
    Ok(problems)
}

/// Returns the problems, each with its line.
fn problems_in(name: &str, text: &str) -> Vec<(usize, String)> {
    let mut problems = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let bare = line.trim_start().trim_start_matches("- ");
        if bare.split_whitespace().collect::<String>().starts_with("secrets:inherit") {
            problems.push((index + 1, "`secrets: inherit` hands every secret on".to_owned()));
        }
        let action = bare.strip_prefix("uses: ").filter(|action| !action.contains("/.github/"));
        if action.is_some_and(|action| !is_pinned(action)) {
            problems.push((index + 1, "an action is named by its commit".to_owned()));
        }
    }
    if name != NOT_OURS {
        let what = "an expression inside a script; give its value by `env`";
        problems.extend(expressions_in_scripts(text).map(|line| (line, what.to_owned())));
    }
    if name == PLUGIN_BRANCH {
        for needed in ["uses: actions/attest@", "attestations: write", "id-token: write"] {
            if !text.contains(needed) {
                problems.push((1, format!("the executables are not attested: no `{needed}`")));
            }
        }
    }
    problems
}

fn is_pinned(action: &str) -> bool {
    let commit = action.split_once('@').map_or("", |(_, commit)| commit);
    let commit = commit.split_whitespace().next().unwrap_or_default();
    commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the lines of `run:`, on its own line or below it, that contain `${{`.
fn expressions_in_scripts(text: &str) -> impl Iterator<Item = usize> {
    let mut lines = Vec::new();
    let mut script_indent = None;
    for (index, line) in text.lines().enumerate() {
        let indent = line.len() - line.trim_start().len();
        if script_indent.is_some_and(|script| indent <= script && !line.trim().is_empty()) {
            script_indent = None;
        }
        let key = line.trim_start().trim_start_matches("- ");
        if key.starts_with("run:") {
            script_indent = Some(line.len() - key.len());
        }
        if script_indent.is_some() && line.contains("${{") {
            lines.push(index + 1);
        }
    }
    lines.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_with_problems(name: &str, text: &str) -> Vec<usize> {
        problems_in(name, text).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn what_a_workflow_must_not_do_is_found_with_its_line() {
        let text = "jobs:\n  a:\n    uses: ./.github/workflows/b.yml\n    secrets:  inherit\n";
        assert_eq!(lines_with_problems("release.yml", text), [4]);
        let text = "steps:\n  - run: echo ${{ github.ref_name }}\n  - name: x\n    env:\n      TAG: ${{ github.ref_name }}\n    run: |\n      echo \"$TAG\"\n\n      echo ${{ github.ref }}\n    if: ${{ always() }}\n";
        assert_eq!(lines_with_problems("ci.yml", text), [2, 9]);
        assert_eq!(lines_with_problems("release.yml", text), Vec::<usize>::new());
        let text = "steps:\n  - uses: actions/checkout@v6\n  - uses: actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2\n";
        assert_eq!(lines_with_problems("ci.yml", text), [2]);
        assert_eq!(lines_with_problems("plugin-branch.yml", "").len(), 3);
    }
}
