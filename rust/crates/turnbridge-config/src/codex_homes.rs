//! Lists the folders of Codex in which Turnbridge looks for sessions: the usual one, and those that
//! the config adds.

use std::path::{Path, PathBuf};

use turnbridge_store::paths::codex_home;

/// Returns `CODEX_HOME` or `~/.codex`, and then the given folders (`[codex] homes`). Each folder is
/// listed once, however it is written.
pub fn codex_homes(further: &[PathBuf]) -> Vec<PathBuf> {
    distinct(codex_home().into_iter().chain(further.iter().cloned()))
}

fn distinct(candidates: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut homes: Vec<(PathBuf, PathBuf)> = Vec::new();
    for home in candidates {
        let canonical = home.canonicalize().unwrap_or_else(|_| home.clone());
        if !homes.iter().any(|(known, _)| *known == canonical) {
            homes.push((canonical.clone(), spelled(&home, canonical)));
        }
    }
    homes.into_iter().map(|(_, home)| home).collect()
}

/// Returns the path under which a home is listed. The system reports changes by canonical paths. On
/// Windows these begin with `\\?\`, which no user writes, so the path stays there as it was given.
fn spelled(home: &Path, canonical: PathBuf) -> PathBuf {
    if cfg!(windows) { home.to_owned() } else { canonical }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_home_that_is_named_twice_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (real, link, absent) = (root.join("real"), root.join("link"), root.join("absent"));
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let named = [link, real.clone(), absent.clone(), root.join("real/../real"), absent.clone()];
        assert_eq!(distinct(named.into_iter()), [real, absent]);
    }
}
