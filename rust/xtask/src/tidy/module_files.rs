//! Checks that no Rust file lies beside a folder of its name: a module with a folder is that
//! folder's `mod.rs` (decision 0016).

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

const TREES: [&str; 3] = ["rust/crates", "rust/xtask", "tests/e2e"];

pub fn problems(repository: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for tree in TREES {
        let mut files = Vec::new();
        find_files(&repository.join(tree), &mut files)?;
        files.sort();
        problems.extend(beside_a_folder(&files, |folder| folder.is_dir()));
    }
    Ok(problems)
}

/// Adds all Rust files below a folder, with those of tests.
pub(super) fn find_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("could not read `{}`", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            find_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

fn beside_a_folder(files: &[PathBuf], is_folder: impl Fn(&Path) -> bool) -> Vec<String> {
    let beside = files.iter().filter(|file| is_folder(&file.with_extension("")));
    beside
        .map(|file| format!("`{}` belongs into the folder of its name, as mod.rs", file.display()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_tests_are_looked_at_too() {
        let mut files = Vec::new();
        find_files(&crate::metadata::repository().join("rust/crates/turnbridge"), &mut files)
            .unwrap();
        assert!(files.iter().any(|file| file.ends_with("tests/it/support/mod.rs")));
    }

    #[test]
    fn a_file_beside_the_folder_of_its_name_is_reported() {
        let files = ["src/board.rs", "src/board/mod.rs", "src/lib.rs"].map(PathBuf::from);
        let found = beside_a_folder(&files, |folder| folder == Path::new("src/board"));
        assert_eq!(found, ["`src/board.rs` belongs into the folder of its name, as mod.rs"]);
    }
}
