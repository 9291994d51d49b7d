//! Where an agent's program is.

use std::path::{Path, PathBuf};

/// The one that the user has named, else the first on the PATH.
pub fn find(name: &str, chosen: Option<&Path>) -> Option<PathBuf> {
    match chosen {
        Some(path) => Some(path.to_owned()).filter(|path| is_program(path)),
        None => find_in(name, &std::env::var_os("PATH")?),
    }
}

fn find_in(name: &str, path: &std::ffi::OsStr) -> Option<PathBuf> {
    let endings: &[&str] = if cfg!(windows) { &[".exe", ".cmd"] } else { &[""] };
    // A relative folder would mean another program in every session's folder.
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let mut candidates = folders.flat_map(|folder| {
        endings.iter().map(move |ending| folder.join(format!("{name}{ending}")))
    });
    candidates.find(|candidate| is_program(candidate))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}
