//! Checks that every page in docs/decisions has the same form: its number and title, then the same
//! headings in the same order.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::at;

const HEADINGS: [&str; 4] = ["Situation", "Decision", "Refused", "Would change it"];

/// The only optional heading: some decisions had no alternative.
const OPTIONAL: &str = "Refused";

pub fn problems(repository: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for path in pages(&repository.join("docs/decisions"))? {
        let text = fs::read_to_string(&path)
            .with_context(|| format!("could not read `{}`", path.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let found = page_problems(&name, &text);
        problems.extend(found.iter().map(|(number, problem)| at(&path, *number, problem)));
    }
    Ok(problems)
}

fn pages(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("could not read `{}`", folder.display()))?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let is_page = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    let mut pages: Vec<_> = paths.into_iter().filter(is_page).collect();
    if pages.is_empty() {
        bail!("`{}` has no pages", folder.display());
    }
    pages.sort();
    Ok(pages)
}

/// Returns the problems of a page, each with its line.
fn page_problems(name: &str, text: &str) -> Vec<(usize, String)> {
    let mut problems = Vec::new();
    match number_of(name) {
        Some(own) if !has_title(text, own) => {
            problems.push((1, format!("the first line is not `# {own}: …`")));
        }
        Some(_) => {}
        None => problems.push((1, "the file's name does not begin with `NNNN-`".to_owned())),
    }
    let found: Vec<(usize, &str)> = text
        .lines()
        .enumerate()
        .filter_map(|(index, line)| Some((index + 1, line.strip_prefix("## ")?)))
        .collect();
    let has_optional = found.iter().any(|(_, heading)| *heading == OPTIONAL);
    let wanted = HEADINGS.into_iter().filter(|heading| *heading != OPTIONAL || has_optional);
    if !wanted.eq(found.iter().map(|(_, heading)| *heading)) {
        let names: Vec<_> = found.iter().map(|(_, heading)| *heading).collect();
        let line = found.first().map_or(1, |(number, _)| *number);
        let (names, wanted) = (names.join(", "), HEADINGS.join(", "));
        problems.push((line, format!("the headings are `{names}`, not `{wanted}`")));
    }
    problems
}

fn number_of(name: &str) -> Option<&str> {
    let (number, _) = name.split_once('-')?;
    (number.len() == 4 && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(number)
}

fn has_title(text: &str, number: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let title = first.strip_prefix("# ").and_then(|rest| rest.strip_prefix(number));
    title.and_then(|rest| rest.strip_prefix(": ")).is_some_and(|title| !title.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(title: &str, headings: &[&str]) -> String {
        let sections = headings.iter().map(|heading| format!("\n## {heading}\n\nText.\n"));
        format!("{title}\n{}", sections.collect::<String>())
    }

    fn found(name: &str, text: &str) -> Vec<String> {
        let problems = page_problems(name, text);
        problems.iter().map(|(number, problem)| format!("{number}: {problem}")).collect()
    }

    #[test]
    fn a_page_in_the_form_is_left_alone() {
        let without_optional = ["Situation", "Decision", "Would change it"];
        for headings in [&HEADINGS[..], &without_optional] {
            let text = page("# 0005: Hooks", headings);
            assert_eq!(found("0005-hooks.md", &text), Vec::<String>::new());
        }
    }

    #[test]
    fn a_wrong_title_is_named() {
        for title in ["# 5. Hooks", "# 0006: Hooks", "# 0005 Hooks", "# 0005: ", "0005: Hooks", ""]
        {
            let text = page(title, &HEADINGS);
            let expected = ["1: the first line is not `# 0005: …`"];
            assert_eq!(found("0005-hooks.md", &text), expected, "{title}");
        }
        for name in ["hooks.md", "5-hooks.md", "000x-hooks.md"] {
            let text = page("# 0005: Hooks", &HEADINGS);
            assert_eq!(found(name, &text), ["1: the file's name does not begin with `NNNN-`"]);
        }
    }

    #[test]
    fn missing_additional_and_misplaced_headings_are_named() {
        for headings in [
            &["Situation", "Decision", "Refused"][..],
            &["Situation", "Would change it"],
            &["Decision", "Situation", "Refused", "Would change it"],
            &["Situation", "Decision", "Would change it", "Refused"],
            &["Situation", "Decision", "Price", "Refused", "Would change it"],
            &["Situation", "Decision", "Decision", "Refused", "Would change it"],
            &["Situation", "Choice", "Refused", "Would change it"],
        ] {
            let text = page("# 0005: Hooks", headings);
            let names = headings.join(", ");
            let wanted = "Situation, Decision, Refused, Would change it";
            let expected = format!("3: the headings are `{names}`, not `{wanted}`");
            assert_eq!(found("0005-hooks.md", &text), [expected]);
        }
        let wanted = "1: the headings are ``, not `Situation, Decision, Refused, Would change it`";
        assert_eq!(found("0005-hooks.md", "# 0005: Hooks\n\n**Choice.** Text.\n"), [wanted]);
    }

    #[test]
    fn a_wrong_page_in_the_folder_is_reported_with_its_place() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("docs/decisions");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("0001-right.md"), page("# 0001: Right", &HEADINGS)).unwrap();
        fs::write(folder.join("0002-wrong.md"), page("# 2. Wrong", &HEADINGS)).unwrap();
        fs::write(folder.join("picture.svg"), "<svg/>").unwrap();
        let wrong = folder.join("0002-wrong.md");
        let expected = format!("{}:1: the first line is not `# 0002: …`", wrong.display());
        assert_eq!(problems(top.path()).unwrap(), [expected]);
    }
}
