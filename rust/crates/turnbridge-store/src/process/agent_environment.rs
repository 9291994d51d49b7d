//! Puts the environment in place that the agent's process was started with, so that a project cannot steer what a hook
//! does. `environment_rules` in the core says which variables count.
//!
//! A project can start an agent, too, in an environment of its choice. So no folder of ours may lie inside the project by
//! that environment: then the next agent above counts. Certificates are always those of the first agent.
//!
//! Where no agent is above us by its name (it has ended), or the system does not tell what it was started with (Windows;
//! another user's process), the environment stays, but for the certificates, and no folder of ours may lie inside the
//! project.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use turnbridge_core::system::environment_rules::{
    CERTIFICATES, FOLDERS, PROXIES, is_agent, is_of_the_call, is_told,
};

use crate::paths::{StatePaths, config_file};
use crate::process::system_home::system_home;
use crate::process::{self, Caller};

/// What is put in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Everything but the PATH: a hook starts nothing by it, and Codex's own says which Codex calls.
    Hook,
    /// Everything, for what an agent starts and lets run.
    Server,
    /// For a command that an agent's shell may have started: there the person or the agent may well name other folders,
    /// but nobody reads the tokens on their way.
    Command,
}

/// The variables whose value was not followed, if any of them matters to the user.
static IGNORED: OnceLock<Vec<String>> = OnceLock::new();

/// Called first of all, while there is one thread.
pub fn adopt(scope: Scope) {
    let caller = process::caller();
    if !is_called_by_agent(caller, scope) {
        return;
    }
    let mut ignored = BTreeSet::new();
    if !take_over_from_an_agent(scope, &mut ignored) {
        ignored.extend(distrust(scope));
    }
    // A command has no log of its own, and may go on as a hook or a server.
    if scope != Scope::Command {
        let _ = IGNORED.set(ignored.into_iter().collect());
    }
}

/// The names of what was not followed, for the log.
pub fn ignored() -> &'static [String] {
    IGNORED.get().map_or(&[], Vec::as_slice)
}

/// By its name, or because Claude Code says so, which a project cannot take back: it sets the variable for every hook.
fn is_called_by_agent(caller: Option<&Caller>, scope: Scope) -> bool {
    let is_said = || std::env::var_os("CLAUDECODE").is_some_and(|value| !value.is_empty());
    caller.is_some_and(|caller| is_agent(&caller.name)) || scope != Scope::Command && is_said()
}

/// Takes the environment of the nearest agent that does not move our folders into the project. Returns whether there is
/// one. Whatever is between it and us by another name may be the project's.
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

/// An agent that another one has started may have the variables of a project, and with certificates of its choice
/// whoever is on the way reads the tokens. So those of the first agent count, which a person has started.
fn take_over_certificates(agents: &[Caller]) -> Vec<String> {
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

/// Whoever works in the home itself, or above it, has our folders inside the project, and nobody has moved them.
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

/// Nobody knows who has set what.
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
    // Whoever works in the home itself has the folders inside the project, and loses nothing.
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

/// Where the session works and was started, and the repositories around both.
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

/// Without symlinks, as far as the path exists.
fn resolve(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let (Ok(resolved), Ok(rest)) = (ancestor.canonicalize(), path.strip_prefix(ancestor)) {
            return resolved.join(rest);
        }
    }
    path.to_owned()
}

fn set(name: &OsStr, value: Option<&OsStr>) {
    // SAFETY: `adopt` is called before any other thread is started, and none of ours reads the environment otherwise.
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
