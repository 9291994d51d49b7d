//! Copies the repository's files for cargo-mutants.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Makes `to` equal to the files that git knows in `from`, as they are now. An equal file keeps its
/// time, so that cargo does not build it again. Changes of a killed run are reverted.
pub fn mirror(from: &Path, to: &Path) -> Result<()> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(from)
        .output()
        .context("could not run `git ls-files`")?;
    if !output.status.success() {
        bail!("`git ls-files` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let names = String::from_utf8(output.stdout).context("a file's name is no UTF-8")?;
    let mut wanted = BTreeSet::new();
    for name in names.split('\0').filter(|name| !name.is_empty()) {
        let (source, target) = (from.join(name), to.join(name));
        // git still lists a removed file; a link leads to another listed file.
        let Ok(bytes) = fs::read(&source) else { continue };
        if fs::read(&target).ok().as_ref() != Some(&bytes) {
            fs::create_dir_all(target.parent().unwrap_or(to))?;
            fs::write(&target, bytes)?;
        }
        wanted.insert(target);
    }
    remove_others(to, &wanted)
}

fn remove_others(folder: &Path, wanted: &BTreeSet<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(&path, wanted)?;
        } else if !wanted.contains(&path) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_made_equal_again_and_what_is_equal_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("src")).unwrap();
        let git = |arguments: &[&str]| {
            let done = Command::new("git").args(arguments).current_dir(&from).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        };
        git(&["init", "--quiet"]);
        for (name, text) in
            [("src/a", "one"), ("b", "two"), ("built", "x"), (".gitignore", "built")]
        {
            fs::write(from.join(name), text).unwrap();
        }
        mirror(&from, &to).unwrap();
        assert!(!to.join("built").exists());
        let time = |name: &str| fs::metadata(to.join(name)).unwrap().modified().unwrap();
        let before = time("b");
        fs::write(to.join("src/a"), "a fault").unwrap();
        fs::write(to.join("src/new"), "left behind").unwrap();
        mirror(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("src/a")).unwrap(), "one");
        assert!(!to.join("src/new").exists());
        assert_eq!(time("b"), before);
    }
}
