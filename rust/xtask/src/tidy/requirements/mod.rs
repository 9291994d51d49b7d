//! Checks the codes of requirements against docs/requirements.md. Every code in a file has a row
//! there, every test that a row names exists and contains the code, and no test contains a planned
//! code.

mod code;
mod page;
mod test_functions;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use code::{RequirementCode, codes_in};
use page::{RequirementProof, Row, rows};
use test_functions::test_functions;

const PAGE: &str = "docs/requirements.md";

/// Folders that are foreign, generated or recorded, and are skipped.
const LEFT_OUT: [&str; 5] = [".git", "node_modules", "target", "testdata", "versions"];

/// The folder of the executables that `scripts/build` creates.
const EXECUTABLES: &str = "bin";

/// Files with checksums, which are skipped.
const LOCKS: [&str; 2] = ["Cargo.lock", "package-lock.json"];

/// A file of the repository.
struct Source {
    /// The path from the top of the repository, with slashes.
    path: String,
    text: String,
}

/// A test function, with the codes in its name, its comments and its body.
struct Carrier {
    path: String,
    name: String,
    line: usize,
    codes: BTreeSet<RequirementCode>,
}

pub fn problems(repository: &Path) -> Result<Vec<String>> {
    let page = repository.join(PAGE);
    let page = fs::read_to_string(&page)
        .with_context(|| format!("could not read `{}`", page.display()))?;
    let mut sources = Vec::new();
    add_sources(repository, "", &mut sources)?;
    Ok(differences(&page, &sources))
}

fn differences(page: &str, sources: &[Source]) -> Vec<String> {
    let (rows, problems) = rows(page);
    let problems = problems.into_iter().map(|(line, problem)| format!("{PAGE}:{line}: {problem}"));
    let listed = rows.iter().map(|row| row.code).collect();
    let used = sources.iter().flat_map(|source| without_row(source, &listed));
    let carriers: Vec<_> = sources.iter().flat_map(carriers).collect();
    let unproven = rows.iter().flat_map(|row| unproven(row, &carriers));
    problems.chain(used).chain(unproven).collect()
}

/// Returns a problem for each code of a file that has no row.
fn without_row(source: &Source, listed: &BTreeSet<RequirementCode>) -> Vec<String> {
    let mut problems = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        for code in codes_in(line).difference(listed) {
            problems.push(format!("{}:{}: `{code}` has no row in {PAGE}", source.path, index + 1));
        }
    }
    problems
}

fn carriers(source: &Source) -> Vec<Carrier> {
    if !source.path.ends_with(".rs") {
        return Vec::new();
    }
    let carrier = |test: test_functions::TestFunction| Carrier {
        path: source.path.clone(),
        name: test.name.to_owned(),
        line: test.line,
        codes: codes_in(&test.text),
    };
    test_functions(&source.text).into_iter().map(carrier).collect()
}

/// Returns the problems with the proof that a row names.
fn unproven(row: &Row, carriers: &[Carrier]) -> Vec<String> {
    let (line, code) = (row.line, row.code);
    let mut problems = Vec::new();
    match &row.proof {
        RequirementProof::Reason => {}
        RequirementProof::Planned => {
            for test in carriers.iter().filter(|test| test.codes.contains(&code)) {
                let Carrier { path, name, line, .. } = test;
                problems
                    .push(format!("{path}:{line}: `{name}` carries `{code}`, which is planned"));
            }
        }
        RequirementProof::Tests(tests) => {
            for (path, name) in tests {
                let mut found =
                    carriers.iter().filter(|test| (&*test.path, &*test.name) == (*path, *name));
                let what = match found.next() {
                    None => "is not there",
                    Some(test) if test.codes.contains(&code) => continue,
                    Some(_) => "does not carry it",
                };
                problems.push(format!(
                    "{PAGE}:{line}: `{path}::{name}`, the proof of `{code}`, {what}"
                ));
            }
        }
    }
    problems
}

/// Adds every text file below a folder, whose path begins at the top of the repository.
fn add_sources(repository: &Path, folder: &str, sources: &mut Vec<Source>) -> Result<()> {
    let path = repository.join(folder);
    let entries =
        fs::read_dir(&path).with_context(|| format!("could not read `{}`", path.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() && !LEFT_OUT.contains(&&*name) && path != EXECUTABLES {
            add_sources(repository, &path, sources)?;
        } else if kind.is_file() && !LOCKS.contains(&&*name) {
            // What is no text has no codes.
            let text = fs::read_to_string(entry.path()).ok();
            sources.extend(text.map(|text| Source { path, text }));
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "| code | what holds | proof |\n| --- | --- | --- |\n";

    fn found(rows: &str, sources: &[(&str, &str)]) -> Vec<String> {
        let source =
            |(path, text): &(&str, &str)| Source { path: (*path).into(), text: (*text).into() };
        differences(&format!("{HEAD}{rows}"), &sources.iter().map(source).collect::<Vec<_>>())
    }

    #[test]
    fn a_code_without_a_row_is_named_where_it_stands() {
        let rows = "| KT-1 | One. | planned |\n";
        let sources = [
            ("a.js", "// KT-1.\n// KT-2..4.\n"),
            ("scripts/b", "# x5_kt_1\n"),
            ("docs/c.md", "See KT-6, TV-1."),
        ];
        let missing = |path: &str, code: &str| format!("{path}: `{code}` has no row in {PAGE}");
        let expected = [
            missing("a.js:2", "KT-2"),
            missing("a.js:2", "KT-3"),
            missing("a.js:2", "KT-4"),
            missing("scripts/b:1", "X5"),
            missing("docs/c.md:1", "KT-6"),
            missing("docs/c.md:1", "TV-1"),
        ];
        assert_eq!(found(rows, &sources), expected);
    }

    #[test]
    fn a_test_that_is_named_is_there_and_carries_the_code() {
        let rows = "| KT-1 | One. | `a/b.rs::by_its_name_kt_1`, `a/b.rs::by_its_comment` |\n\
                    | KT-2 | Two. | `a/b.rs::by_its_name_kt_1` |\n\
                    | KT-3 | Three. | `a/c.rs::by_its_comment` |\n\
                    | KT-4 | Four. | `a/b.rs::helper` |\n\
                    | KT-5 | Five. | by construction: so |\n";
        let tests = "#[test]\nfn by_its_name_kt_1() {}\n\n/// KT-1.\n#[test]\nfn by_its_comment() {\n}\n\n\
                     /// KT-4.\nfn helper() {}\n";
        let problem = |line, test: &str, what: &str| format!("{PAGE}:{line}: `a/{test}, {what}");
        let expected = [
            problem(4, "b.rs::by_its_name_kt_1`, the proof of `KT-2`", "does not carry it"),
            problem(5, "c.rs::by_its_comment`, the proof of `KT-3`", "is not there"),
            problem(6, "b.rs::helper`, the proof of `KT-4`", "is not there"),
        ];
        assert_eq!(found(rows, &[("a/b.rs", tests)]), expected);
    }

    #[test]
    fn what_is_planned_has_no_test() {
        let rows = "| KT-1 | One. | planned |\n| KT-2 | Two. | planned |\n";
        let tests = "/// KT-2 comes later.\nfn code() {}\n\n#[test]\nfn early_kt_1() {}\n";
        let expected = ["a.rs:4: `early_kt_1` carries `KT-1`, which is planned"];
        assert_eq!(found(rows, &[("a.rs", tests)]), expected);
    }

    #[test]
    fn a_wrong_row_is_named_with_its_line() {
        let rows =
            "| KT-1 | One. | perhaps |\n| KT-2 | Two. | planned |\n| KT-2 | Two. | planned |\n";
        let problems = found(rows, &[]);
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].starts_with("docs/requirements.md:3: the proof of `KT-1`"));
        assert_eq!(problems[1], format!("{PAGE}:5: `KT-2` has a row already, in line 4"));
    }

    #[test]
    fn every_text_of_the_repository_is_read_but_for_what_is_not_ours() {
        let top = tempfile::tempdir().unwrap();
        for path in [
            "a.rs",
            "bin/made",
            "src/bin/b.rs",
            "scripts/c",
            "x/testdata/d.rs",
            "node_modules/e.js",
            "Cargo.lock",
        ] {
            let path = top.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "KT-1\n").unwrap();
        }
        fs::write(top.path().join("picture"), b"\xff").unwrap();
        let mut sources = Vec::new();
        add_sources(top.path(), "", &mut sources).unwrap();
        let paths: Vec<_> = sources.iter().map(|source| source.path.as_str()).collect();
        assert_eq!(paths, ["a.rs", "scripts/c", "src/bin/b.rs"]);
    }
}
