//! What `--fix` does: only what is ours and safe, and nothing that a finding has not named.
//! What a command of ours can do, that command does, in a process of its own: its words do not get
//! between ours, and it cannot keep us waiting.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use turnbridge_system::programs;

use super::finding::{Finding, Repair, counted};

/// Delivering a backlog takes the longest.
const PATIENCE: Duration = Duration::from_secs(120);

/// What was done, for which findings.
#[derive(Debug)]
pub struct Repaired {
    pub ids: Vec<&'static str>,
    pub what: String,
    pub result: Result<(), String>,
}

/// Mends what can be mended, each thing once.
pub fn repair(findings: &[Finding]) -> Vec<Repaired> {
    let mut wanted: Vec<(&Repair, Vec<&'static str>)> = Vec::new();
    for finding in findings {
        let Some(repair) = &finding.repair else { continue };
        match wanted.iter_mut().find(|(known, _)| *known == repair) {
            Some((_, ids)) => ids.push(finding.id),
            None => wanted.push((repair, vec![finding.id])),
        }
    }
    wanted
        .into_iter()
        .map(|(repair, ids)| Repaired { ids, what: describe(repair), result: perform(repair) })
        .collect()
}

fn describe(repair: &Repair) -> String {
    match repair {
        Repair::Run(calls) => {
            let calls: Vec<_> =
                calls.iter().map(|call| format!("`turnbridge {}`", call.join(" "))).collect();
            calls.join(", ")
        }
        Repair::MakePrivate(paths) => format!("made private: {}", named(paths)),
        Repair::Remove(paths) => format!("removed: {}", named(paths)),
    }
}

fn named(paths: &[PathBuf]) -> String {
    match paths {
        [path] => format!("`{}`", path.display()),
        _ => counted(paths.len(), "file", "files and folders"),
    }
}

fn perform(repair: &Repair) -> Result<(), String> {
    match repair {
        Repair::Run(calls) => calls.iter().try_for_each(|call| run(call)),
        Repair::MakePrivate(paths) => each(paths, make_private),
        Repair::Remove(paths) => each(paths, |path| std::fs::remove_file(path)),
    }
}

fn run(arguments: &[&str]) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let answer = programs::ask(Command::new(program).args(arguments), PATIENCE)
        .map_err(|error| error.to_string())?;
    if answer.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&answer.stderr);
    let mut lines = errors.lines().filter_map(|line| line.strip_prefix("error: "));
    Err(lines.next().unwrap_or("it failed without a word").to_owned())
}

fn each(paths: &[PathBuf], act: impl Fn(&Path) -> io::Result<()>) -> Result<(), String> {
    paths.iter().try_for_each(|path| match act(path) {
        // Somebody else was quicker.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done.map_err(|error| format!("`{}`: {error}", path.display())),
    })
}

#[cfg(unix)]
fn make_private(path: &Path) -> io::Result<()> {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    let mode = if path.metadata()?.is_dir() { 0o700 } else { 0o600 };
    set_permissions(path, Permissions::from_mode(mode))
}

/// Nothing is found there that would have to be.
#[cfg(not(unix))]
fn make_private(_path: &Path) -> io::Result<()> {
    Ok(())
}
