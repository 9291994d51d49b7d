//! Checks that no two types of the workspace have the same name, so that a search for a name finds
//! one type. Types of tests count too; `REPEATED` lists the exceptions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::module_files::find_files;

const TREES: [&str; 3] = ["rust/crates", "rust/xtask", "tests/e2e"];

/// The names that may repeat, with the number of their types. This list may only shrink.
const REPEATED: [(&str, usize); 1] = [
    // One for each system, with the same interface.
    ("EchoGuard", 2),
];

pub fn problems(repository: &Path) -> Result<Vec<String>> {
    let mut places: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for tree in TREES {
        let mut files = Vec::new();
        find_files(&repository.join(tree), &mut files)?;
        for path in files {
            let code = std::fs::read_to_string(&path)?;
            for name in code.lines().filter_map(type_defined_in) {
                let shown = path.strip_prefix(repository).unwrap_or(&path);
                places.entry(name.to_owned()).or_default().push(shown.to_owned());
            }
        }
    }
    Ok(problems_of(&places, &REPEATED))
}

fn problems_of(places: &BTreeMap<String, Vec<PathBuf>>, allowed: &[(&str, usize)]) -> Vec<String> {
    let limit =
        |name: &str| allowed.iter().find(|(known, _)| *known == name).map(|(_, most)| *most);
    let mut problems = Vec::new();
    for (name, paths) in places.iter().filter(|(_, paths)| paths.len() > 1) {
        if paths.len() > limit(name).unwrap_or(1) {
            let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
            problems.push(format!("`{name}` is the name of several types: {}", paths.join(", ")));
        }
    }
    for (name, most) in allowed {
        if places.get(*name).map_or(0, Vec::len) < *most {
            problems.push(format!("`{name}` repeats less often: xtask/src/tidy/type_names.rs"));
        }
    }
    problems
}

/// Returns the name of the type that a line defines. A name that a macro fills in does not count,
/// nor does an associated type, which is indented.
fn type_defined_in(line: &str) -> Option<&str> {
    let definition = line.trim_start();
    let visible = definition.strip_prefix("pub").map(|rest| match rest.strip_prefix('(') {
        Some(rest) => rest.split_once(')').map_or("", |(_, rest)| rest),
        None => rest,
    });
    let definition = visible.unwrap_or(definition).trim_start();
    let keywords = ["struct ", "enum ", "trait ", "union "];
    let named = keywords.iter().find_map(|keyword| definition.strip_prefix(keyword));
    let is_alias = definition.len() == line.len() || line.starts_with("pub");
    let alias = definition.strip_prefix("type ").filter(|_| is_alias);
    let rest = named.or(alias)?;
    let end = rest.find(|sign: char| !sign.is_alphanumeric() && sign != '_').unwrap_or(rest.len());
    let name = &rest[..end];
    name.starts_with(|sign: char| sign.is_ascii_uppercase()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_found_and_other_lines_are_not() {
        let lines = [
            ("pub(crate) struct Reply<'a> {", Some("Reply")),
            ("    enum Kind {", Some("Kind")),
            ("pub trait Channel {", Some("Channel")),
            ("pub type Marks = Arc<u8>;", Some("Marks")),
            ("    type Err = String;", None),
            ("        enum $name {", None),
            ("// struct Gone;", None),
            ("let structure = enum_of(x);", None),
        ];
        for (line, name) in lines {
            assert_eq!(type_defined_in(line), name, "{line}");
        }
    }

    #[test]
    fn a_repeated_name_is_reported_and_so_is_an_exception_that_nothing_needs() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let places = [
            ("Line".to_owned(), paths(&["a.rs", "b.rs"])),
            ("Guard".to_owned(), paths(&["unix.rs", "windows.rs"])),
            ("Reply".to_owned(), paths(&["c.rs"])),
        ]
        .into();
        let found = problems_of(&places, &[("Guard", 2), ("Old", 2)]);
        assert_eq!(
            found,
            [
                "`Line` is the name of several types: a.rs, b.rs",
                "`Old` repeats less often: xtask/src/tidy/type_names.rs",
            ]
        );
    }
}
