//! Checks whether other users can write to Turnbridge's state folders or to its config. Code that
//! acts on files there calls this first, and refuses if they can. On Windows the folders have the
//! rights of the user's profile, and there is no check.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use turnbridge_core::system::folder_trust::{Danger, Role};

use crate::paths::{StatePaths, config_file};

#[cfg(unix)]
#[path = "unix.rs"]
mod platform;
#[cfg(not(unix))]
#[path = "windows.rs"]
mod platform;

use platform::is_own;
pub use platform::judge;

/// A path of Turnbridge that must not be acted on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untrusted {
    pub path: PathBuf,
    pub danger: Danger,
    role: Role,
}

impl Untrusted {
    /// Returns how the user can repair it.
    pub fn hint(&self) -> String {
        let path = self.path.display();
        match (self.danger, self.role) {
            (Danger::OtherOwner(_), Role::Above) => {
                format!("keep your files elsewhere, or let `{path}` belong to you")
            }
            (Danger::OtherOwner(_), Role::Link) => {
                format!("look where it leads, then remove the link `{path}` or make your own")
            }
            (Danger::OtherOwner(_), Role::Own) => {
                format!(
                    "look at what is in it, then run `sudo chown -R \"$USER\" {path}`, or move it away"
                )
            }
            (Danger::Writable(_), Role::Above) => format!("run `chmod go-w {path}`"),
            (Danger::Writable(_), _) if self.path.is_dir() => {
                format!(
                    "look at what is in it, then run `chmod -R go-rwx {path}`, or `turnbridge doctor --fix`"
                )
            }
            (Danger::Writable(_), _) => format!("look at it, then run `chmod 600 {path}`"),
        }
    }

    /// Returns whether its mode is the only problem, and the path is Turnbridge's.
    pub fn is_ours_to_mend(&self) -> bool {
        matches!(self.danger, Danger::Writable(_)) && self.role == Role::Own
    }
}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.path.display(), self.danger)
    }
}

impl From<Untrusted> for io::Error {
    fn from(untrusted: Untrusted) -> io::Error {
        io::Error::new(io::ErrorKind::PermissionDenied, untrusted.to_string())
    }
}

/// Checks the state folder, and those below it that programs act on. A missing folder is good.
pub fn check_state(paths: &StatePaths) -> Result<(), Untrusted> {
    state_folders(paths).iter().try_for_each(|folder| check_own(folder))
}

/// Checks the state folders, and whether the folders above could be replaced.
pub fn check_state_and_above(paths: &StatePaths) -> Result<(), Untrusted> {
    check_state(paths)?;
    check_above(&paths.state_dir())
}

/// Checks `config.toml` and its folder: a user who writes there names the programs to run, and the
/// receiver of tokens.
pub fn check_config() -> Result<(), Untrusted> {
    let Some(file) = config_file() else { return Ok(()) };
    file.parent().map_or(Ok(()), check_own)?;
    check_own(&file)
}

/// Returns every problem of the state folders and of those above, for the code that repairs them.
pub fn all_untrusted(paths: &StatePaths) -> Vec<Untrusted> {
    let folders = state_folders(paths);
    let own = folders.iter().filter_map(|folder| check_own(folder).err());
    own.chain(check_above(&paths.state_dir()).err()).collect()
}

/// Returns the paths if the state folders can be acted on. Hooks and the notifier cannot report
/// that they cannot: `doctor` does.
pub fn trusted_state() -> Option<StatePaths> {
    StatePaths::from_env().filter(|paths| check_state(paths).is_ok())
}

/// Reads a file that the caller acts on. Returns `None` also for another user's file, which may
/// have been put there while the folder was open to others, and if the path is no plain file.
pub fn read_own(path: &Path) -> Option<Vec<u8>> {
    let is_plain = |metadata: &fs::Metadata| metadata.is_file() && is_own(metadata);
    path.symlink_metadata().ok().filter(is_plain)?;
    fs::read(path).ok()
}

fn state_folders(paths: &StatePaths) -> Vec<PathBuf> {
    let logs = paths.hooks_log().parent().map(Path::to_owned);
    let mut folders = vec![
        paths.state_dir(),
        paths.sessions_dir(),
        paths.turns_dir(),
        paths.pending_dir(),
        paths.outbox_dir(),
        paths.inbox_dir(),
        paths.heard_dir(),
    ];
    folders.extend(logs);
    folders
}

/// Checks a path and the links on its way: the owner of a link decides where it leads.
fn check_own(path: &Path) -> Result<(), Untrusted> {
    let links = way_to(path).into_iter().filter(|(_, role)| *role == Role::Link);
    links.into_iter().try_for_each(|(link, role)| judged(&link, role))?;
    judged(path, Role::Own)
}

fn check_above(folder: &Path) -> Result<(), Untrusted> {
    let mut way = way_to(folder);
    // The last is the folder itself.
    way.pop();
    way.iter().try_for_each(|(above, role)| judged(above, *role))
}

/// Returns every folder and every link that the system passes, in its order, up to the target of
/// `path`.
fn way_to(path: &Path) -> Vec<(PathBuf, Role)> {
    /// The limit of links in Linux.
    const MOST_LINKS: usize = 40;
    let parts = |path: &Path| {
        path.components().rev().map(|part| PathBuf::from(part.as_os_str())).collect::<Vec<_>>()
    };
    let (mut way, mut ahead, mut here) = (Vec::new(), parts(path), PathBuf::new());
    let mut links = 0;
    while let Some(part) = ahead.pop() {
        if part == Path::new("..") {
            here.pop();
            continue;
        }
        let next = here.join(part);
        match fs::read_link(&next) {
            Ok(target) if links < MOST_LINKS => {
                links += 1;
                way.push((next, Role::Link));
                ahead.extend(parts(&target));
            }
            _ => {
                here = next;
                way.push((here.clone(), Role::Above));
            }
        }
    }
    way
}

fn judged(path: &Path, role: Role) -> Result<(), Untrusted> {
    match judge(path, role) {
        Some(danger) => Err(Untrusted { path: path.to_owned(), danger, role }),
        None => Ok(()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_folder_through_which_a_link_leads_counts_though_the_real_one_lies_elsewhere() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let (home, shared) = (root.join("home"), root.join("shared"));
        for folder in [&home, &shared, &root.join("real/turnbridge")] {
            fs::create_dir_all(folder).unwrap();
        }
        symlink("../real", shared.join("link")).unwrap();
        symlink(shared.join("link"), home.join("state")).unwrap();
        let state = home.join("state/turnbridge");
        assert_eq!(check_above(&state), Ok(()));
        let links = way_to(&state).into_iter().filter(|(_, role)| *role == Role::Link);
        let links: Vec<_> = links.map(|(link, _)| link).collect();
        assert_eq!(links, [home.join("state"), shared.join("link")]);
        // Any user can put another link there.
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(check_above(&state).unwrap_err().path, shared);
    }

    #[test]
    fn links_without_end_are_no_way() {
        let root = tempfile::tempdir().unwrap();
        symlink("self", root.path().join("self")).unwrap();
        assert!(way_to(&root.path().join("self/turnbridge")).len() < 100);
    }
}
