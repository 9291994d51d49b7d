//! Checks that only the modules of terminals name a terminal's environment variables, so that a new
//! terminal needs no second list. tvine and Kawaii Terminal are also sinks: other files may name
//! the variables of their sinks.

use std::path::Path;

use anyhow::Result;

use super::{MAY_NAME, at, rust_files, shipped_lines};

const TABLE: &str = "rust/crates/turnbridge-core/src/terminals/terminal_table.rs";
const OWN_FOLDER: &str = "rust/crates/turnbridge-core/src/terminals";

const SINKS: [&str; 2] = ["KAWAII_", "TVINE_"];

/// A file with an invented session for tests of other files.
const SAMPLE: &str = "sample.rs";

/// The variables of the table.
#[derive(Debug, Default, PartialEq, Eq)]
struct Variables {
    named: Vec<String>,
    prefixes: Vec<String>,
}

pub fn problems(repository: &Path) -> Result<Vec<String>> {
    let table = shipped_lines(&repository.join(TABLE))?;
    let table =
        variables_in(&table.into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n"));
    let mut problems = Vec::new();
    if table.named.is_empty() || table.prefixes.is_empty() {
        problems.push(format!("{TABLE} has no `Named(\"…\")` and `Prefix(\"…\")` to compare with"));
    }
    for (package, _) in MAY_NAME.iter().filter(|(package, _)| package.starts_with("turnbridge")) {
        for path in rust_files(&repository.join("rust/crates").join(package).join("src"))? {
            if path.starts_with(repository.join(OWN_FOLDER)) || path.ends_with(SAMPLE) {
                continue;
            }
            for (number, line) in shipped_lines(&path)? {
                let problem =
                    |name: &str| format!("`{name}` is a terminal's: see `terminal_table`");
                let found = table.found_in(&line).into_iter();
                problems.extend(found.map(|name| at(&path, number, &problem(name))));
            }
        }
    }
    Ok(problems)
}

fn variables_in(table: &str) -> Variables {
    let all = |kind: &str| {
        let begins = table.split(kind).skip(1);
        begins.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect::<Vec<_>>()
    };
    let mut variables = Variables { named: all("Named(\""), prefixes: all("Prefix(\"") };
    variables.prefixes.retain(|prefix| !SINKS.contains(&prefix.as_str()));
    variables
}

impl Variables {
    fn found_in<'line>(&self, line: &'line str) -> Vec<&'line str> {
        let is_ours = |text: &&str| {
            self.named.iter().any(|name| name == text)
                || self.prefixes.iter().any(|prefix| text.starts_with(prefix.as_str()))
        };
        line.split('"').skip(1).step_by(2).filter(is_ours).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_of_the_table_is_found_in_other_files_and_a_sink_s_is_not() {
        let table =
            "row(&[Prefix(\"KAWAII_\")], &[])\nrow(&[Named(\"TMUX\")], &[Prefix(\"KITTY_\")])";
        let variables = variables_in(table);
        assert_eq!(variables.named, ["TMUX"]);
        assert_eq!(variables.prefixes, ["KITTY_"]);
        let line = "[\"TMUX\", \"KITTY_LISTEN_ON\", \"KAWAII_PANE_ID\", \"TMUX_FORMAT\"] // TMUX";
        assert_eq!(variables.found_in(line), ["TMUX", "KITTY_LISTEN_ON"]);
    }
}
