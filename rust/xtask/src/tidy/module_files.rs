//! Checks that each module folder has its `mod.rs`, and no file of its name beside it (decision
//! 0016).

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::rust_files;

const TREES: [&str; 3] = ["rust/crates", "rust/xtask", "tests/e2e"];

pub fn problems(repository: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for tree in TREES {
        let files = rust_files(&repository.join(tree))?;
        problems.extend(beside_a_folder(&files, |folder| folder.is_dir()));
    }
    Ok(problems)
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
    fn a_file_beside_the_folder_of_its_name_is_reported() {
        let files = ["src/board.rs", "src/board/mod.rs", "src/lib.rs"].map(PathBuf::from);
        let found = beside_a_folder(&files, |folder| folder == Path::new("src/board"));
        assert_eq!(found, ["`src/board.rs` belongs into the folder of its name, as mod.rs"]);
    }
}
