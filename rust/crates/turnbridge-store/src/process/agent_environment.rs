//! Replaces this process's environment by the one that the agent's process was started with, so
//! that a project cannot steer a hook. The core's `environment_rules` decides which variables
//! count.
//!
//! A project can also start an agent, in an environment of its choice. If that puts a folder of
//! Turnbridge inside the project, the next agent above counts. Certificates are always those of the
//! first agent. If no agent is above by its name, or the system does not report its start
//! environment (Windows; another user's process), the certificates are removed, and a hook or
//! server resets Turnbridge's folders if one is inside the project.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use turnbridge_core::system::environment_rules::{
    CERTIFICATES, FOLDERS, PROXIES, is_agent, is_of_the_call, is_told,
};

use crate::paths::{StatePaths, config_file};
use crate::process::system_home::system_home;
use crate::process::{self, CallingProcess};

/// The variables that are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All variables except the PATH: a hook starts no program by it, and Codex's PATH shows which
    /// Codex calls.
    Hook,
    /// All variables, for a program that an agent starts and keeps running.
    Server,
    /// For a command that an agent's shell may have started. The user or the agent may name other
    /// folders there, but no other program may read the tokens on their way.
    Command,
}

/// The names of the variables whose value was ignored, if they matter to the user.
static IGNORED: OnceLock<Vec<String>> = OnceLock::new();

/// Adopts the agent's environment. `main` calls it first, while there is one thread.
pub fn adopt(scope: Scope) {
    let caller = process::caller();
    if !is_called_by_agent(caller, scope) {
        return;
    }
    let mut ignored = BTreeSet::new();
    if !take_over_from_an_agent(scope, &mut ignored) {
        ignored.extend(distrust(scope));
    }
    // A command has no log, and may continue as a hook or a server.
    if scope != Scope::Command {
        let _ = IGNORED.set(ignored.into_iter().collect());
    }
}

/// Returns the names of the ignored variables, for the log.
pub fn ignored() -> &'static [String] {
    IGNORED.get().map_or(&[], Vec::as_slice)
}

/// Returns whether an agent called: by the caller's name, or because Claude Code sets the variable
/// for every hook, which a project cannot undo.
fn is_called_by_agent(caller: Option<&CallingProcess>, scope: Scope) -> bool {
    let is_said = || std::env::var_os("CLAUDECODE").is_some_and(|value| !value.is_empty());
    caller.is_some_and(|caller| is_agent(&caller.name)) || scope != Scope::Command && is_said()
}

/// Adopts the environment of the nearest agent that does not move Turnbridge's folders into the
/// project. Returns whether there is one. A process of another name between it and this one may be
/// the project's.
fn take_over_from_an_agent(scope: Scope, ignored: &mut BTreeSet<String>) -> bool {
    let agents = process::ancestors(is_agent);
    for agent in &agents {
        let Some(start) = process::start_environment(agent.process) else { return false };
        ignored.extend(take_over(&start.into_iter().collect(), scope));
        if scope == Scope::Command || !is_moved_into_the_project() {
            ignored.extend(take_over_certificates(&agents));
            return true;
        }
    }
    false
}

/// Adopts the certificates of the first agent, which the user started. An agent that another one
/// has started may have a project's variables, and with its certificates another program on the way
/// could read the tokens.
fn take_over_certificates(agents: &[CallingProcess]) -> Vec<String> {
    let [_, .., first] = agents else { return Vec::new() };
    let start = process::start_environment(first.process).unwrap_or_default();
    let value = |name: &str| start.iter().find(|(own, _)| own == name).map(|(_, value)| value);
    let mut ignored = Vec::new();
    for name in CERTIFICATES {
        let value = value(name);
        if std::env::var_os(name).as_ref() != value {
            set(OsStr::new(name), value.map(OsString::as_os_str));
            ignored.push(name.to_owned());
        }
    }
    ignored
}

/// Returns whether the environment moves a folder of Turnbridge into the project. If the user works
/// in the home itself, or above it, the folders are inside anyway, and do not count as moved.
fn is_moved_into_the_project() -> bool {
    let mut projects = project_folders();
    if let Some(home) = system_home() {
        let home = [home];
        projects.retain(|project| !is_any_inside(&home, std::slice::from_ref(project)));
    }
    is_any_inside(&own_folders(), &projects)
}

fn take_over(start: &BTreeMap<OsString, OsString>, scope: Scope) -> Vec<String> {
    let own: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let mut ignored = Vec::new();
    for name in own.keys().chain(start.keys().filter(|name| !own.contains_key(*name))) {
        let text = name.to_string_lossy();
        let is_meant = match scope {
            Scope::Hook => !is_of_the_call(&text) && text != "PATH",
            Scope::Server => !is_of_the_call(&text),
            Scope::Command => [&CERTIFICATES[..], &PROXIES].concat().contains(&text.as_ref()),
        };
        if is_meant && own.get(name) != start.get(name) {
            ignored.extend(is_told(&text).then(|| text.into_owned()));
            set(name, start.get(name).map(OsString::as_os_str));
        }
    }
    ignored
}

/// Removes the certificates, because it is unknown which program has set them. Resets the folders
/// if one of them is inside the project.
fn distrust(scope: Scope) -> Vec<String> {
    let is_set = |name: &&str| std::env::var_os(name).is_some();
    let mut ignored: Vec<&str> = CERTIFICATES.into_iter().filter(is_set).collect();
    for name in &ignored {
        set(OsStr::new(name), None);
    }
    if scope == Scope::Command || !is_any_inside(&own_folders(), &project_folders()) {
        return ignored.into_iter().map(str::to_owned).collect();
    }
    let before = own_folders();
    let folders: Vec<&str> = FOLDERS.into_iter().filter(is_set).collect();
    for name in FOLDERS {
        set(OsStr::new(name), None);
    }
    if let Some(home) = system_home() {
        set(OsStr::new(if cfg!(windows) { "USERPROFILE" } else { "HOME" }), Some(home.as_os_str()));
    }
    // A user who works in the home itself has the folders inside the project, and loses no data.
    if own_folders() != before {
        ignored.extend(folders);
    }
    ignored.into_iter().map(str::to_owned).collect()
}

fn own_folders() -> Vec<PathBuf> {
    let paths = StatePaths::from_env();
    let state =
        paths.iter().flat_map(|paths| [Some(paths.state_dir()), parent_of(&paths.hooks_log())]);
    let config = config_file().and_then(|file| parent_of(&file));
    state.flatten().chain(config).collect()
}

fn parent_of(path: &Path) -> Option<PathBuf> {
    path.parent().map(Path::to_owned)
}

/// Returns the folders in which the session works and was started, and the repositories around
/// both.
fn project_folders() -> Vec<PathBuf> {
    let started_in = std::env::var_os("CLAUDE_PROJECT_DIR").map(PathBuf::from);
    let folders = std::env::current_dir().ok().into_iter().chain(started_in);
    let folders: Vec<PathBuf> = folders.filter(|folder| folder.is_absolute()).collect();
    let is_top = |folder: &&Path| folder.join(".git").exists();
    let tops = folders.iter().filter_map(|folder| folder.ancestors().find(is_top));
    tops.map(Path::to_owned).chain(folders.clone()).collect()
}

fn is_any_inside(folders: &[PathBuf], projects: &[PathBuf]) -> bool {
    let projects: Vec<PathBuf> = projects.iter().map(|project| resolve(project)).collect();
    let is_inside = |folder: &PathBuf| {
        let folder = resolve(folder);
        projects.iter().any(|project| folder.starts_with(project))
    };
    folders.iter().any(is_inside)
}

/// Resolves symlinks, as far as the path exists.
fn resolve(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let (Ok(resolved), Ok(rest)) = (ancestor.canonicalize(), path.strip_prefix(ancestor)) {
            return resolved.join(rest);
        }
    }
    path.to_owned()
}

fn set(name: &OsStr, value: Option<&OsStr>) {
    // SAFETY: `adopt` is called before any other thread starts, and no other thread of this program
    // reads the environment otherwise.
    unsafe {
        match value {
            Some(value) => std::env::set_var(name, value),
            None => std::env::remove_var(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_inside_a_project_also_by_way_of_a_link_and_before_it_exists() {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("project");
        std::fs::create_dir(&project).unwrap();
        let projects = [project.clone()];
        assert!(is_any_inside(&[project.join("not/yet/there")], &projects));
        assert!(!is_any_inside(&[root.path().join("project-2/state")], &projects));
        assert!(!is_any_inside(&[root.path().join("home/state")], &projects));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&project, root.path().join("link")).unwrap();
            assert!(is_any_inside(&[root.path().join("link/state")], &projects));
        }
    }
}
