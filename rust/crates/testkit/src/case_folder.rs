//! Reads folders of recorded cases and compares the actual output with the expected one. Each case
//! is a numbered folder (`07-spaces-before-commas`) with its input and its expected output.
//! `UPDATE_CASES=1 cargo test …` writes the actual output instead, to be reviewed as a diff.
//!
//! Crates that may not have dependencies include this file by `#[path]`.

use std::path::{Path, PathBuf};

/// The environment variable that switches from comparing to writing.
const UPDATE: &str = "UPDATE_CASES";

/// One recorded case.
pub struct Case {
    folder: PathBuf,
    is_updated: bool,
}

/// Returns the cases of a folder in the order of their numbers. Panics if a number is missing, or
/// if a file is not in `files`, because no test would compare it.
#[track_caller]
pub fn cases(folder: &str, files: &[&str]) -> Vec<Case> {
    #[allow(clippy::disallowed_methods, reason = "a test is told what to do")]
    let is_updated = std::env::var_os(UPDATE).is_some_and(|value| value == "1");
    let mut folders: Vec<_> = entries(Path::new(folder));
    folders.retain(|path| path.is_dir());
    let cases = folders.into_iter().map(|folder| Case { folder, is_updated });
    let cases: Vec<_> = cases.collect();
    assert!(!cases.is_empty(), "{folder} has no cases");
    for (case, number) in cases.iter().zip(1..) {
        let name = case.name();
        assert!(name.starts_with(&format!("{number:02}-")), "case {number} is missing: {name}");
        for file in entries(&case.folder) {
            let file = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            assert!(files.contains(&file.as_str()), "{name}: nobody reads `{file}`");
        }
    }
    cases
}

impl Case {
    /// Returns the name of the case's folder.
    pub fn name(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Reads a file that every case has.
    #[track_caller]
    pub fn input(&self, file: &str) -> String {
        self.read(file).unwrap_or_else(|| panic!("{}: `{file}` is missing", self.name()))
    }

    /// Compares a file with the actual output, or writes it if `UPDATE_CASES=1` is set. `None`
    /// means that the file must not exist.
    #[track_caller]
    pub fn expect(&self, file: &str, actual: Option<&str>) {
        if self.is_updated {
            self.write(file, actual);
        }
        assert_eq!(actual, self.read(file).as_deref(), "{}: `{file}`", self.name());
    }

    fn read(&self, file: &str) -> Option<String> {
        #[allow(clippy::disallowed_methods, reason = "a test reads its cases")]
        std::fs::read_to_string(self.folder.join(file)).ok()
    }

    fn write(&self, file: &str, actual: Option<&str>) {
        let path = self.folder.join(file);
        #[allow(clippy::disallowed_methods, reason = "a test writes its cases when it is told to")]
        let done = match actual {
            Some(text) => std::fs::write(&path, text),
            None if path.exists() => std::fs::remove_file(&path),
            None => Ok(()),
        };
        done.unwrap_or_else(|error| panic!("could not update `{}`: {error}", path.display()));
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("could not read `{}`: {error}", folder.display()));
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
